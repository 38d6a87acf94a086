// SPDX-License-Identifier: BSD-3-Clause
#include "lib/kfilnd/initiator.hpp"

#include <algorithm>

#include "lib/base/check.hpp"

namespace plnet::kfilnd {

namespace {

using lnet::MessageType;

// A GET is a bulk request only if the next hop is the node that has the data: no third node writes
// into a sink.
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

KfiLndCounters::Id counter_of(Kind kind) {
  switch (kind) {
    case Kind::kImmediate: return KfiLndCounters::Id::kSentImmediate;
    case Kind::kBulkPut: return KfiLndCounters::Id::kSentBulkPut;
    default: return KfiLndCounters::Id::kSentBulkGet;
  }
}

}  // namespace

bool Initiator::choose_kind(Transaction& one) {
  const lnet::Transmit& transmit = *one.transmit;
  one.kind = kind_of(transmit, environment_.config.always_bulk);
  one.bytes = one.kind == Kind::kBulkGet ? transmit.sink.length : transmit.source.length;
  if (one.kind == Kind::kImmediate) {
    one.again = Event::kInitImmediate;
    return true;
  }
  one.again = Event::kInitBulk;
  one.key = transactions_.take_key();
  if (one.key == 0) environment_.count(Id::kNoKey);
  return one.key != 0;
}

// The key is taken before the peer is looked up. A failed transaction gives its key back after the
// record of its peer was deleted, so the next user of the key gets another session key.
void Initiator::start(Transaction& one) {
  PLNET_CHECK(one.transmit != nullptr && one.transmit->next_hop != nullptr && one.peer == nullptr,
              "a message starts once, towards its next hop");
  const lnet::Transmit& transmit = *one.transmit;
  const Instant now = environment_.now;
  one.begun = one.entered = now;
  one.deadline = std::min(now + environment_.timeout, transmit.deadline);
  one.replay_deadline = std::min(now + environment_.timeout / 2, one.deadline);
  if (one.abandoned)
    return transactions_.fail(one, one.abandon_cause, health_of(one.abandon_cause));
  if (environment_.shutting_down || releases_.is_releasing(*transmit.next_hop))
    return transactions_.fail(one, Errc::kShutdown, Health::kLocalAborted);
  if (environment_.has_moved()) return transactions_.fail(one, Errc::kStale, Health::kLocalError);
  if (!can_be_sent(transmit)) return transactions_.fail(one, Errc::kInvalid, Health::kLocalError);
  if (!choose_kind(one)) return transactions_.fail(one, Errc::kNoMemory, Health::kLocalError);
  const auto peer = peers_.of_link(*transmit.next_hop);
  if (!peer) return transactions_.fail(one, peer.error(), Health::kLocalError);
  transactions_.set_peer(one, **peer);
  const bool hello_under_way =
      !(*peer)->needs_hello(now, environment_.timeout, true) || hellos_.send_hello(**peer);
  if (!hello_under_way && (*peer)->state == PeerState::kNew)
    return transactions_.fail(one, Errc::kIo, Health::kLocalError);
  environment_.count(counter_of(one.kind));
  machine_.run(one, one.again);
}

bool Initiator::may_begin(Transaction& one) {
  PLNET_DEBUG_CHECK(one.peer != nullptr && one.transmit != nullptr,
                    "start() has found the peer of the message");
  const Peer& peer = *one.peer;
  const Instant now = environment_.now;
  Errc cause = Errc::kTimedOut;
  Health health = Health::kNetworkTimeout;
  if (one.abandoned) {
    cause = one.abandon_cause;
    health = health_of(cause);
  } else if (environment_.has_moved()) {
    cause = Errc::kStale;
    health = Health::kLocalError;
  } else if (peer.is_usable()) {
    if (now < one.replay_deadline) return true;
  } else if (peer.removed) {
    cause = Errc::kStale;
  } else if (peer.needs_hello(now, environment_.timeout, false)) {
    cause = Errc::kCancelled;  // the HELLO that it waited for has failed
  } else if (now < one.replay_deadline) {
    transactions_.throttle(one);
    return false;
  }
  if (!one.abandoned && !environment_.has_moved() && !peer.is_usable())
    environment_.count(Id::kThrottleEnded);
  transactions_.fail(one, cause, health);
  return false;
}

Message Initiator::message_of(const Transaction& one) const {
  Message message;
  message.kind = one.kind;
  message.version = one.peer->spoken_version();
  message.source_nid = environment_.nid64;
  message.destination_nid = one.peer->nid64;
  message.header = one.transmit->header;
  message.response_rx = environment_.own_context();
  message.key = one.key;
  message.session_key = one.peer->local_session_key;
  return message;
}

void Initiator::begin_immediate(Transaction& one, const EventStatus& /*what*/) {
  if (!may_begin(one)) return;
  const auto posted = transactions_.post_message(one, message_of(one), one.transmit->source);
  if (!posted && posted.error() == Errc::kAgain)
    return transactions_.block(one, Event::kInitImmediate);
  if (!posted) return transactions_.fail(one, posted.error(), Health::kLocalError);
  transactions_.enter(one, State::kImmSend);
  transactions_.start_timer(one, one.deadline);
}

void Initiator::begin_bulk(Transaction& one, const EventStatus& what) {
  if (!may_begin(one)) return;
  PLNET_CHECK(one.key != 0, "a bulk request has a key");
  PLNET_DEBUG_CHECK((one.outstanding & Transaction::kTaggedPosted) == 0, "a buffer is posted once");
  const bool put = one.kind == Kind::kBulkPut;
  one.tag = tag_of(one.peer->local_session_key, one.key);
  const auto posted = environment_.driver.post_tagged(
      {one.peer->address, 0}, one.tag, put, put ? one.transmit->source : one.transmit->sink,
      transactions_.cookie_of(one));
  if (!posted && posted.error() == Errc::kAgain) return transactions_.block(one, Event::kInitBulk);
  if (!posted) return transactions_.fail(one, posted.error(), Health::kLocalError);
  Transactions::set_posted(one, Transaction::kTaggedPosted);
  transactions_.enter(one, State::kTaggedRecvPosted);
  send_request(one, what);
}

void Initiator::send_request(Transaction& one, const EventStatus& what) {
  PLNET_DEBUG_CHECK(one.key != 0 && (one.outstanding & Transaction::kSendPosted) == 0,
                    "a request names its buffer, and is sent once");
  Result<void> posted;
  Health health = Health::kLocalError;
  if (one.abandoned) {
    posted = std::unexpected(one.abandon_cause);
    health = health_of(one.abandon_cause);
  } else if (environment_.now >= one.deadline) {
    posted = std::unexpected(Errc::kTimedOut);
    health = Health::kNetworkTimeout;
  } else {
    posted = transactions_.post_message(one, message_of(one), {});
  }
  if (posted) {
    transactions_.enter(one, State::kWaitComp);
    transactions_.start_timer(one, one.deadline);
  } else if (posted.error() == Errc::kAgain) {
    transactions_.block(one, Event::kInitBulk);
  } else {
    one.update(std::unexpected(posted.error()), health);
    transactions_.enter(one, State::kSendFailed);
    endings_.cancel_buffer(one, what);
  }
}

}  // namespace plnet::kfilnd
