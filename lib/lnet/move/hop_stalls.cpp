// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/move/hop_stalls.hpp"

#include "lib/base/check.hpp"
#include "lib/lnet/move/shard_core.hpp"

namespace plnet::lnet {

// Calls visit(hop) for each forwarded message that waits on this shard for an NI credit.
template <class Visit>
void HopStalls::for_each_without_ni_credit(Visit&& visit) {
  for (NiPort* const port : core_.ports) {
    if (port == nullptr || port->tx_credits() >= 0) continue;
    port->for_each_waiting([&](Message& message) {
      PeerPort* const hop = message.hop == nullptr ? nullptr : core_.peers.find(*message.hop);
      if (hop != nullptr && message.routed) visit(*hop);
    });
  }
}

// A hop without a message at its LND has not stalled: other hops may hold the credits that it
// needs. A message whose payload is not complete waits for its client, not for the hop.
bool HopStalls::has_stalled(const Receive& receive) const {
  const Forwarding& forwarding = receive.forwarding;
  if (!receive.forwarded || !receive.is(ReceiveState::kLeaving)) return false;
  if (!forwarding.has_buffer || forwarding.hop == nullptr) return false;
  const PeerPort& hop = *forwarding.hop;
  if (hop.hop.stalled || core_.now - hop.hop.moved < kHopStall) return false;
  if (hop.hop.handed <= hop.waits_for_ni + hop.waiting_count) return false;
  const bool holds_up_client = forwarding.has_credit && forwarding.client->client.waiting_count > 0;
  return holds_up_client || hop.hop.waits();
}

void HopStalls::sweep() {
  if (!core_.forwarder.something_waits()) return;
  core_.sweep_wanted = true;
  bool stalled = false;
  for_each_without_ni_credit([](PeerPort& hop) { ++hop.waits_for_ni; });
  core_.receives.for_each_lent([&](Receive& receive) {
    if (!has_stalled(receive)) return;
    stall(*receive.forwarding.hop);
    stalled = true;
  });
  for_each_without_ni_credit([](PeerPort& hop) { hop.waits_for_ni = 0; });
  if (!stalled) return;
  core_.receives.for_each_lent([&](Receive& receive) {
    const Forwarding& forwarding = receive.forwarding;
    if (!receive.forwarded || !forwarding.has_buffer || forwarding.hop == nullptr) return;
    if (forwarding.hop->hop.stalled) core_.forwarder.clients.give_credit(receive);
  });
}

void HopStalls::stall(PeerPort& hop) {
  PLNET_CHECK(!hop.hop.stalled, "a hop stalls once");
  PLNET_CHECK(hop.hop.handed > 0 && hop.hop.handed <= hop.hop.held,
              "a stalled hop has taken none of its buffers");
  hop.hop.stalled = true;
  for (HopQueue& queue : hop.hop.queues) {
    while (Receive* const receive = queue.waiting.front()) {
      core_.forwarder.hops.leave_queue(*receive);
      core_.forwarder.decide(*receive, core_.drop(*receive, Cause::kDroppedHopStalled));
    }
  }
  PLNET_CHECK(!hop.hop.waits(), "no message waits for a stalled hop");
}

}  // namespace plnet::lnet
