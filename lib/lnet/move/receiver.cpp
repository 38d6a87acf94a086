// SPDX-License-Identifier: BSD-3-Clause
// The first half of a message's way in: from its header to the decision.
#include "lib/lnet/move/receiver.hpp"

#include <algorithm>
#include <new>

#include "lib/lnet/move/sender.hpp"
#include "lib/lnet/paths/route_aliveness.hpp"

namespace plnet::lnet {

namespace {
constexpr std::int64_t kPingedStep = 1'000'000'000;  // written no more often
}

RxDecision Receiver::on_header(NiPort& port, const RxOffer& offer) {
  const bool routes = core_.shared.parameters.routes();
  const HeaderRuling ruling = rule_on_header(offer, port.ni(), core_.local(), routes);
  if (routes) hear_ping(port, offer);
  if (ruling.verdict != HeaderVerdict::kReject && ruling.cause != Cause::kDroppedNid) {
    core_.load.saw(offer.header, port.ni().net, core_.now);
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
  Decision decision = meet_sender(receive, offer.header);
  if (decision.verdict == RxVerdict::kPark) {
    decision.link = offer.link;
  } else if (decision.verdict == RxVerdict::kReceive) {
    receive.enter(ReceiveState::kPayload);
  } else {
    port.forget(receive);
    give_back(receive);
  }
  return decision;
}

// lustre-release lnet/lnet/lib-move.c: lnet_parse(); to the second, as there.
void Receiver::hear_ping(NiPort& port, const RxOffer& offer) {
  if (!is_ping_of_another(offer.header, core_.local())) return;
  Ni& ni = port.ni();
  const std::int64_t now_ns = core_.now.time_since_epoch().count();
  if (ni.pinged_ns.get() <= now_ns - kPingedStep) ni.pinged_ns.set(now_ns);
  if (ni.status.get() == kNiUp || ni.revived.exchange(true)) return;
  tell_coordinator();
}

void Receiver::tell_coordinator() {
  core_.tell_of_ni();
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
  }
  port.hold();
  port.hear(core_.now);
  port.remember(*receive);
  core_.message_begins();
  return receive;
}

// The sender gets a peer NI if it has none yet, and the LND a link to it.
inline Receiver::Decision Receiver::meet_sender(Receive& receive, const MessageHeader& header) {
  if (receive.link == nullptr && !receive.port->ni().nid.is_loopback()) {
    if (receive.port->closing()) {  // it lets go of its links
      receive.cause = Cause::kDroppedShutdown;
      return drop(receive);
    }
    PeerNi* const from = core_.shared.directory->find(receive.from);
    if (from == nullptr) {
      return park(receive, ReceiveState::kSenderWait, core_.shared.coordinator,
                  ParcelStep::kWantPeer);
    }
    receive.peer = core_.peers.get(*from);
    if (receive.peer != nullptr) {
      receive.link = core_.peers.link(*receive.peer, receive.port->ni().number);
    }
    if (receive.link == nullptr) {
      receive.cause = Cause::kDroppedNoPeer;
      return drop(receive);
    }
  }
  return begin(receive, header);
}

// Judges a message whose sender is not its source. A source on the sender's network would have sent
// it directly, so that NID has to be one of the sender's: a node sends by the NID of the NI that it
// sends from (lustre-release lnet/lnet/lib-move.c: lnet_handle_send()). The kernel accepts any NID.
bool Receiver::may_come_so(Receive& receive, const Nid& source) {
  const PeerNi& sender = *receive.peer->peer_ni;
  if (source.net() != sender.net) {
    receive.cause = Cause::kDroppedAsymRoute;
    return came_by_a_good_way(receive);
  }
  const PeerNi* const named = core_.shared.directory->find(source);
  if (named != nullptr &&
      named->peer.load(std::memory_order_acquire) == sender.peer.load(std::memory_order_acquire))
    return true;
  receive.cause = Cause::kDroppedForeignSource;
  core_.complaints->tell(sender.nid, "dropped_foreign_source");
  return false;
}

// A message that came through a gateway: of one thought dead it is a sign of life; and it may be
// that this node would not answer by it (lustre-release lnet/lnet/lib-move.c: lnet_parse()).
bool Receiver::came_by_a_good_way(const Receive& receive) const {
  const Parameters& parameters = core_.shared.parameters;
  Peer* const gateway = receive.peer->peer_ni->peer.load(std::memory_order_acquire);
  const bool asked = !receive.forwarded && parameters.drop_asym_route.get() != 0;
  const bool dead = gateway != nullptr && !gateway->alive.get();
  if (!asked && !dead) return true;
  const NetId source_net = receive.header.source.net();
  const RemoteNet* const net = core_.routes().net(source_net);
  const auto is_through_it = [&](const Route* route) {
    return route->gateway.load(std::memory_order_acquire) == gateway;
  };
  const bool answers = net != nullptr && std::ranges::any_of(net->routes, is_through_it);
  if (asked && !answers) return false;
  if (dead) {
    const bool undiscovered =
        parameters.discovery.get() == 0 || !gateway->multi_rail() || gateway->is(kPeerNoDiscovery);
    revive_gateway(*gateway, core_.routes(),
                   {.net = source_net,
                    .discovery_disabled = undiscovered,
                    .avoid_asym_router_failure = parameters.avoid_asym_router_failure.get() != 0});
    core_.tell_of_gateway(kGatewayHeard);
  }
  return true;
}

inline Receiver::Decision Receiver::begin(Receive& receive, const MessageHeader& header) {
  PeerNi* source = receive.peer == nullptr ? nullptr : receive.peer->peer_ni;
  const bool by_its_sender = source == nullptr || header.source == source->nid;
  if (!by_its_sender && !may_come_so(receive, header.source)) [[unlikely]]
    return drop(receive);
  receive.initiator = header.source;
  if (source != nullptr) {
    source->last_alive_ns.set(core_.now.time_since_epoch().count());
    if (source->status.get() != kNiUp) [[unlikely]] {
      source->status.set(kNiUp);
      core_.tell_of(*source, kGatewayHeard);
    }
    if (receive.forwarded) {
      source = nullptr;  // who made it does not matter here
    } else if (!by_its_sender) {
      source = core_.shared.directory->find(header.source);
    }
  }
  // An only NI names its peer: that spares the look at it and its view, two cache lines.
  if (source != nullptr && (source->traits.get() & kTraitAlone) == 0) {
    const Peer* const peer = source->peer.load(std::memory_order_acquire);
    if (peer != nullptr) receive.initiator = peer->seen().primary;
  }
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

// What a rule has delayed does not come here and is of no share: the site wanted it held.
inline Receiver::Decision Receiver::take_share(Receive& receive, const MessageHeader& header) {
  if (receive.peer == nullptr) return find_match(receive, header);  // loopback
  switch (core_.shares.admit(receive)) {
    case ReceiveShares::Verdict::kGoOn: return find_match(receive, header);
    case ReceiveShares::Verdict::kWait: return {.verdict = RxVerdict::kPark};
    case ReceiveShares::Verdict::kDrop: break;
  }
  receive.cause = Cause::kDroppedPeerShare;
  return drop(receive);
}

inline Receiver::Decision Receiver::find_match(Receive& receive, const MessageHeader& header) {
  if (header.type == MessageType::kPut || header.type == MessageType::kGet) {
    return ask_here_first(receive);
  }
  return ask_owner(receive, header);
}

inline Receiver::Decision Receiver::ask_owner(Receive& receive, const MessageHeader& header) {
  const bool is_ack = header.type == MessageType::kAck;
  receive.cause = is_ack ? Cause::kDroppedAckNoMd : Cause::kDroppedReplyNoMd;
  const auto md = decode_handle(handle_of(header), core_.shared.interface_cookie);
  if (!md || md->shard >= core_.shared.shards) return drop(receive);
  receive.owner = md->shard;
  if (receive.owner == core_.id) {
    respond_here(receive, *md);
    return decide(receive);
  }
  core_.causes.add(Cause::kCrossedMatch);
  if (is_ack && pass_on(receive, header)) return accept(receive);
  return park(receive, ReceiveState::kMatchWait, receive.owner, ParcelStep::kMatch);
}

// False: it has to be asked for.
inline bool Receiver::pass_on(Receive& receive, const MessageHeader& header) {
  const bool plain = receive.initiator == header.source && receive.from == header.source &&
                     header.payload_length == 0;
  AckNote* const note = plain ? core_.ack_notes.take() : nullptr;
  if (note == nullptr) return false;
  note->origin = core_.id;
  note->header = header;
  core_.outbox.add(*note, receive.owner);
  receive.match = Match::kPassedOn;
  return true;
}

// Whoever has match entries on the portal is asked in turn, this shard first.
Receiver::Decision Receiver::ask_here_first(Receive& receive) {
  match_here(receive);
  if (const auto next = next_to_ask(receive)) {
    core_.causes.add(Cause::kCrossedMatch);
    return park(receive, ReceiveState::kMatchWait, *next, ParcelStep::kMatch);
  }
  return decide(receive);
}

inline Receiver::Decision Receiver::decide(Receive& receive) {
  if (receive.matched()) return accept(receive);
  const bool nobody = receive.cause == Cause::kDroppedPutNoMatch;
  const PortalId portal = nobody ? receive.header.area<PutArea>().portal : 0;
  if (nobody && core_.shared.portals->lazy(portal)) {
    return park(receive, ReceiveState::kLazyWait, core_.shared.portals->home(portal),
                ParcelStep::kDelay);
  }
  return drop(receive);
}

inline RxDecision Receiver::accept(const Receive& receive) {
  RxDecision decision{.verdict = RxVerdict::kReceive, .link = receive.link};
  if (receive.ended_by_owner()) return decision;
  const Payload& window = receive.grant.window;
  const bool is_get = receive.header.type == MessageType::kGet;
  if (!window.empty() && (!is_get || receive.reply_by_lnd)) {
    decision.target = window;
    decision.length = window.length;
  }
  return decision;
}

RxDecision Receiver::drop(Receive& receive) {
  return core_.drop(receive, receive.cause);
}

// A posted parcel belongs to the other shard: this shard may not write to it any more.
RxDecision Receiver::park(Receive& receive, ReceiveState wait, ShardId asked, ParcelStep step) {
  core_.waits.begin(receive, wait);
  core_.post(receive, asked, step);
  return {.verdict = RxVerdict::kPark};
}

// An answer to what was parked.
void Receiver::answer_came(Receive& receive) {
  core_.waits.end(receive);
  if (receive.gone.get()) return end_gone(receive);
  settle(receive, [&] { return decide(receive); });
}

// The decision is made where it stays: a copy would wait for all that was written before, which may
// be on its way to other shards.
template <class Decide>
void Receiver::settle(Receive& receive, Decide&& decide) {
  RxDecision* const decision = ::new (&receive.decision) RxDecision(decide());
  if (decision->verdict != RxVerdict::kPark) core_.decide(receive);
}

unsigned Receiver::resume_decided() {
  unsigned resumed = 0;
  for (; !core_.decided.empty(); ++resumed)
    resume(*core_.decided.pop_front());
  return resumed;
}

void Receiver::resume(Receive& receive) {
  if (receive.gone.get()) return end_gone(receive);
  NiPort& port = *receive.port;
  const bool receives = receive.decision.verdict == RxVerdict::kReceive;
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
  port.forget(*receive);
  if (cause == Errc::kNoSpace) core_.complaints->tell(receive->from, "dropped_parked_share");
  const bool queued = core_.shares.leave(*receive) || core_.forwarder.leave(*receive);
  receive->peer = nullptr;
  receive->link = nullptr;
  receive->gone.set(true);
  if (queued) end_gone(*receive);  // else the shard that has it returns it first
}

// The message resumes where it began to wait. Its peer may have lost the link meanwhile.
void Receiver::wait_over(Receive& receive) {
  const ReceiveState wait = receive.state.get();
  const bool was_with_coordinator =
      wait == ReceiveState::kSenderWait || wait == ReceiveState::kDestinationWait;
  if (was_with_coordinator) core_.waits.end(receive);
  if (receive.gone.get()) return end_gone(receive);
  if (was_with_coordinator && !receive.outcome) {
    receive.cause =
        wait == ReceiveState::kSenderWait ? Cause::kDroppedNoPeer : Cause::kDroppedForwardNoPeer;
    return settle(receive, [&] { return drop(receive); });
  }
  settle(receive, [&] {
    if (receive.link == nullptr) return meet_sender(receive, receive.header);
    if (receive.forwarded) return core_.forwarder.admit(receive, receive.header);
    return take_share(receive, receive.header);
  });
}

void Receiver::delay_over(Receive& receive, bool dropped) {
  core_.waits.end(receive);
  if (receive.gone.get()) return end_gone(receive);
  if (!dropped) {
    return settle(receive, [&] {
      // Its sender's link has gone meanwhile.
      if (receive.forwarded && receive.peer == nullptr) return meet_sender(receive, receive.header);
      if (receive.forwarded) return core_.forwarder.admit(receive, receive.header);
      return find_match(receive, receive.header);
    });
  }
  receive.cause = Cause::kDroppedShutdown;
  settle(receive, [&] { return drop(receive); });
}

void Receiver::take(Receive& receive) {
  switch (receive.step) {
    case ParcelStep::kWaitOver: return wait_over(receive);
    case ParcelStep::kMatch: return asked(receive);
    case ParcelStep::kMatched:
      if (receive.is(ReceiveState::kLazyWait) && receive.asker == core_.id)
        return turn_over(receive);
      return answer_came(receive);
    case ParcelStep::kDelay: return delay(receive);
    case ParcelStep::kFinish: return finish_here(receive);
    case ParcelStep::kFinished: return concluded(receive);
    default: PLNET_CHECK(false, "not a step of a receive");
  }
}

}  // namespace plnet::lnet
