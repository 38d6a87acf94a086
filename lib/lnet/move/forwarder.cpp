// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/move/forwarder.hpp"

#include <new>

#include "lib/base/check.hpp"
#include "lib/lnet/move/sender.hpp"
#include "lib/lnet/move/shard_core.hpp"
#include "lib/lnet/paths/health_rules.hpp"

namespace plnet::lnet {

void Forwarder::begin(Receive& receive) {
  PLNET_CHECK(receive.forwarded && receive.is(ReceiveState::kArrived),
              "forwarding begins with a header that has just arrived");
  PLNET_DEBUG_CHECK(!receive.forwarding.has_credit && !receive.forwarding.has_buffer &&
                        receive.forwarding.hop == nullptr && receive.forwarding.keeper == nullptr,
                    "a message that ended has given back all that it held");
  receive.forwarding = {};
  ++under_way_;
}

RxDecision Forwarder::admit(Receive& receive, const MessageHeader& header) {
  PLNET_CHECK(receive.forwarded && receive.origin == core_.id,
              "a message is forwarded by the shard that received it");
  PLNET_DEBUG_CHECK(!receive.forwarding.has_buffer && receive.forwarding.hop == nullptr,
                    "a message is admitted before it has a buffer");
  if (!core_.shared.parameters.routes()) [[unlikely]]
    return core_.drop(receive, Cause::kDroppedNotRouting);
  if (!receive.forwarding.has_credit && !clients.take_credit(receive)) {
    return {.verdict = RxVerdict::kPark};
  }
  return find_path(receive, header);
}

inline RxDecision Forwarder::find_path(Receive& receive, const MessageHeader& header) {
  const LookedAhead::Destination destination = core_.destination_of(header.destination);
  if (destination.peer_ni == nullptr) {
    // A NID on an unreachable network does not become a peer.
    if (!paths.leads_anywhere(header.destination.net()))
      return core_.drop(receive, Cause::kDroppedForwardNoPath);
    return core_.park(receive, ReceiveState::kDestinationWait, core_.shared.coordinator,
                      ParcelStep::kWantPeer);
  }
  const auto refused = paths.choose(receive, *destination.peer_ni, destination.gateway);
  if (refused) return core_.drop(receive, *refused);
  return hops.take_buffer(receive, header.payload_length);
}

void Forwarder::send(Receive& receive) {
  PLNET_DEBUG_CHECK(receive.status.has_value(), "only a complete payload goes on");
  hops.on_payload_complete(receive);
  Message* const message = core_.messages.take();
  PLNET_CHECK(message != nullptr, "a message with a router buffer was promised a record");
  message->start(receive.header.type, core_.id, core_.shared.pid, core_.now);
  message->routed = true;
  message->answers = &receive;
  message->header = receive.header;
  message->target = {receive.header.destination, receive.header.destination_pid};
  message->source = core_.buffers.payload(receive.forwarding.buffer, receive.header.payload_length);
  message->kept = receive.forwarding.keeper != nullptr;
  sender_->launcher.add(*message);
}

// The path was chosen when the header arrived; it is chosen again if an attempt by it has failed.
// Without a deadline: only the users of the message know how long they wait (lustre-release
// lnet/lnet/lib-move.c: lnet_check_message_drop()).
void Forwarder::launch(Message& message) {
  PLNET_DEBUG_CHECK(message.answers != nullptr && message.origin == core_.id,
                    "a forwarded message names the record that holds its payload");
  PLNET_DEBUG_CHECK(message.routed && message.ni == nullptr,
                    "a forwarded message gets its next hop");
  Receive& receive = *message.answers;
  const bool has_path = paths.has_path(receive);
  const bool failed = message.retries > 0;
  if (!has_path || failed || (message.detours > 0 && ForwardPaths::is_down(receive))) {
    PeerNi* const target = core_.shared.directory->find(message.target.nid);
    if (target == nullptr)
      return sender_->launcher.ask_coordinator(message, SendState::kTargetWait,
                                               ParcelStep::kWantPeer);
    if (!find_other_path(receive, *target)) return drop(message, Errc::kNoRoute, Cause::kTxNoPath);
  }
  const Forwarding& path = receive.forwarding;
  PLNET_DEBUG_CHECK(path.ni != nullptr && path.next_hop != nullptr,
                    "a message that leaves has a path");
  message.ni = path.ni;
  ++core_.ni_users[path.ni->number];
  message.hop = path.next_hop;
  message.next_hop_is_router = path.via_router;
  message.header.destination = path.destination;
  sender_->hops.to_home(message);
}

bool Forwarder::find_other_path(Receive& receive, PeerNi& destination) {
  if (paths.choose(receive, destination, {})) return false;
  hops.move_to(receive, core_.peers.get(*receive.forwarding.next_hop));
  return true;
}

void Forwarder::drop(Message& message, Errc code, Cause cause) {
  PLNET_CHECK(message.routed && message.hop == nullptr, "a message with a hop ends at its home");
  PLNET_DEBUG_CHECK(message.answers != nullptr,
                    "a forwarded message names the record that holds its payload");
  core_.tap_drop(message, cause);
  core_.drop(cause, message.header.payload_length);
  message.answers->port->traffic.add(traffic_id(TrafficWay::kDropped, message.header.type));
  SendVerdicts::end_with(message, code, health_of_no_path(code));
  sender_->ends.end(message);
}

void Forwarder::give_back(Receive& receive) {
  PLNET_CHECK(under_way_ > 0, "a forwarded message that ends has begun");
  give_all(receive);
  PLNET_DEBUG_CHECK(!receive.forwarding.has_credit && !receive.forwarding.has_buffer &&
                        receive.forwarding.hop == nullptr,
                    "a message that ends gives back all that it holds");
  --under_way_;
}

void Forwarder::give_all(Receive& receive) {
  bring(receive);
  if (receive.is(ReceiveState::kBufferWait)) hops.leave_queue(receive);
  hops.give_buffer(receive);
  clients.give_credit(receive);
}

// Counted where it would have left, and as a failure of the next hop's health, as in the kernel
// (lustre-release lnet/lnet/lib-move.c: lnet_post_send_locked()).
RxDecision Forwarder::refuse_down(Receive& receive) {
  const Forwarding& path = receive.forwarding;
  PLNET_DEBUG_CHECK(path.ni != nullptr && path.next_hop != nullptr,
                    "a message for a lost hop has a path");
  core_.tap_drop(receive, Cause::kDroppedHopDown);
  core_.drop(Cause::kDroppedHopDown, receive.header.payload_length);
  core_.statistics.add(Statistic::kRemoteDropped);
  const LnetTraffic::Id dropped = traffic_id(TrafficWay::kDropped, receive.header.type);
  if (NiPort* const port = core_.ports[path.ni->number]) port->traffic.add(dropped);
  if (PeerPort* const hop = core_.peers.find(*path.next_hop)) hop->traffic.add(dropped);
  core_.judge_down(*path.ni, *path.next_hop);
  return {.verdict = RxVerdict::kDrop, .reason = Errc::kNoRoute, .link = receive.link};
}

void Forwarder::admit_again(Receive& receive) {
  PLNET_DEBUG_CHECK(receive.is(ReceiveState::kResumed),
                    "a message that is judged again has ended its wait");
  receive.outcome = {};
  core_.post(receive, core_.id, ParcelStep::kWaitOver);
}

void Forwarder::decide(Receive& receive, const RxDecision& decision) {
  PLNET_CHECK(decision.verdict != RxVerdict::kPark, "a decision ends the wait of an LND");
  ::new (&receive.decision) RxDecision(decision);
  core_.decide(receive);
}

// The second choice avoids this hop; its result may be down as well.
void Forwarder::on_hop_lost(Receive& receive) {
  PLNET_CHECK(receive.forwarding.next_hop != nullptr && !receive.linked(),
              "a message whose hop is lost waits in no queue");
  const Forwarding& path = receive.forwarding;
  if (!paths.may_avoid(*path.next_hop, path.via_router, receive.header))
    return decide(receive, refuse_down(receive));
  core_.judge_down(*path.ni, *path.next_hop);
  admit_again(receive);
}

void Forwarder::end_down() {
  if (core_.waits.waiting(Wait::kBuffer) == 0) return;
  hops.for_each_waiting([&](Receive& receive) {
    const bool has_path = paths.has_path(receive);
    if (has_path && !ForwardPaths::is_down(receive)) return;
    hops.leave_queue(receive);
    if (!has_path) return admit_again(receive);
    on_hop_lost(receive);
  });
}

// Messages that other shards hold meet this in admit() when they come back. lustre-release
// lnet/lnet/router.c: lnet_rtrpool_free_bufs(), lnet_drop_routed_msgs_locked()
void Forwarder::end_waiting() {
  if (!something_waits()) return;
  core_.receives.for_each_lent([&](Receive& receive) {
    if (receive.is(ReceiveState::kBufferWait)) {
      hops.leave_queue(receive);
    } else if (receive.is(ReceiveState::kCreditWait)) {
      clients.give_credit(receive);
    } else {
      return;
    }
    decide(receive, core_.drop(receive, Cause::kDroppedNotRouting));
  });
}

bool Forwarder::something_waits() const {
  return core_.waits.waiting(Wait::kBuffer) + core_.waits.waiting(Wait::kClientCredit) > 0;
}

bool Forwarder::leave(Receive& receive) {
  const bool waited =
      receive.is(ReceiveState::kCreditWait) || receive.is(ReceiveState::kBufferWait);
  if (waited) give_all(receive);
  return waited;
}

bool Forwarder::leave_client(Receive& receive) {
  if (!receive.is(ReceiveState::kCreditWait)) return false;
  clients.give_credit(receive);
  return true;
}

void Forwarder::forget(PeerPort& peer) {
  const bool used =
      peer.client.credits != peer.client.credits_max || peer.hop.held > 0 || peer.hop.waits();
  if (!used) return;
  core_.receives.for_each_lent([&](Receive& receive) {
    if (!receive.forwarded) return;
    Forwarding& forwarding = receive.forwarding;
    if (forwarding.client == &peer) {
      PLNET_CHECK(!receive.is(ReceiveState::kCreditWait),
                  "a message that waits for a client credit leaves with the link of its client");
      clients.give_credit(receive);
      forwarding.client = nullptr;
    }
    if (forwarding.hop != &peer) return;
    forwarding.next_hop = nullptr;
    if (!receive.is(ReceiveState::kBufferWait)) return hops.discharge(receive);
    hops.leave_queue(receive);
    admit_again(receive);
  });
  PLNET_CHECK(peer.client.used() == 0 && peer.hop.held == 0 && !peer.hop.waits(),
              "no message counts for a port that is about to be free");
}

}  // namespace plnet::lnet
