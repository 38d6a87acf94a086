// SPDX-License-Identifier: BSD-3-Clause
// The conversation about a message: who has a match for it, what waits on lazy portals, how it
// ends.
#include <algorithm>
#include <utility>

#include "lib/lnet/move/receiver.hpp"
#include "lib/lnet/move/sender.hpp"

namespace plnet::lnet {

namespace {

MatchRequest request_of(const Receive& receive) {
  const MessageHeader& header = receive.header;
  MatchRequest request{.type = header.type,
                       .sender = {receive.initiator, header.source_pid},
                       .source = header.source};
  if (header.type == MessageType::kPut) {
    const auto put = header.area<PutArea>();
    request.portal = put.portal;
    request.match_bits = put.match_bits;
    request.requested_length = header.payload_length;
    request.offset = put.offset;
  } else {
    const auto get = header.area<GetArea>();
    request.portal = get.portal;
    request.match_bits = get.match_bits;
    request.requested_length = get.sink_length;
    request.offset = get.source_offset;
  }
  return request;
}

Cause cause_of(MatchCause cause, bool is_put) {
  switch (cause) {
    case MatchCause::kTooLong:
      return is_put ? Cause::kDroppedPutTooLong : Cause::kDroppedGetTooLong;
    case MatchCause::kBadPortal: return Cause::kDroppedPortal;
    default: return is_put ? Cause::kDroppedPutNoMatch : Cause::kDroppedGetNoMatch;
  }
}

bool found_nobody(const Receive& receive) {
  return !receive.matched() &&
         (receive.cause == Cause::kDroppedPutNoMatch || receive.cause == Cause::kDroppedGetNoMatch);
}

}  // namespace

void Receiver::match_here(Receive& receive) {
  const MatchAnswer result = core_.match.match(request_of(receive), receive.grant);
  receive.owner = core_.id;
  receive.match = result.matched() ? Match::kGranted : Match::kNone;
  receive.cause = cause_of(result.cause, receive.header.type == MessageType::kPut);
}

void Receiver::respond_here(Receive& receive, const MdHandle& md) {
  const MatchAnswer result =
      core_.match.respond(receive.header.type, md, receive.header.payload_length, receive.grant);
  receive.match = result.matched() ? Match::kGranted : Match::kNone;
  if (result.cause == MatchCause::kTooLong) receive.cause = Cause::kDroppedReplyTooLong;
}

// An ACK is all there with its header: what it is granted ends here at once, which spares a second
// visit. The grant does not cross.
void Receiver::acknowledge_here(Receive& receive) {
  Grant grant;
  const MatchAnswer result =
      core_.match.respond({.type = MessageType::kAck,
                           .handle = receive.header.area<AckArea>().destination,
                           .payload_length = receive.header.payload_length},
                          grant);
  receive.match = result.matched() ? Match::kEnded : Match::kNone;
  if (!result.matched()) return;
  receive.status = core_.match.finish(
      grant, ReceivedMessage{receive.header, receive.initiator, receive.from}, {});
}

// Whether it was received or dropped is known here, and so counted; its interface has counted it as
// received.
void Receiver::take(AckNote& note) {
  if (core_.ack_notes.owns(&note)) return core_.ack_notes.give(&note);
  const MessageHeader& header = note.header;
  Grant grant;
  const auto md = decode_handle(handle_of(header), core_.shared.interface_cookie);
  const MatchAnswer answer = core_.match.respond(MessageType::kAck, *md, 0, grant);
  if (answer.matched()) {
    core_.statistics.add(Statistic::kReceiveCount);
    (void)core_.match.finish(grant, ReceivedMessage{header, header.source, header.source}, {});
  } else {
    core_.tap_drop(header, Cause::kDroppedAckNoMd, header.destination, header.source);
    core_.drop(Cause::kDroppedAckNoMd, 0);
  }
  core_.outbox.add(note, note.origin);
}

void Receiver::asked(Receive& receive) {
  const MessageType type = receive.header.type;
  if (type == MessageType::kAck) {
    acknowledge_here(receive);
  } else if (type == MessageType::kReply) {
    respond_here(receive, *decode_handle(handle_of(receive.header), core_.shared.interface_cookie));
  } else {
    match_here(receive);
    if (ask_next(receive)) return;
  }
  core_.post(receive, receive.asker, ParcelStep::kMatched);
}

// The next shard in turn that has match entries on the portal. None: the turn is over.
std::optional<ShardId> Receiver::next_to_ask(const Receive& receive) const {
  const unsigned shards = core_.shared.shards;
  if (shards == 1 || !found_nobody(receive)) return std::nullopt;
  const ShardSet candidates = core_.shared.portals->shards_with_entries(portal_of(receive.header));
  for (unsigned shard = (core_.id + 1U) % shards; shard != receive.first_asked;
       shard = (shard + 1U) % shards) {
    if (candidates[shard]) return static_cast<ShardId>(shard);
  }
  return std::nullopt;
}

bool Receiver::ask_next(Receive& receive) {
  const auto next = next_to_ask(receive);
  if (next) core_.post(receive, *next, ParcelStep::kMatch);
  return next.has_value();
}

// --- At the home of a lazy portal ---

void Receiver::delay(Receive& receive) {
  receive.asker = receive.first_asked = core_.id;
  ask_all(receive);
}

// Who has lost its connection takes no entry from those who have theirs.
void Receiver::ask_all(Receive& receive) {
  if (receive.gone.get()) return leave_delayed(receive);
  receive.attach_epoch = attach_epoch_;
  match_here(receive);
  if (!ask_next(receive)) turn_over(receive);
}

// Nobody had a match. An entry that came to a shard after it was asked has moved the epoch.
void Receiver::turn_over(Receive& receive) {
  if (!found_nobody(receive)) return leave_delayed(receive);
  if (!core_.shared.portals->lazy(portal_of(receive.header))) {
    receive.cause = Cause::kDroppedLazyCleared;
    return leave_delayed(receive);
  }
  if (receive.attach_epoch != attach_epoch_) return ask_all(receive);
  delayed_.push_back(receive);
  core_.sweep_wanted = true;
}

void Receiver::leave_delayed(Receive& receive) {
  if (receive.origin == core_.id) return answer_came(receive);
  core_.post(receive, receive.origin, ParcelStep::kMatched);
}

void Receiver::retry_delayed() {
  ++attach_epoch_;
  WaitQueue<Receive> again;
  again.take_all(delayed_);
  while (Receive* const receive = again.pop_front())
    ask_all(*receive);
}

void Receiver::sweep_delayed() {
  delayed_.for_each([&](Receive& receive) {
    if (!receive.gone.get()) return;
    receive.unlink();
    leave_delayed(receive);
  });
  if (!delayed_.empty()) core_.sweep_wanted = true;
}

// --- The end ---

void Receiver::on_received(NiPort& port, RxHandle rx, Result<void> status, Health health) {
  Receive* const receive = port.find(rx);
  PLNET_CHECK(receive != nullptr && receive->is(ReceiveState::kPayload),
              "a message is received once");
  port.forget(*receive);
  receive->status = status;
  if (MessageTap* const tap = core_.tap()) [[unlikely]]
    show(*tap, *receive);
  count(*receive, health);
  receive->peer = nullptr;  // it may be gone before the conversation is over
  receive->link = nullptr;
  if (receive->forwarded) return status ? sender_.answer(*receive) : give_back(*receive);
  const bool wants_reply =
      receive->header.type == MessageType::kGet && !receive->reply_by_lnd && status.has_value();
  if (wants_reply) return sender_.answer(*receive);
  conclude(*receive);
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
  tap.saw({.header = receive.header,
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
      // Counted when it has been sent, as in the kernel.
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
  if (receive.ended_by_owner()) {  // the ACK had arrived
    receive.status = {};
    count(receive, Health::kOk);
    return concluded(receive);
  }
  core_.tap_drop(receive, Cause::kDroppedConnectionLost);
  core_.drop(Cause::kDroppedConnectionLost, receive.header.payload_length);
  receive.port->traffic.add(traffic_id(TrafficWay::kDropped, receive.header.type));
  if (!receive.matched()) return give_back(receive);
  receive.status = std::unexpected(Errc::kReset);
  conclude(receive);
}

void Receiver::conclude(Receive& receive) {
  if (receive.ended_by_owner()) return concluded(receive);
  if (receive.owner == core_.id) return finish_here(receive);
  receive.enter(ReceiveState::kEnding);
  core_.post(receive, receive.owner, ParcelStep::kFinish);
}

void Receiver::finish_here(Receive& receive) {
  receive.status = core_.match.finish(
      receive.grant, ReceivedMessage{receive.header, receive.initiator, receive.from},
      receive.status);
  if (receive.origin == core_.id) return concluded(receive);
  core_.post(receive, receive.origin, ParcelStep::kFinished);
}

void Receiver::concluded(Receive& receive) {
  const bool acknowledge = receive.header.type == MessageType::kPut && receive.status &&
                           receive.grant.ack_allowed &&
                           !receive.header.area<PutArea>().ack_handle.is_none();
  if (acknowledge) return sender_.answer(receive);
  give_back(receive);
}

void Receiver::on_answered(Receive& receive, Result<void> status) {
  if (receive.forwarded && !status) core_.causes.add(Cause::kForwardFailed);
  if (receive.forwarded || receive.header.type == MessageType::kPut) return give_back(receive);
  receive.status = status;
  conclude(receive);
}

// While discovery does not tell which of its interfaces can be reached, the fault may be ours, and
// nearly all messages leave by another of our interfaces. lustre-release, after 2.17,
// lnet/lnet/router.c: lnet_local_ni_superseded()
bool Receiver::is_said_by_the_worse(const Peer& gateway, const Ni& ni) const {
  const bool discovery = core_.shared.parameters.discovery.get() != 0;
  const Net* const net = core_.local().net(ni.net);
  if ((discovery && !gateway.is(kPeerNoDiscovery)) || net == nullptr) return false;
  const auto worth = [](const Ni& each) { return std::pair(!each.fatal.get(), each.health.get()); };
  return std::ranges::any_of(net->nis, [&](const Ni* other) { return worth(*other) > worth(ni); });
}

// lustre-release lnet/lnet/router.c: lnet_notify()
void Receiver::note_connection(const NiPort& port, PeerNi& peer_ni, PeerNotice notice) {
  if (notice == PeerNotice::kDown || !port.lnd().traits().connects) return;
  const std::uint16_t bit = connection_bit(port.ni());
  const auto others = static_cast<std::uint16_t>(peer_ni.connected_by.get() & ~bit);
  const auto with_it = static_cast<std::uint16_t>(others | bit);
  peer_ni.connected_by.set(notice == PeerNotice::kLost ? others : with_it);
}

void Receiver::note_reach(const NiPort& port, PeerNi& peer_ni, std::optional<Errc> trouble) {
  core_.reach->note(peer_ni.reach, {.nid = peer_ni.nid,
                                    .ni = port.ni().nid,
                                    .trouble = trouble,
                                    .silent = peer_ni.since_heard(core_.now)});
}

// Another of our NIs may have a connection to it.
void Receiver::on_unreachable(const NiPort& port, const Nid& nid, Errc cause) {
  PeerNi* const peer_ni = core_.shared.directory->find(nid);
  if (peer_ni == nullptr || peer_ni->net != port.ni().net) return;
  if (port.lnd().traits().connects && peer_ni->connected_by.get() != 0) return;
  note_reach(port, *peer_ni, cause);
}

void Receiver::on_peer(NiPort& port, const Nid& nid, PeerNotice notice, Instant when) {
  PeerNi* const peer_ni = core_.shared.directory->find(nid);
  if (peer_ni == nullptr || peer_ni->net != port.ni().net || when > core_.now) return;
  note_connection(port, *peer_ni, notice);
  if (notice == PeerNotice::kLost)
    return peer_ni->losses.set(static_cast<std::uint16_t>(peer_ni->losses.get() + 1));
  if (notice == PeerNotice::kDown) {
    if (core_.shared.parameters.auto_down.get() == 0) return;
    const Peer* const peer = peer_ni->peer.load(std::memory_order_acquire);
    const bool is_gateway = peer != nullptr && core_.routes().is_gateway(*peer);
    if (is_gateway && is_said_by_the_worse(*peer, port.ni())) return;
    peer_ni->status.set(kNiDown);
    // What waits for a gateway has another way when the coordinator has judged its routes.
    if (!is_gateway) return core_.shared.tell_of_lost_hop();
    mute_gateway(*peer, core_.routes());
    return core_.tell_of_gateway(kGatewayTold);
  }
  note_reach(port, *peer_ni, std::nullopt);
  if (when.time_since_epoch().count() < peer_ni->last_alive_ns.get()) return;
  peer_ni->last_alive_ns.set(when.time_since_epoch().count());
  if (peer_ni->status.exchange(kNiUp) != kNiUp) core_.tell_of(*peer_ni, kGatewayTold);
  if (notice == PeerNotice::kAliveAfterRestart) peer_ni->health.set(kHealthMax);
}

}  // namespace plnet::lnet
