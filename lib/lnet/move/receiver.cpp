// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/move/receiver.hpp"

#include <new>

#include "lib/base/check.hpp"
#include "lib/lnet/move/header_rules.hpp"
#include "lib/lnet/move/sender.hpp"

namespace plnet::lnet {

// --- Arrival ---

RxDecision Receiver::on_header(NiPort& port, const RxOffer& offer) {
  const bool routes = core_.shared.parameters.routes();
  const HeaderRuling ruling = rule_on_header(offer, port.ni(), core_.local(), routes);
  if (routes) notices.on_header(port, offer);
  if (ruling.verdict != HeaderVerdict::kReject && ruling.cause != Cause::kDroppedNid) {
    core_.load.count_arrival(offer.header, port.ni().net, core_.now);
  }
  const bool forward = ruling.verdict == HeaderVerdict::kForward;
  if (!forward && ruling.verdict != HeaderVerdict::kForUs) return refuse(port, offer, ruling);
  if (port.closing()) return refuse(port, offer, {HeaderVerdict::kDrop, Cause::kDroppedShutdown});
  if (core_.faults.rules() != nullptr) [[unlikely]] {
    const auto cause = core_.faults.drops(offer.header, port.ni().nid, core_.now);
    if (cause) return refuse(port, offer, {HeaderVerdict::kDrop, *cause});
  }
  if (forward && core_.forbids_to_forward(offer.header, port.ni())) [[unlikely]] {
    return refuse(port, offer, {HeaderVerdict::kDrop, Cause::kDroppedAccess});
  }
  Receive* const receive = make(port, offer);
  if (receive == nullptr) {
    return refuse(port, offer, {HeaderVerdict::kDrop, Cause::kDroppedNoReceive});
  }
  receive->forwarded = forward;
  if (forward) core_.forwarder.begin(*receive);
  return begin_receive(port, offer, *receive);
}

inline RxDecision Receiver::begin_receive(NiPort& port, const RxOffer& offer, Receive& receive) {
  RxDecision decision = find_sender(receive, offer.header);
  PLNET_DEBUG_CHECK(is_sound(decision), "a decision has room for the bytes that it takes");
  if (decision.verdict == RxVerdict::kPark) {
    decision.link = offer.link;
  } else if (decision.verdict == RxVerdict::kReceive) {
    receive.enter(ReceiveState::kPayload);
  } else {
    PLNET_DEBUG_CHECK(decision.verdict == RxVerdict::kDrop, "only a header rejects its sender");
    port.forget(receive);
    give_back(receive);
  }
  return decision;
}

RxDecision Receiver::refuse(NiPort& port, const RxOffer& offer, const HeaderRuling& ruling) {
  core_.tap_drop(offer.header, ruling.cause, port.ni().nid, offer.from);
  if (ruling.verdict == HeaderVerdict::kReject) {
    core_.causes.add(ruling.cause);
    return {.verdict = RxVerdict::kReject, .reason = Errc::kProtocol, .link = offer.link};
  }
  core_.drop(ruling.cause, offer.header.payload_length);
  port.traffic.add(traffic_id(TrafficWay::kDropped, offer.header.type));
  return {.verdict = RxVerdict::kDrop, .link = offer.link};
}

inline Receive* Receiver::make(NiPort& port, const RxOffer& offer) {
  Receive* const receive = core_.receives.take();
  if (receive == nullptr) return nullptr;
  PLNET_DEBUG_CHECK(!receive->linked(), "a free record is in no queue");
  receive->origin = receive->asker = receive->first_asked = core_.id;
  receive->outcome = {};
  receive->header = offer.header;
  receive->from = offer.from;
  receive->reply_by_lnd = offer.reply_by_lnd;
  receive->enter(ReceiveState::kArrived);
  receive->match = Match::kNone;
  receive->was_held = false;
  receive->status = {};
  receive->rx = offer.rx;
  receive->port = &port;
  receive->peer = nullptr;
  receive->link = nullptr;
  receive->charged = nullptr;
  receive->gone.set(false);
  if (offer.link != nullptr && offer.link != &core_.loopback) {
    receive->link = &core_.peers.of(*offer.link);
    receive->peer = receive->link->port;
    PLNET_CHECK(receive->link->ni == port.ni().number, "an LND offers its own links");
  }
  port.hold();
  port.note_arrival(core_.now);
  port.remember(*receive);
  core_.message_begins();
  return receive;
}

// The sender gets a peer NI if it has none yet, and the LND a link to it.
inline RxDecision Receiver::find_sender(Receive& receive, const MessageHeader& header) {
  PLNET_DEBUG_CHECK(receive.link != nullptr || receive.peer == nullptr,
                    "the sender of a message without a link is looked up");
  if (receive.link == nullptr && !receive.port->ni().nid.is_loopback()) {
    if (receive.port->closing()) {  // its LND releases links and must not get a new one
      receive.cause = Cause::kDroppedShutdown;
      return core_.drop(receive, receive.cause);
    }
    PeerNi* const from = core_.shared.directory->find(receive.from);
    if (from == nullptr) {
      return core_.park(receive, ReceiveState::kSenderWait, core_.shared.coordinator,
                        ParcelStep::kWantPeer);
    }
    receive.peer = core_.peers.get(*from);
    if (receive.peer != nullptr) {
      receive.link = core_.peers.link(*receive.peer, receive.port->ni().number);
    }
    if (receive.link == nullptr) {
      receive.cause = Cause::kDroppedNoPeer;
      return core_.drop(receive, receive.cause);
    }
  }
  return begin(receive, header);
}

inline RxDecision Receiver::begin(Receive& receive, const MessageHeader& header) {
  PLNET_DEBUG_CHECK(receive.link != nullptr || receive.port->ni().nid.is_loopback(),
                    "a message has a link, unless it came by loopback");
  PeerNi* source = receive.peer == nullptr ? nullptr : receive.peer->peer_ni;
  const bool by_its_sender = source == nullptr || header.source == source->nid;
  if (!by_its_sender) [[unlikely]] {
    if (const auto cause = sources_.refuse(receive, header.source))
      return core_.drop(receive, *cause);
  }
  receive.initiator = header.source;
  if (source != nullptr) {
    source->last_alive_ns.set(core_.now.time_since_epoch().count());
    if (source->status.get() != kNiUp) [[unlikely]] {
      source->status.set(kNiUp);
      core_.notify_if_gateway(*source, kGatewayHeard);
    }
    if (receive.forwarded) {
      source = nullptr;  // the initiator of a forwarded message does not matter
    } else if (!by_its_sender) {
      source = core_.shared.directory->find(header.source);
    }
  }
  // A peer with one NI has that NID as its primary: this saves two cache lines, peer and view.
  if (source != nullptr && (source->traits.get() & kTraitAlone) == 0) {
    const Peer* const peer = source->peer.load(std::memory_order_acquire);
    if (peer != nullptr) receive.initiator = peer->seen().primary;
  }
  PLNET_DEBUG_CHECK(receive.peer == nullptr || receive.link->port == receive.peer,
                    "the link of a message leads to its sender");
  if (core_.faults.rules() != nullptr && !receive.was_held) [[unlikely]] {
    receive.was_held = core_.faults.delays(receive, core_.now);
    if (receive.was_held) {
      core_.waits.begin(receive, ReceiveState::kRuleWait);
      return {.verdict = RxVerdict::kPark};
    }
  }
  if (receive.forwarded) return core_.forwarder.admit(receive, header);
  return take_share(receive, header);
}

// A message that a delay rule has held counts for no share: the site wanted it held.
inline RxDecision Receiver::take_share(Receive& receive, const MessageHeader& header) {
  if (receive.peer == nullptr) return search.find(receive, header);  // loopback
  switch (core_.shares.admit(receive)) {
    case ReceiveShares::Verdict::kGoOn: return search.find(receive, header);
    case ReceiveShares::Verdict::kWait: return {.verdict = RxVerdict::kPark};
    case ReceiveShares::Verdict::kDrop: break;
  }
  return core_.drop(receive, Cause::kDroppedPeerShare);
}

// --- Parked messages ---

void Receiver::deliver(Receive& receive) {
  switch (receive.step) {
    case ParcelStep::kWaitOver: return wait_over(receive);
    case ParcelStep::kMatch: return search.on_question(receive);
    case ParcelStep::kMatched:
      if (receive.is(ReceiveState::kLazyWait) && receive.asker == core_.id)
        return lazy.on_answer(receive);
      return on_match_answer(receive);
    case ParcelStep::kDelay: return lazy.delay(receive);
    case ParcelStep::kFinish:
      search.end_grant_here(receive);
      return core_.post(receive, receive.origin, ParcelStep::kFinished);
    case ParcelStep::kFinished: return on_grant_ended(receive);
    default: PLNET_CHECK(false, "not a step of a receive");
  }
}

void Receiver::on_match_answer(Receive& receive) {
  PLNET_CHECK(receive.origin == core_.id, "answers come to the shard that received the message");
  core_.waits.end(receive);
  if (receive.gone.get()) return end_gone(receive);
  settle(receive, [&] { return search.decide(receive); });
}

// The decision is built where it stays: a copy would wait for all earlier stores, which may be to
// lines that other shards are reading.
template <class Decide>
void Receiver::settle(Receive& receive, Decide&& decide) {
  PLNET_DEBUG_CHECK(!receive.gone.get() && receive.origin == core_.id,
                    "a decision is for a message that is still there");
  RxDecision* const decision = ::new (&receive.decision) RxDecision(decide());
  PLNET_DEBUG_CHECK(decision->verdict == RxVerdict::kPark || is_sound(*decision),
                    "a decision has room for the bytes that it takes");
  if (decision->verdict != RxVerdict::kPark) core_.decide(receive);
}

unsigned Receiver::resume_decided() {
  unsigned resumed = 0;
  for (; !core_.decided.empty(); ++resumed)
    resume(*core_.decided.pop_front());
  return resumed;
}

void Receiver::resume(Receive& receive) {
  PLNET_CHECK(receive.is(ReceiveState::kDecided), "a resumed message has its decision");
  if (receive.gone.get()) return end_gone(receive);
  NiPort& port = *receive.port;
  const bool receives = receive.decision.verdict == RxVerdict::kReceive;
  PLNET_DEBUG_CHECK(receive.port->find(receive.rx) == &receive,
                    "a port knows the messages that its LND has parked");
  if (receives) receive.enter(ReceiveState::kPayload);
  port.lnd().resume(receive.rx, receive.decision);
  if (receives) return;
  port.forget(receive);
  give_back(receive);
}

void Receiver::on_parked_gone(NiPort& port, RxHandle rx, Errc cause) {
  Receive* const receive = port.find(rx);
  PLNET_CHECK(receive != nullptr && is_parked(receive->state.get()),
              "only a parked message may be lost this way");
  PLNET_DEBUG_CHECK(receive->port == &port, "a message is lost where it arrived");
  port.forget(*receive);
  if (cause == Errc::kNoSpace) core_.complaints->add(receive->from, "dropped_parked_share");
  const bool queued = core_.shares.leave(*receive) || core_.forwarder.leave(*receive);
  receive->peer = nullptr;
  receive->link = nullptr;
  receive->gone.set(true);
  if (queued) end_gone(*receive);  // else the shard that has it returns it first
}

// The message resumes where it began to wait. Its peer may have lost the link meanwhile.
void Receiver::wait_over(Receive& receive) {
  PLNET_CHECK(receive.origin == core_.id, "a message resumes where it arrived");
  const ReceiveState wait = receive.state.get();
  const bool was_with_coordinator =
      wait == ReceiveState::kSenderWait || wait == ReceiveState::kDestinationWait;
  PLNET_DEBUG_CHECK(was_with_coordinator || wait == ReceiveState::kResumed,
                    "only a wait that has ended lets a message resume");
  if (was_with_coordinator) core_.waits.end(receive);
  if (receive.gone.get()) return end_gone(receive);
  if (was_with_coordinator && !receive.outcome) {
    receive.cause =
        wait == ReceiveState::kSenderWait ? Cause::kDroppedNoPeer : Cause::kDroppedForwardNoPeer;
    return settle(receive, [&] { return core_.drop(receive, receive.cause); });
  }
  settle(receive, [&] {
    if (receive.link == nullptr) return find_sender(receive, receive.header);
    if (receive.forwarded) return core_.forwarder.admit(receive, receive.header);
    return take_share(receive, receive.header);
  });
}

void Receiver::delay_over(Receive& receive, bool dropped) {
  PLNET_CHECK(receive.is(ReceiveState::kRuleWait), "a delay rule has held the message");
  core_.waits.end(receive);
  if (receive.gone.get()) return end_gone(receive);
  if (!dropped) {
    return settle(receive, [&] {
      // The link of a forwarded message's sender may be gone.
      if (receive.forwarded && receive.peer == nullptr) return find_sender(receive, receive.header);
      if (receive.forwarded) return core_.forwarder.admit(receive, receive.header);
      return search.find(receive, receive.header);
    });
  }
  receive.cause = Cause::kDroppedShutdown;
  settle(receive, [&] { return core_.drop(receive, receive.cause); });
}

// --- The end ---

void Receiver::on_received(NiPort& port, RxHandle rx, Result<void> status, Health health) {
  Receive* const receive = port.find(rx);
  PLNET_CHECK(receive != nullptr && receive->is(ReceiveState::kPayload),
              "a message is received once");
  PLNET_DEBUG_CHECK(receive->port == &port, "a message ends where it arrived");
  PLNET_DEBUG_CHECK(!receive->forwarded || receive->forwarding.has_buffer,
                    "the payload of a forwarded message is in its buffer");
  port.forget(*receive);
  receive->status = status;
  if (MessageTap* const tap = core_.tap()) [[unlikely]]
    show(*tap, *receive);
  count(*receive, health);
  receive->peer = nullptr;  // it may be released before the message ends
  receive->link = nullptr;
  if (receive->forwarded) return status ? core_.forwarder.send(*receive) : give_back(*receive);
  const bool wants_reply =
      receive->header.type == MessageType::kGet && !receive->reply_by_lnd && status.has_value();
  if (wants_reply) return sender_.originator.answer(*receive);
  end_grant(*receive);
}

// The port forgot the handle when the payload was kept.
void Receiver::on_kept_lost(const NiPort& port, RxHandle rx) {
  core_.receives.for_each_lent([&](Receive& receive) {
    if (receive.forwarded && receive.port == &port && receive.rx == rx)
      receive.forwarding.lost = true;
  });
}

// A payload that its LND keeps is not in memory; the payload of a GET with an open sink has left.
void Receiver::show(MessageTap& tap, const Receive& receive) const {
  const bool carries =
      receive.header.type == MessageType::kPut || receive.header.type == MessageType::kReply;
  Payload payload;
  if (receive.status && carries && !receive.forwarded && !receive.ended_by_owner()) {
    payload = receive.grant.window;
  } else if (receive.status && receive.forwarded && receive.forwarding.keeper == nullptr) {
    payload = core_.buffers.payload(receive.forwarding.buffer, receive.header.payload_length);
  }
  tap.on_message({.header = receive.header,
                  .way = receive.status ? TapWay::kReceived : TapWay::kDropped,
                  .cause = Cause::kReceiveFailed,
                  .interface = receive.port->ni().nid,
                  .hop = receive.from,
                  .payload = payload,
                  .when = core_.now});
}

inline void Receiver::count(Receive& receive, Health health) {
  const MessageType type = receive.header.type;
  NiPort& port = *receive.port;
  if (receive.status) {
    if (!receive.forwarded && receive.match != Match::kPassedOn)
      core_.statistics.add(Statistic::kReceiveCount);
    if (receive.forwarded) {
      // Counted after it has been sent, as in the kernel.
    } else if (type == MessageType::kPut || type == MessageType::kReply) {
      core_.statistics.add(Statistic::kReceiveLength, receive.grant.accepted_length);
    } else if (receive.reply_by_lnd) {
      core_.statistics.add(Statistic::kSendLength, receive.grant.accepted_length);
    }
    port.traffic.add(traffic_id(TrafficWay::kReceived, type));
    if (receive.peer != nullptr) {
      receive.peer->traffic.add(traffic_id(TrafficWay::kReceived, type));
    }
  } else {
    core_.causes.add(Cause::kReceiveFailed);
    if (health != Health::kOk) core_.statistics.add(statistic_of(health));
  }
  if (receive.peer != nullptr) {
    core_.judge_received(port.ni(), *receive.peer->peer_ni, receive.status, health);
  }
}

void Receiver::end_gone(Receive& receive) {
  PLNET_CHECK(receive.gone.get() && !receive.linked(),
              "a message without its connection waits in no queue");
  if (receive.ended_by_owner()) {  // the owner has delivered the event of the ACK
    receive.status = {};
    count(receive, Health::kOk);
    return on_grant_ended(receive);
  }
  core_.tap_drop(receive, Cause::kDroppedConnectionLost);
  core_.drop(Cause::kDroppedConnectionLost, receive.header.payload_length);
  receive.port->traffic.add(traffic_id(TrafficWay::kDropped, receive.header.type));
  if (!receive.matched()) return give_back(receive);
  receive.status = std::unexpected(Errc::kReset);
  end_grant(receive);
}

void Receiver::end_grant(Receive& receive) {
  PLNET_DEBUG_CHECK(receive.matched() && !receive.forwarded, "the message has a grant");
  PLNET_DEBUG_CHECK(receive.origin == core_.id, "a message ends on the shard that received it");
  if (receive.ended_by_owner()) return on_grant_ended(receive);
  if (receive.owner == core_.id) {
    search.end_grant_here(receive);
    return on_grant_ended(receive);
  }
  receive.enter(ReceiveState::kEnding);
  core_.post(receive, receive.owner, ParcelStep::kFinish);
}

void Receiver::on_grant_ended(Receive& receive) {
  PLNET_DEBUG_CHECK(receive.origin == core_.id, "a message ends on the shard that received it");
  PLNET_DEBUG_CHECK(!receive.forwarded, "only a message for this node is acknowledged");
  const bool acknowledge = receive.header.type == MessageType::kPut && receive.status &&
                           receive.grant.ack_allowed &&
                           !receive.header.area<PutArea>().ack_handle.is_none();
  if (acknowledge) return sender_.originator.answer(receive);
  give_back(receive);
}

void Receiver::on_answered(Receive& receive, Result<void> status) {
  PLNET_DEBUG_CHECK(receive.is(ReceiveState::kLeaving), "an answer was sent for this message");
  PLNET_DEBUG_CHECK(receive.origin == core_.id,
                    "an answer ends on the shard that received the request");
  if (receive.forwarded && !status) core_.causes.add(Cause::kForwardFailed);
  if (receive.forwarded || receive.header.type == MessageType::kPut) return give_back(receive);
  receive.status = status;
  end_grant(receive);
}

}  // namespace plnet::lnet
