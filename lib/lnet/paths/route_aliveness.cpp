// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/paths/route_aliveness.hpp"

#include <algorithm>

#include "lib/base/check.hpp"

namespace plnet::lnet {

bool has_ni_up(const PeerView& peer, NetId net) {
  const PeerNetView* const peer_net = peer.net(net);
  if (peer_net == nullptr) return false;
  return std::ranges::any_of(peer.on(*peer_net),
                             [](const PeerNi* ni) { return ni->status.get() == kNiUp; });
}

RouteCause why_route_down(const Route& route, const GatewayEvidence& evidence) {
  if (!evidence.alive) return RouteCause::kPingFailed;
  if (evidence.discovery_disabled) {
    if (route.replied_alive.get()) return RouteCause::kNone;
    return route.replied_cause == RouteCause::kNone ? RouteCause::kPingFailed : route.replied_cause;
  }
  PLNET_CHECK(route.gateway.load(std::memory_order_relaxed) != nullptr, "a route has a gateway");
  const Peer& gateway = *route.gateway.load(std::memory_order_acquire);
  const PeerView& seen = gateway.seen();
  if (!has_ni_up(seen, route.local_net())) return RouteCause::kLocalNetDown;
  const bool must_be_there = route.spec.hops == 1 || route.single_hop.get();
  if (evidence.avoid_asym_router_failure && must_be_there && !has_ni_up(seen, route.spec.net)) {
    return RouteCause::kRemoteNetDown;
  }
  return gateway.is(kPeerRouterEnabled) ? RouteCause::kNone : RouteCause::kNotRouting;
}

void revive_gateway(Peer& gateway, const RouteView& routes, const GatewaySign& sign) {
  gateway.alive.set(true);
  const PeerView& seen = gateway.seen();
  if (const PeerNetView* const net = seen.net(sign.net)) {
    for (PeerNi* const ni : seen.on(*net))
      ni->status.set(kNiUp);
  }
  const GatewayEvidence evidence{.avoid_asym_router_failure = sign.avoid_asym_router_failure};
  for (const RemoteNet& net : routes.nets()) {
    for (Route* const route : net.routes) {
      if (route->gateway.load(std::memory_order_acquire) != &gateway) continue;
      const bool held_back = route->held_back.get();
      if (!sign.discovery_disabled) {
        route->alive.set(!held_back && is_route_alive(*route, evidence));
      } else if (net.id == sign.net) {
        route->replied_alive.set(true);
        route->alive.set(!held_back);
      }
    }
  }
}

void mark_gateway_down(const Peer& gateway, const RouteView& routes) {
  const PeerView& seen = gateway.seen();
  for (const RemoteNet& net : routes.nets()) {
    for (Route* const route : net.routes) {
      if (route->gateway.load(std::memory_order_acquire) != &gateway) continue;
      if (!has_ni_up(seen, route->local_net())) route->alive.set(false);
    }
  }
}

ReplyVerdict judge_reply(const Route& route, const PingView& reply,
                         bool avoid_asym_router_failure) {
  ReplyVerdict verdict{.alive = false, .single_hop = route.single_hop.get()};
  if (!reply.routes()) return verdict;
  PLNET_CHECK(route.gateway.load(std::memory_order_acquire) != nullptr, "a route has a gateway");
  const Peer& gateway = *route.gateway.load(std::memory_order_acquire);
  if (!has_ni_up(gateway.seen(), route.local_net())) return verdict;

  bool net_up = false;
  verdict.single_hop = false;
  for (auto walk = reply.walk(); const auto entry = walk.next();) {
    if (entry->nid.net() != route.spec.net) continue;
    verdict.single_hop = true;
    net_up = net_up || entry->status == kNiUp;
  }
  const bool must_be_there = route.spec.hops == 1 || verdict.single_hop;
  verdict.alive = !avoid_asym_router_failure || !must_be_there || net_up;
  return verdict;
}

}  // namespace plnet::lnet
