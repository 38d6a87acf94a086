// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/fault/lnd_rx.hpp"

#include <algorithm>

namespace plnet::drivers {

using lnet::RxDecision;
using lnet::RxHandle;
using lnet::RxOffer;
using lnet::RxVerdict;

RxDecision FaultLndRx::on_header(const RxOffer& offer, Instant now) {
  PLNET_CHECK((offer.rx.index & kReplayBit) == 0, "handle reaches into the fault driver's range");
  for (Replay& replay : replays_) {
    if (replay.state == ReplayState::kWaiting && replay.overtake_left > 0 &&
        replay.from == offer.from) {
      --replay.overtake_left;
    }
  }
  if (replay_count_ > 0 && replay_parked_from(offer.from) && tracked_count_ < kTrackedMax) {
    return delay(offer, now);
  }
  const FaultRule* const rule =
      shut_down_ ? nullptr : judge_.draw(Direction::kRx, {.nid = &offer.from}, now);
  if (rule == nullptr) return pass(offer);
  switch (rule->fault) {
    case Fault::kDrop: return {.verdict = RxVerdict::kDrop};
    case Fault::kReset: return {.verdict = RxVerdict::kReject, .reason = rule->error};
    case Fault::kDelay:
      if (tracked_count_ < kTrackedMax) return delay(offer, now + rule->delay);
      break;
    case Fault::kTruncate:
    case Fault::kCorrupt:
      if (offer.header.payload_length > 1 && tracked_count_ < kTrackedMax) {
        return spoil(offer, *rule);
      }
      break;
    case Fault::kDuplicate:
    case Fault::kReorder:
      if (offer.header.payload_length == 0 && !offer.reply_by_lnd && tracked_count_ < kTrackedMax &&
          replay_count_ < kReplaysMax) {
        return take(offer, *rule, now);
      }
      break;
    default: break;
  }
  judge_.skip(*rule);
  return pass(offer);
}

RxDecision FaultLndRx::pass(const RxOffer& offer) {
  const RxDecision decision = core_.on_header(offer);
  if (decision.verdict == RxVerdict::kPark) track(Note::kParked, offer);
  return decision;
}

RxDecision FaultLndRx::delay(const RxOffer& offer, Instant due) {
  track(Note::kDelayed, offer)->due = due;
  return {.verdict = RxVerdict::kPark};
}

RxDecision FaultLndRx::spoil(const RxOffer& offer, const FaultRule& rule) {
  const bool truncate = rule.fault == Fault::kTruncate;
  const Errc error = rule.error;
  const Health health = rule.health;
  const RxDecision decision = core_.on_header(offer);
  const bool parked = decision.verdict == RxVerdict::kPark;
  if (decision.verdict != RxVerdict::kReceive && !parked) {
    judge_.skip(rule);  // the payload goes to no buffer
    return decision;
  }
  Tracked& tracked = *track(truncate ? Note::kTruncate : Note::kCorrupt, offer);
  tracked.error = error;
  tracked.health = health;
  tracked.parked = parked;
  return parked ? decision : shorten(tracked, decision);
}

RxDecision FaultLndRx::shorten(Tracked& tracked, RxDecision decision) {
  tracked.parked = false;
  if (tracked.note == Note::kTruncate) decision.length /= 2;
  tracked.target = decision.target;
  tracked.target.length = decision.length;
  return decision;
}

// Tells the LND below to drop the message, which has 0 bytes; this ends it for the LND.
RxDecision FaultLndRx::take(const RxOffer& offer, const FaultRule& rule, Instant now) {
  track(Note::kSwallow, offer);
  Replay& replay = *std::ranges::find(replays_, ReplayState::kFree, &Replay::state);
  ++replay_count_;
  replay.state = ReplayState::kWaiting;
  replay.header = offer.header;
  replay.from = offer.from;
  replay.link = offer.link;
  const bool duplicate = rule.fault == Fault::kDuplicate;
  replay.times = duplicate ? 2 : 1;
  replay.overtake_left = duplicate ? 0 : rule.span;
  replay.due = duplicate ? now : now + rule.delay;
  return {.verdict = RxVerdict::kReceive};
}

void FaultLndRx::on_received(RxHandle rx, Result<void> status, Health health) {
  Tracked* const tracked = find(rx);
  if (tracked == nullptr) return core_.on_received(rx, status, health);
  const Tracked was = *tracked;
  untrack(*tracked);
  if (was.note == Note::kSwallow) return;
  if (status && was.note == Note::kCorrupt) flip(was.target);
  if (status && was.note == Note::kTruncate) {
    return core_.on_received(rx, std::unexpected(was.error), was.health);
  }
  core_.on_received(rx, status, health);
}

void FaultLndRx::flip(const lnet::Payload& target) {
  if (target.length == 0) return;
  const auto at = static_cast<std::uint32_t>(judge_.random().below(target.length));
  lnet::for_each_piece(lnet::Payload{target.fragments, target.offset + at, 1},
                       [&](const Fragment& piece) { arenas_->bytes(piece)[0] ^= std::byte{0x20}; });
}

void FaultLndRx::on_parked_gone(RxHandle rx, Errc cause) {
  Tracked* const tracked = find(rx);
  const bool ours = tracked != nullptr && tracked->note == Note::kDelayed;
  if (tracked != nullptr) untrack(*tracked);
  if (!ours) core_.on_parked_gone(rx, cause);
}

void FaultLndRx::resume(lnet::Lnd& lower, RxHandle rx, const RxDecision& decision) {
  if ((rx.index & kReplayBit) != 0) {
    const std::uint32_t slot = rx.index & ~kReplayBit;
    if (slot >= kReplaysMax || replays_[slot].generation != rx.generation ||
        replays_[slot].state != ReplayState::kParked) {
      return judge_.stats().add(FaultTable::Id::kDiscarded);
    }
    replays_[slot].state = ReplayState::kResumed;
    replays_[slot].decision = decision;
    return;
  }
  Tracked* const tracked = find(rx);
  if (tracked == nullptr) return lower.resume(rx, decision);
  const bool spoilt = tracked->note == Note::kTruncate || tracked->note == Note::kCorrupt;
  if (spoilt && decision.verdict == RxVerdict::kReceive) {
    return lower.resume(rx, shorten(*tracked, decision));
  }
  untrack(*tracked);
  lower.resume(rx, decision);
}

unsigned FaultLndRx::flush(lnet::Lnd& lower, Instant now) {
  unsigned work = 0;
  for (Replay& replay : replays_) {
    if (replay_count_ == 0) break;
    if (replay.state == ReplayState::kResumed) {
      conclude(replay, replay.decision.verdict);
    } else if (replay.state == ReplayState::kWaiting &&
               (now >= replay.due || (replay.times == 1 && replay.overtake_left == 0)) &&
               !parked_from(replay.from)) {
      offer_replay(replay, now);
    } else {
      continue;
    }
    ++work;
  }
  for (Tracked& tracked : tracked_) {
    if (tracked_count_ == 0) break;
    if (tracked.note != Note::kDelayed || now < tracked.due) continue;
    if (replay_parked_from(tracked.from)) continue;
    offer_again(lower, tracked);
    ++work;
  }
  return work;
}

void FaultLndRx::offer_again(lnet::Lnd& lower, Tracked& tracked) {
  const RxHandle rx = tracked.rx;
  const RxDecision decision = core_.on_header({.header = tracked.header,
                                               .from = tracked.from,
                                               .link = tracked.link,
                                               .rx = rx,
                                               .reply_by_lnd = tracked.reply_by_lnd});
  if (decision.verdict == RxVerdict::kPark) {
    tracked.note = Note::kParked;
    return;
  }
  untrack(tracked);
  lower.resume(rx, decision);
}

void FaultLndRx::offer_replay(Replay& replay, Instant now) {
  ++replay.generation;
  replay.due = now;
  const RxDecision decision = core_.on_header(
      {.header = replay.header, .from = replay.from, .link = replay.link, .rx = handle(replay)});
  if (decision.link != nullptr) replay.link = decision.link;
  if (decision.verdict == RxVerdict::kPark) {
    replay.state = ReplayState::kParked;
    return;
  }
  conclude(replay, decision.verdict);
}

void FaultLndRx::conclude(Replay& replay, RxVerdict verdict) {
  const RxHandle rx = handle(replay);
  if (--replay.times == 0) {
    replay.state = ReplayState::kFree;
    --replay_count_;
  } else {
    replay.state = ReplayState::kWaiting;
  }
  if (verdict == RxVerdict::kReceive) core_.on_received(rx, {}, Health::kOk);
}

// A message that this class has parked at the LND below ends with its connection, in
// on_parked_gone().
void FaultLndRx::shut_down() {
  shut_down_ = true;
  forget(nullptr, Errc::kShutdown);
}

void FaultLndRx::forget(const lnet::PeerLink* link, Errc cause) {
  for (Tracked& tracked : tracked_) {
    if (link != nullptr && tracked.link == link) tracked.link = nullptr;
  }
  for (Replay& replay : replays_) {
    if (replay.state == ReplayState::kFree) continue;
    if (link != nullptr && !(replay.from == link->nid)) continue;
    const ReplayState was = replay.state;
    const RxHandle rx = handle(replay);
    replay.state = ReplayState::kFree;
    --replay_count_;
    judge_.stats().add(FaultTable::Id::kDiscarded);
    if (was == ReplayState::kParked) core_.on_parked_gone(rx, cause);
    if (was == ReplayState::kResumed && replay.decision.verdict == RxVerdict::kReceive) {
      core_.on_received(rx, std::unexpected(cause), health_of(cause));
    }
  }
}

// Null: the table is full.
FaultLndRx::Tracked* FaultLndRx::track(Note note, const RxOffer& offer) {
  const auto slot = std::ranges::find(tracked_, Note::kFree, &Tracked::note);
  if (slot == tracked_.end()) return nullptr;
  *slot = {.note = note,
           .rx = offer.rx,
           .header = offer.header,
           .from = offer.from,
           .link = offer.link,
           .reply_by_lnd = offer.reply_by_lnd};
  ++tracked_count_;
  return &*slot;
}

FaultLndRx::Tracked* FaultLndRx::find(RxHandle rx) {
  if (tracked_count_ == 0) return nullptr;
  for (Tracked& tracked : tracked_) {
    if (tracked.note != Note::kFree && tracked.rx == rx) return &tracked;
  }
  return nullptr;
}

void FaultLndRx::untrack(Tracked& tracked) {
  tracked.note = Note::kFree;
  --tracked_count_;
}

bool FaultLndRx::parked_from(const lnet::Nid& from) const {
  return replay_parked_from(from) || std::ranges::any_of(tracked_, [&](const Tracked& tracked) {
           const bool parked = tracked.note == Note::kParked || tracked.parked;
           return tracked.note != Note::kFree && parked && tracked.from == from;
         });
}

bool FaultLndRx::replay_parked_from(const lnet::Nid& from) const {
  return std::ranges::any_of(replays_, [&](const Replay& replay) {
    const bool parked =
        replay.state == ReplayState::kParked || replay.state == ReplayState::kResumed;
    return parked && replay.from == from;
  });
}

Instant FaultLndRx::next_deadline() const {
  Instant next = Instant::max();
  for (const Tracked& tracked : tracked_) {
    if (tracked.note == Note::kDelayed) next = std::min(next, tracked.due);
  }
  for (const Replay& replay : replays_) {
    if (replay.state == ReplayState::kWaiting) next = std::min(next, replay.due);
    if (replay.state == ReplayState::kResumed) next = Instant::min();
  }
  return next;
}

}  // namespace plnet::drivers
