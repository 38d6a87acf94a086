// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/move/source_rules.hpp"

#include <algorithm>

#include "lib/lnet/paths/route_aliveness.hpp"

namespace plnet::lnet {

// A source on the sender's network would have sent the message directly, so that NID has to be one
// of the sender's: a node sends by the NID of the NI that it sends from (lustre-release
// lnet/lnet/lib-move.c: lnet_handle_send()). The kernel accepts any NID.
std::optional<Cause> SourceRules::refuse(const Receive& receive, const Nid& source) const {
  PLNET_CHECK(receive.peer != nullptr, "the sender of the message is a known peer NI");
  const PeerNi& sender = *receive.peer->peer_ni;
  PLNET_CHECK(source != sender.nid, "the rules are for messages of another source");
  if (source.net() != sender.net) {
    if (arrived_on_healthy_route(receive)) return std::nullopt;
    return Cause::kDroppedAsymRoute;
  }
  const PeerNi* const named = core_.shared.directory->find(source);
  if (named != nullptr &&
      named->peer.load(std::memory_order_acquire) == sender.peer.load(std::memory_order_acquire))
    return std::nullopt;
  core_.complaints->add(sender.nid, "dropped_foreign_source");
  return Cause::kDroppedForeignSource;
}

// A message through a gateway proves a gateway alive that counts as dead. With drop_asym_route it
// is refused if this node would not answer through that gateway (lustre-release
// lnet/lnet/lib-move.c: lnet_parse()).
bool SourceRules::arrived_on_healthy_route(const Receive& receive) const {
  Peer* const gateway = receive.peer->peer_ni->peer.load(std::memory_order_acquire);
  const bool asked = !receive.forwarded && core_.shared.parameters.drop_asym_route.get() != 0;
  const bool dead = gateway != nullptr && !gateway->alive.get();
  if (!asked && !dead) return true;
  const NetId source_net = receive.header.source.net();
  if (asked && !has_route_through(gateway, source_net)) return false;
  if (dead) revive(*gateway, source_net);
  return true;
}

bool SourceRules::has_route_through(const Peer* gateway, NetId net) const {
  const RemoteNet* const remote = core_.routes().net(net);
  return remote != nullptr && std::ranges::any_of(remote->routes, [&](const Route* route) {
           return route->gateway.load(std::memory_order_acquire) == gateway;
         });
}

void SourceRules::revive(Peer& gateway, NetId net) const {
  const Parameters& parameters = core_.shared.parameters;
  const bool undiscovered =
      parameters.discovery.get() == 0 || !gateway.multi_rail() || gateway.is(kPeerNoDiscovery);
  revive_gateway(gateway, core_.routes(),
                 {.net = net,
                  .discovery_disabled = undiscovered,
                  .avoid_asym_router_failure = parameters.avoid_asym_router_failure.get() != 0});
  core_.notify_gateway(kGatewayHeard);
}

}  // namespace plnet::lnet
