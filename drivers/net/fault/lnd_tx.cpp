// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/fault/lnd_tx.hpp"

#include <algorithm>

namespace plnet::drivers {

using lnet::Completion;
using lnet::Lnd;
using lnet::Transmit;

std::size_t FaultLndTx::send(Lnd& lower, std::span<Transmit* const> burst, Instant now) {
  if (shut_down_) return lower.send(burst);  // the real LND refuses them
  for (std::size_t i = 0; i < burst.size(); ++i) {
    if (now < stalled_until_) return i;
    Transmit& transmit = *burst[i];
    const FaultRule* rule = nullptr;
    if (retry_ != &transmit) {
      rule = judge_.draw(Direction::kTx, {.nid = &transmit.next_hop->nid}, now);
    }
    retry_ = nullptr;
    if (rule != nullptr && rule->fault == Fault::kStall) {
      stalled_until_ = now + rule->delay;
      retry_ = &transmit;
      return i;
    }
    const bool twice = rule != nullptr && rule->fault == Fault::kDuplicate;
    if (rule != nullptr && !twice) {
      if (hold(*rule, transmit, now)) continue;
      judge_.skip(*rule);
    }
    if (lower.send({&burst[i], 1}) == 0) {
      if (twice) judge_.skip(*rule);
      retry_ = &transmit;
      return i;
    }
    passed_one();
    if (twice && !duplicate(transmit)) judge_.skip(*rule);
  }
  return burst.size();
}

bool FaultLndTx::hold(const FaultRule& rule, Transmit& transmit, Instant now) {
  if (held_count_ == kHeldMax) return false;
  Held held{.transmit = &transmit, .due = now, .error = rule.error, .health = rule.health};
  switch (rule.fault) {
    case Fault::kDrop:
      held.then = rule.fails_late ? Then::kFail : Then::kSucceed;
      if (rule.fails_late) {
        held.due = transmit.deadline != Instant::max() ? transmit.deadline : now + rule.delay;
      }
      break;
    case Fault::kFail: held.then = Then::kFail; break;
    case Fault::kDelay: held.due = now + rule.delay; break;
    case Fault::kReorder:
      held.due = now + rule.delay;
      held.counts_overtakers = true;
      held.overtake_left = rule.span;
      break;
    default: return false;
  }
  held_[held_count_++] = held;
  return true;
}

// One more message overtakes those that are held for reordering.
void FaultLndTx::passed_one() {
  for (Held& held : std::span(held_).first(held_count_)) {
    if (held.counts_overtakers && held.overtake_left > 0) --held.overtake_left;
  }
}

bool FaultLndTx::duplicate(Transmit& transmit) {
  const auto slot = std::ranges::find(copies_, CopyState::kFree, &Copy::state);
  if (slot == copies_.end()) return false;
  if (transmit.kept) {  // the core does not know the copy
    const lnet::KeptPayload kept = core_.kept_payload(transmit);
    PLNET_CHECK(kept.keeper != nullptr || kept.lost, "the core knows the keeper of a kept payload");
    if (kept.lost || !kept.keeper->bring(kept.rx)) return false;
  }
  slot->transmit = transmit;
  slot->transmit.kept = false;
  slot->transmit.sink = {};  // one writer per sink: the copy of a GET asks for a REPLY message
  slot->transmit.lnd_next = nullptr;
  slot->transmit.lnd_state = 0;
  slot->original = &transmit;
  slot->original_done = false;
  slot->state = CopyState::kToSend;
  ++copy_count_;
  return true;
}

unsigned FaultLndTx::flush(Lnd& lower, Instant now) {
  unsigned work = end_failed(now);
  if (stalled_until_ != Instant::min() && now >= stalled_until_) {
    stalled_until_ = Instant::min();
    ++work;  // another turn: in this one the core has made its offer before this flush
  }
  for (std::size_t i = 0; i < held_count_;) {
    Held& held = held_[i];
    const bool overtaken = held.counts_overtakers && held.overtake_left == 0;
    const bool due = held.then == Then::kSend && (overtaken || now >= held.due);
    if (!due || lower.send({&held.transmit, 1}) == 0) {
      ++i;
      continue;
    }
    remove(i);
    ++work;
  }
  for (Copy& copy : copies_) {
    if (copy.state != CopyState::kToSend) continue;
    Transmit* const transmit = &copy.transmit;
    if (lower.send({&transmit, 1}) == 0) continue;
    copy.state = CopyState::kSent;
    ++work;
  }
  return work;
}

unsigned FaultLndTx::end_failed(Instant now) {
  unsigned work = 0;
  for (std::size_t i = 0; i < held_count_;) {
    const Held held = held_[i];
    if (held.then == Then::kSend || now < held.due) {
      ++i;
      continue;
    }
    remove(i);
    Completion completion{.transmit = held.transmit};
    if (held.then == Then::kFail) {
      completion.status = std::unexpected(held.error);
      completion.health = held.health;
    }
    core_.on_sent({&completion, 1});
    ++work;
  }
  return work;
}

void FaultLndTx::on_sent(std::span<const Completion> burst) {
  if (copy_count_ == 0) return core_.on_sent(burst);
  for (const Completion& completion : burst) {
    const auto ours = std::ranges::find_if(
        copies_, [&](const Copy& copy) { return &copy.transmit == completion.transmit; });
    if (ours != copies_.end()) {
      copy_done(*ours);
      continue;
    }
    Copy* const copy = copy_of(*completion.transmit);
    if (copy != nullptr && completion.transmit->header.type != lnet::MessageType::kGet) {
      copy->original_done = true;
      copy->completion = completion;
      continue;
    }
    if (copy != nullptr) copy->original = nullptr;  // a GET lends no memory: it need not wait
    core_.on_sent({&completion, 1});
  }
}

void FaultLndTx::copy_done(Copy& copy) {
  PLNET_CHECK(copy.state != CopyState::kFree && copy_count_ > 0, "a copy ends once");
  copy.state = CopyState::kFree;
  --copy_count_;
  if (copy.original != nullptr && copy.original_done) core_.on_sent({&copy.completion, 1});
  copy.original = nullptr;
}

FaultLndTx::Copy* FaultLndTx::copy_of(const Transmit& transmit) {
  for (Copy& copy : copies_) {
    if (copy.state != CopyState::kFree && copy.original == &transmit) return &copy;
  }
  return nullptr;
}

void FaultLndTx::doom(Held& held, Errc error) {
  held.then = Then::kFail;
  held.error = error;
  held.health = health_of(error);
  held.due = Instant::min();
}

void FaultLndTx::cancel(Lnd& lower, Transmit& transmit) {
  for (Held& held : std::span(held_).first(held_count_)) {
    if (held.transmit == &transmit) return doom(held, Errc::kCancelled);
  }
  if (Copy* const copy = copy_of(transmit)) {
    if (copy->state == CopyState::kSent) lower.cancel(copy->transmit);
    const bool done = copy->original_done;
    if (copy->state == CopyState::kToSend) copy_done(*copy);
    if (done) return;
  }
  lower.cancel(transmit);
}

void FaultLndTx::release_peer(const lnet::PeerLink& link) {
  for (Held& held : std::span(held_).first(held_count_)) {
    if (held.transmit->next_hop == &link) doom(held, Errc::kShutdown);
  }
  for (Copy& copy : copies_) {
    if (copy.state == CopyState::kToSend && copy.transmit.next_hop == &link) copy_done(copy);
  }
}

void FaultLndTx::shut_down() {
  shut_down_ = true;
  stalled_until_ = Instant::min();
  for (Held& held : std::span(held_).first(held_count_))
    doom(held, Errc::kShutdown);
  for (Copy& copy : copies_) {
    if (copy.state == CopyState::kToSend) copy_done(copy);
  }
}

void FaultLndTx::remove(std::size_t index) {
  PLNET_CHECK(index < held_count_, "a held message is removed");
  std::move(held_.begin() + static_cast<std::ptrdiff_t>(index) + 1,
            held_.begin() + static_cast<std::ptrdiff_t>(held_count_),
            held_.begin() + static_cast<std::ptrdiff_t>(index));
  --held_count_;
}

Instant FaultLndTx::next_deadline() const {
  // Nothing else may wake a core whose messages were refused, since none of them is under way.
  Instant next = stalled_until_ == Instant::min() ? Instant::max() : stalled_until_;
  for (const Held& held : std::span(held_).first(held_count_))
    next = std::min(next, held.due);
  const bool copy_waits =
      std::ranges::find(copies_, CopyState::kToSend, &Copy::state) != copies_.end();
  return copy_waits ? Instant::min() : next;
}

}  // namespace plnet::drivers
