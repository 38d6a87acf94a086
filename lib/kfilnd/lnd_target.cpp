// SPDX-License-Identifier: BSD-3-Clause
// What comes: a message in a receive buffer, what the core wants done with it, and the operation at
// the peer that does it.
#include <algorithm>
#include <cstring>

#include "lib/kfilnd/lnd.hpp"
#include "lib/lnet/flow/parked_share.hpp"
#include "lib/lnet/names/nid64.hpp"

namespace plnet::kfilnd {

namespace {

using lnet::RxVerdict;

static_assert(static_cast<std::size_t>(KfiLndCounters::Id::kLength) -
                      static_cast<std::size_t>(KfiLndCounters::Id::kShort) + 1 ==
                  kRefusals,
              "a counter for each refusal, in their order");

KfiLndCounters::Id counter_of(Refusal refusal) {
  return static_cast<KfiLndCounters::Id>(static_cast<std::size_t>(KfiLndCounters::Id::kShort) +
                                         static_cast<std::size_t>(refusal));
}

// Where the sender wants its answer, or whatever is sent to it.
unsigned context_named_by(const Message& message) {
  if (message.is_hello()) return message.hello.rx_base;
  return message.is_bulk() ? message.response_rx : 0;
}

std::uint64_t number_of(Errc cause) {
  return static_cast<std::uint64_t>(errno_of(cause));
}

}  // namespace

// False: not now. It stays in its buffer.
bool KfiLnd::accept(std::uint32_t buffer, std::span<const std::byte> bytes) {
  Transaction* const one = take(Quota::kReceives);
  PLNET_CHECK(one != nullptr, "there is room for it");
  const DecodeRules rules{.own_nid = nid64_, .verify_checksum = config_.tunables.cksum != 0};
  if (const auto refusal = decode(bytes, rules, one->message)) {
    counters_.add(counter_of(*refusal));
    give(*one);
    return true;
  }
  // Nothing can be sent there, and that is the sender's doing: our interface is well.
  if (context_named_by(one->message) >= driver_.limits().peer_contexts) {
    counters_.add(Id::kNoContext);
    give(*one);
    return true;
  }
  const auto peer = sender_of(one->message);
  if (!peer) {
    give(*one);
    return peer.error() != Errc::kAgain;
  }
  one->peer = *peer;
  peers_.use(*one->peer);
  one->kind = one->message.kind;
  if (one->message.is_hello()) {
    run(*one, Event::kRxHello);
    return true;
  }
  if (one->kind == Kind::kImmediate) {
    counters_.add(Id::kReceivedImmediate);
    one->bytes = one->message.header.type == lnet::MessageType::kPut ||
                         one->message.header.type == lnet::MessageType::kReply
                     ? one->message.header.payload_length
                     : 0;
    one->payload = bytes.subspan(kImmediateBytes, one->bytes);
    one->buffer = buffer + 1;
    receive_.hold(buffer);
  } else if (one->kind == Kind::kBulkPut) {
    counters_.add(Id::kReceivedBulkPut);
    one->bytes = one->message.header.payload_length;
  } else {
    counters_.add(Id::kReceivedBulkGet);
    one->bytes = one->message.header.area<lnet::GetArea>().sink_length;
  }
  run(*one, Event::kRxOk);
  return true;
}

// As many as may be are under way, or too many strangers write at once, or nobody knows yet where
// one of them has its home. In its buffer it keeps others from sending, which is what is meant; it
// is lost only when there are more than anybody has credits for, or when it has become too old.
void KfiLnd::put_off(std::uint32_t buffer, std::uint32_t offset, std::uint32_t length) {
  if (backlog_count_ == backlog_.size()) return counters_.add(Id::kNoTransaction);
  counters_.add(Id::kPutOff);
  receive_.hold(buffer);
  backlog_[(backlog_first_ + backlog_count_++) % backlog_.size()] = {buffer, offset, length,
                                                                     now_ + timeout_ / 2};
}

unsigned KfiLnd::run_backlog() {
  unsigned work = 0;
  unsigned refused = 0;
  for (std::size_t left = backlog_count_; left > 0 && refused < kLookedAtAgain; --left) {
    if (!shutting_down_ && used(Quota::kReceives) == config_.receives_max) break;
    const Arrival one = backlog_[backlog_first_];
    backlog_first_ = (backlog_first_ + 1) % backlog_.size();
    --backlog_count_;
    if (!shutting_down_ &&
        !accept(one.buffer, receive_.message(one.buffer, one.offset, one.length))) {
      ++refused;
      if (now_ < one.until) {
        backlog_[(backlog_first_ + backlog_count_++) % backlog_.size()] = one;
        continue;
      }
      counters_.add(Id::kTooLate);
    }
    receive_.let_go(one.buffer);
    ++work;
  }
  return work;
}

// Of a sender that has not introduced itself. True: it waits until it has, or is dropped.
bool KfiLnd::wait_for_hello(Transaction& one) {
  Peer& peer = *one.peer;
  if (peer.state != PeerState::kNew) return false;
  const bool failed = one.early && (peer.removed || peer.needs_hello(now_, timeout_, false));
  if (!failed && peer.needs_hello(now_, timeout_, false)) (void)greet(peer);
  greet_first(peer);
  if (one.message.is_bulk() && one.message.version == 1) {
    counters_.add(Id::kEarlyV1);  // nobody knows yet which tag it means
    fail_at_once(one, Errc::kProtocol, Health::kLocalDropped);
    return true;
  }
  const bool first = !one.early;
  // A HELLO, which ends the waiting, has to find a transaction, too.
  const bool crowded = first && early_ >= (config_.receives_max + 1) / 2;
  if (first) {
    one.early = true;
    ++early_;
    counters_.add(Id::kEarly);
  }
  // In its receive buffer it would keep others from sending to us.
  if (failed || crowded || now_ >= one.replay_deadline || shutting_down_ ||
      (first && !copy_out(one))) {
    counters_.add(Id::kEarlyDropped);
    fail_at_once(one, Errc::kTimedOut, Health::kNetworkTimeout);
    return true;
  }
  one.again = Event::kRxOk;
  throttle(one);
  return true;
}

void KfiLnd::take_message(Transaction& one, const EventStatus& what) {
  if (wait_for_hello(one)) return;
  Peer& peer = *one.peer;
  if (shutting_down_) return fail_at_once(one, Errc::kShutdown, Health::kLocalAborted);
  if (peer.guest) {
    report_guest(peer);
    if (one.message.is_bulk() && one.message.version == 1) {
      counters_.add(Id::kEarlyV1);  // its home knows which tag it means
      return fail_at_once(one, Errc::kProtocol, Health::kLocalDropped);
    }
  }
  if (peer.needs_hello(now_, timeout_, false)) (void)greet(peer);
  heard(peer);
  // A key that comes with a later HELLO is not the one that it meant.
  if (one.message.version == 1) one.message.session_key = peer.remote_session_key;
  enter(one, State::kImmRecv);
  one.offered = true;
  one.decision = core_.on_header({.header = one.message.header,
                                  .from = peer.nid,
                                  .link = peer.link,
                                  .rx = {transactions_.index_of(&one), one.generation},
                                  .reply_by_lnd = one.kind == Kind::kBulkGet});
  act_on_decision(one, what);
}

void KfiLnd::act_on_decision(Transaction& one, const EventStatus& what) {
  const lnet::RxDecision& decision = one.decision;
  if (decision.link != nullptr && !one.peer->removed && !is_releasing(*decision.link))
    bind(*one.peer, decision.link);
  const bool bulk = one.message.is_bulk();
  switch (decision.verdict) {
    case RxVerdict::kPark: return park(one);
    case RxVerdict::kReceive:
      one.wanted = true;
      if (!bulk) return receive_immediate(one);
      if (decision.length > one.bytes) {  // there are no such bytes at the peer
        one.update(std::unexpected(Errc::kProtocol), Health::kLocalError);
        one.answer = number_of(Errc::kProtocol);
        break;
      }
      one.answer = 0;
      if (decision.length > 0) return run(one, Event::kInitTagRma, what);
      break;
    case RxVerdict::kDrop:
      if (!bulk) return end(one);
      one.answer = one.kind == Kind::kBulkGet ? number_of(decision.reason) : 0;
      break;
    case RxVerdict::kReject:
      counters_.add(Id::kRejected);
      if (!bulk) return end(one);
      one.answer = number_of(Errc::kProtocol);
      break;
  }
  run(one, Event::kSkipTagRma, what);
}

void KfiLnd::receive_immediate(Transaction& one) {
  if (one.decision.length > one.payload.size()) {
    one.update(std::unexpected(Errc::kProtocol), Health::kLocalError);
    return end(one);
  }
  std::span<const std::byte> left = one.payload;
  lnet::for_each_piece(one.wanted_payload(), [&](const Fragment& piece) {
    std::memcpy(config_.arenas->bytes(piece).data(), left.data(), piece.length);
    left = left.subspan(piece.length);
  });
  end(one);
}

// The order of messages is nobody's promise here, so only this one waits.
void KfiLnd::park(Transaction& one) {
  if (!lnet::may_park(one.peer->parked, receives_free())) return refuse_to_park(one);
  ++one.peer->parked;
  one.parked = true;
  if (one.copy_slot == 0 && !copy_out(one)) counters_.add(Id::kHeldBuffers);
}

// The peer of a bulk request waits for an answer, and gets one.
void KfiLnd::refuse_to_park(Transaction& one) {
  counters_.add(Id::kParkedShare);
  core_.on_parked_gone({transactions_.index_of(&one), one.generation}, Errc::kNoSpace);
  if (!one.message.is_bulk()) return end(one);
  one.answer = number_of(Errc::kNoSpace);
  run(one, Event::kSkipTagRma);
}

// Out of the receive buffer, if there is anything to keep. False: it stays where it is.
bool KfiLnd::copy_out(Transaction& one) {
  if (one.payload.empty()) {
    leave_buffer(one);
    return true;
  }
  if (free_copies_.empty()) return false;
  one.copy_slot = free_copies_.back();
  free_copies_.pop_back();
  PLNET_CHECK(one.payload.size() <= kInlineBytesMax, "longer messages are refused");
  std::byte* const place = copies_.data() + std::size_t{one.copy_slot - 1} * kInlineBytesMax;
  std::memcpy(place, one.payload.data(), one.payload.size());
  one.payload = {place, one.payload.size()};
  counters_.add(Id::kCopiedOut);
  leave_buffer(one);
  return true;
}

void KfiLnd::leave_buffer(Transaction& one) {
  if (one.buffer == 0) return;
  const std::uint32_t index = one.buffer - 1;
  one.buffer = 0;
  receive_.let_go(index);
}

Tag KfiLnd::remote_tag(const Transaction& one) const {
  return tag_of(one.message.session_key, one.message.key);
}

Target KfiLnd::bulk_target(const Transaction& one) const {
  return {one.peer->address, one.message.response_rx};
}

void KfiLnd::posted_remote(Transaction& one, Result<void> posted, State next, Event again) {
  if (posted) {
    one.outstanding |= Transaction::kRemotePosted;
    return enter(one, next);
  }
  if (posted.error() != Errc::kAgain) return fail_at_once(one, posted.error(), Health::kLocalError);
  if (now_ >= one.deadline) return fail_at_once(one, Errc::kTimedOut, Health::kLocalError);
  block(one, again);
}

void KfiLnd::move_payload(Transaction& one, const EventStatus& /*what*/) {
  leave_buffer(one);
  const lnet::Payload payload = one.wanted_payload();
  const auto posted =
      one.kind == Kind::kBulkPut
          ? driver_.read_tagged(bulk_target(one), remote_tag(one), payload, cookie_of(one))
          : driver_.write_tagged(bulk_target(one), remote_tag(one), payload, cookie_of(one));
  posted_remote(one, posted, State::kWaitTagRmaComp, Event::kInitTagRma);
}

void KfiLnd::answer_instead(Transaction& one, const EventStatus& /*what*/) {
  leave_buffer(one);
  const auto posted =
      driver_.answer_tagged(bulk_target(one), remote_tag(one), one.answer, cookie_of(one));
  if (posted) counters_.add(Id::kSkips);
  posted_remote(one, posted, State::kWaitTagComp, Event::kSkipTagRma);
}

void KfiLnd::remote_done(Transaction& one, const EventStatus& /*what*/) {
  heard(*one.peer);
  end(one);
}

void KfiLnd::remote_failed(Transaction& one, const EventStatus& what) {
  const Errc cause = what.status ? Errc::kIo : what.status.error();
  one.update(std::unexpected(cause),
             cause == Errc::kTimedOut ? Health::kNetworkTimeout : Health::kRemoteError);
  failed(one, cause, false);
  end(one);
}

}  // namespace plnet::kfilnd
