// SPDX-License-Identifier: BSD-3-Clause
// How a message of ours sets out: by which of three ways, when its peer may be sent to, and what is
// posted in which order.
#include <algorithm>

#include "lib/kfilnd/lnd.hpp"

namespace plnet::kfilnd {

namespace {

using lnet::MessageType;

// A GET goes as a bulk request only straight to the node that has the data: nobody writes into a
// sink through a third node.
Kind kind_of(const lnet::Transmit& transmit, bool always_bulk) {
  const std::uint32_t inline_max = always_bulk ? 0 : kInlineBytesMax;
  switch (transmit.header.type) {
    case MessageType::kGet: {
      const bool direct = !transmit.routed && !transmit.next_hop_is_router;
      return direct && transmit.sink.length > inline_max ? Kind::kBulkGet : Kind::kImmediate;
    }
    case MessageType::kPut:
    case MessageType::kReply:
      return transmit.source.length > inline_max ? Kind::kBulkPut : Kind::kImmediate;
    default: return Kind::kImmediate;
  }
}

bool can_be_sent(const lnet::Transmit& transmit) {
  switch (transmit.header.type) {
    case MessageType::kAck:
    case MessageType::kGet: return transmit.source.empty();
    case MessageType::kPut:
    case MessageType::kReply: return transmit.source.length <= lnet::kPayloadBytesMax;
    default: return false;
  }
}

}  // namespace

void KfiLnd::fail_at_once(Transaction& one, Errc cause, Health health) {
  one.update(std::unexpected(cause), health);
  end(one);
}

// Its first turn. The key is taken before the peer is looked up: whoever gets a key back that was
// another's gets with it a peer that is no longer the other's.
void KfiLnd::start(Transaction& one) {
  const lnet::Transmit& transmit = *one.transmit;
  one.begun = one.entered = now_;
  one.deadline = std::min(now_ + timeout_, transmit.deadline);
  one.replay_deadline = std::min(now_ + timeout_ / 2, one.deadline);
  if (one.abandoned) return fail_at_once(one, one.abandon_cause, health_of(one.abandon_cause));
  if (shutting_down_ || is_releasing(*transmit.next_hop))
    return fail_at_once(one, Errc::kShutdown, Health::kLocalAborted);
  if (has_moved()) return fail_at_once(one, Errc::kStale, Health::kLocalError);
  if (!can_be_sent(transmit)) return fail_at_once(one, Errc::kInvalid, Health::kLocalError);
  one.kind = kind_of(transmit, config_.always_bulk);
  one.bytes = one.kind == Kind::kBulkGet ? transmit.sink.length : transmit.source.length;
  one.again = one.kind == Kind::kImmediate ? Event::kInitImmediate : Event::kInitBulk;
  if (one.again == Event::kInitBulk) one.key = keys_.take();
  if (one.again == Event::kInitBulk && one.key == 0) {
    counters_.add(Id::kNoKey);
    return fail_at_once(one, Errc::kNoMemory, Health::kLocalError);
  }
  const auto peer = peer_for(*transmit.next_hop);
  if (!peer) return fail_at_once(one, peer.error(), Health::kLocalError);
  one.peer = *peer;
  peers_.use(**peer);
  const bool greeted = !(*peer)->needs_hello(now_, timeout_, true) || greet(**peer);
  if (!greeted && (*peer)->state == PeerState::kNew)
    return fail_at_once(one, Errc::kIo, Health::kLocalError);
  counters_.add(one.kind == Kind::kImmediate ? Id::kSentImmediate
                : one.kind == Kind::kBulkPut ? Id::kSentBulkPut
                                             : Id::kSentBulkGet);
  run(one, one.again);
}

void KfiLnd::throttle(Transaction& one) {
  counters_.add(Id::kThrottled);
  one.peer->throttled.push_back(one);
  timers_.start(one.timer, one.replay_deadline);
}

// Whether it may be posted now; else it waits or has ended.
bool KfiLnd::may_go(Transaction& one) {
  const Peer& peer = *one.peer;
  Errc cause = Errc::kTimedOut;
  Health health = Health::kNetworkTimeout;
  if (one.abandoned) {
    cause = one.abandon_cause;
    health = health_of(cause);
  } else if (has_moved()) {
    cause = Errc::kStale;
    health = Health::kLocalError;
  } else if (peer.is_usable()) {
    if (now_ < one.replay_deadline) return true;
  } else if (peer.removed) {
    cause = Errc::kStale;
  } else if (peer.needs_hello(now_, timeout_, false)) {
    cause = Errc::kCancelled;  // the handshake it waited for has failed
  } else if (now_ < one.replay_deadline) {
    throttle(one);
    return false;
  }
  if (!one.abandoned && !has_moved() && !peer.is_usable()) counters_.add(Id::kThrottleEnded);
  fail_at_once(one, cause, health);
  return false;
}

Message KfiLnd::message_of(const Transaction& one) const {
  Message message;
  message.kind = one.kind;
  message.version = one.peer->spoken_version();
  message.source_nid = nid64_;
  message.destination_nid = one.peer->nid64;
  message.header = one.transmit->header;
  message.response_rx = driver_.limits().receive_context;
  message.key = one.key;
  message.session_key = one.peer->local_session_key;
  return message;
}

Result<void> KfiLnd::post_message(Transaction& one, const Message& message,
                                  const lnet::Payload& payload) {
  Head head;
  const std::size_t length = encode(message, payload.length, head);
  if (config_.tunables.cksum != 0) {
    Checksum checksum;
    checksum.add(std::span(head).first(length));
    lnet::for_each_piece(
        payload, [&](const Fragment& piece) { checksum.add(config_.arenas->bytes(piece)); });
    set_checksum(checksum.value(), head);
  }
  const auto posted = driver_.send(one.peer->untagged_target(), std::span(head).first(length),
                                   payload, cookie_of(one));
  if (posted) one.outstanding |= Transaction::kSendPosted;
  return posted;
}

void KfiLnd::begin_immediate(Transaction& one, const EventStatus& /*what*/) {
  if (!may_go(one)) return;
  const auto posted = post_message(one, message_of(one), one.transmit->source);
  if (!posted && posted.error() == Errc::kAgain) return block(one, Event::kInitImmediate);
  if (!posted) return fail_at_once(one, posted.error(), Health::kLocalError);
  enter(one, State::kImmSend);
  timers_.start(one.timer, one.deadline);
}

void KfiLnd::begin_bulk(Transaction& one, const EventStatus& what) {
  if (!may_go(one)) return;
  const bool put = one.kind == Kind::kBulkPut;
  one.tag = tag_of(one.peer->local_session_key, one.key);
  const auto posted =
      driver_.post_tagged({one.peer->address, 0}, one.tag, put,
                          put ? one.transmit->source : one.transmit->sink, cookie_of(one));
  if (!posted && posted.error() == Errc::kAgain) return block(one, Event::kInitBulk);
  if (!posted) return fail_at_once(one, posted.error(), Health::kLocalError);
  one.outstanding |= Transaction::kTaggedPosted;
  enter(one, State::kTaggedRecvPosted);
  send_request(one, what);
}

void KfiLnd::send_request(Transaction& one, const EventStatus& what) {
  Result<void> posted;
  Health health = Health::kLocalError;
  if (one.abandoned) {
    posted = std::unexpected(one.abandon_cause);
    health = health_of(one.abandon_cause);
  } else if (now_ >= one.deadline) {
    posted = std::unexpected(Errc::kTimedOut);
    health = Health::kNetworkTimeout;
  } else {
    posted = post_message(one, message_of(one), {});
  }
  if (posted) {
    enter(one, State::kWaitComp);
    timers_.start(one.timer, one.deadline);
  } else if (posted.error() == Errc::kAgain) {
    block(one, Event::kInitBulk);
  } else {
    one.update(std::unexpected(posted.error()), health);
    enter(one, State::kSendFailed);
    take_back(one, what);
  }
}

// Whether it comes back or was taken, the buffer's own completion says so.
void KfiLnd::take_back(Transaction& one, const EventStatus& /*what*/) {
  const auto asked = driver_.cancel_tagged(one.tag);
  if (!asked && asked.error() == Errc::kAgain) return block(one, Event::kInitBulk);
  if (one.state != State::kFail) enter(one, State::kFail);
  timers_.start(one.timer, now_ + kCancelGrace);
}

void KfiLnd::note_transfer(Transaction& one, const EventStatus& what) {
  if (!what.status) return one.update(what.status, Health::kOk);
  if (one.kind != Kind::kBulkGet) return;
  one.reply_placed = true;
  one.bytes = what.length;
}

}  // namespace plnet::kfilnd
