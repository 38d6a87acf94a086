// SPDX-License-Identifier: BSD-3-Clause
// What is to be forwarded and does not get there: its next hop is down or takes nothing, routing
// ends, its client or its hop goes.
#include "lib/lnet/move/forwarder.hpp"
#include "lib/lnet/move/shard_core.hpp"
#include "lib/lnet/paths/path_selection.hpp"

namespace plnet::lnet {

void Forwarder::end_down() {
  if (core_.waits.waiting(Wait::kBuffer) == 0) return;
  for (const BufferClass each : kAllBufferClasses) {
    in_turn_[each].for_each([&](HopQueue& queue) {
      queue.waiting.for_each([&](Receive& receive) {
        const bool has_one = has_way(receive);
        if (has_one && !is_down(receive)) return;
        leave_queue(receive);
        if (!has_one) return ask_again(receive);
        lose_hop(receive);
      });
    });
  }
}

bool Forwarder::may_avoid(const PeerNi& hop, bool is_router, const MessageHeader& header) const {
  return is_router || (has_others(hop) && may_take_any_nid(header));
}

// The choice, made once more, avoids this one, and what it finds is down or not.
void Forwarder::lose_hop(Receive& receive) {
  const Forwarding& way = receive.forwarding;
  if (!may_avoid(*way.next_hop, way.via_router, receive.header))
    return decide(receive, refuse_down(receive));
  core_.judge_down(*way.ni, *way.next_hop);
  ask_again(receive);
}

// What comes back later finds out in admit().
// lustre-release lnet/lnet/router.c: lnet_rtrpool_free_bufs(), lnet_drop_routed_msgs_locked()
void Forwarder::end_waiting() {
  if (!something_waits()) return;
  core_.receives.for_each_lent([&](Receive& receive) {
    if (receive.is(ReceiveState::kBufferWait)) {
      leave_queue(receive);
    } else if (receive.is(ReceiveState::kCreditWait)) {
      give_credit(receive);
    } else {
      return;
    }
    decide(receive, core_.drop(receive, Cause::kDroppedNotRouting));
  });
}

// The next hops of what waits on this shard for a credit of an interface.
template <class Visit>
void Forwarder::for_each_without_ni_credit(Visit&& visit) {
  for (NiPort* const port : core_.ports) {
    if (port == nullptr || port->tx_credits() >= 0) continue;
    port->for_each_waiting([&](Message& message) {
      PeerPort* const hop = message.hop == nullptr ? nullptr : core_.peers.find(*message.hop);
      if (hop != nullptr && message.routed) visit(*hop);
    });
  }
}

// One that has nothing with its LND takes nothing, and others may hold the credits that it would
// need: that says nothing of it.
void Forwarder::sweep() {
  if (!something_waits()) return;
  core_.sweep_wanted = true;
  bool stalled = false;
  for_each_without_ni_credit([](PeerPort& hop) { ++hop.waits_for_ni; });
  core_.receives.for_each_lent([&](Receive& receive) {
    const Forwarding& forwarding = receive.forwarding;
    // One that is not whole yet waits for its client, not for the hop.
    if (!receive.forwarded || !receive.is(ReceiveState::kLeaving)) return;
    if (!forwarding.has_buffer || forwarding.hop == nullptr) return;
    PeerPort& hop = *forwarding.hop;
    if (hop.hop.stalled || core_.now - hop.hop.moved < kHopStall) return;
    if (hop.hop.handed <= hop.waits_for_ni + hop.waiting_count) return;
    const bool holds_up_client =
        forwarding.has_credit && forwarding.client->client.waiting_count > 0;
    if (!holds_up_client && !hop.hop.waits()) return;
    stall(hop);
    stalled = true;
  });
  for_each_without_ni_credit([](PeerPort& hop) { hop.waits_for_ni = 0; });
  if (!stalled) return;
  core_.receives.for_each_lent([&](Receive& receive) {
    const Forwarding& forwarding = receive.forwarding;
    if (!receive.forwarded || !forwarding.has_buffer || forwarding.hop == nullptr) return;
    if (forwarding.hop->hop.stalled) give_credit(receive);
  });
}

void Forwarder::stall(PeerPort& hop) {
  hop.hop.stalled = true;
  for (HopQueue& queue : hop.hop.queues) {
    while (Receive* const receive = queue.waiting.front()) {
      leave_queue(*receive);
      decide(*receive, core_.drop(*receive, Cause::kDroppedHopStalled));
    }
  }
}

bool Forwarder::leave(Receive& receive) {
  const bool waited =
      receive.is(ReceiveState::kCreditWait) || receive.is(ReceiveState::kBufferWait);
  if (waited) give_all(receive);
  return waited;
}

bool Forwarder::something_waits() const {
  return core_.waits.waiting(Wait::kBuffer) + core_.waits.waiting(Wait::kClientCredit) > 0;
}

bool Forwarder::leave_client(Receive& receive) {
  if (!receive.is(ReceiveState::kCreditWait)) return false;
  give_credit(receive);
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
      give_credit(receive);
      forwarding.client = nullptr;
    }
    if (forwarding.hop != &peer) return;
    forwarding.next_hop = nullptr;
    if (!receive.is(ReceiveState::kBufferWait)) return discharge(receive);
    leave_queue(receive);
    ask_again(receive);
  });
}

}  // namespace plnet::lnet
