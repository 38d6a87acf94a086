// SPDX-License-Identifier: BSD-3-Clause
// Whether a route may be used, by the evidence about its gateway. The kernel decides for each
// message (lustre-release lnet/lnet/router.c: lnet_is_route_alive()); here the coordinator decides
// when the evidence changes, and writes the result to Route::alive.
#pragma once

#include <cstdint>

#include "lib/lnet/paths/route_table.hpp"
#include "lib/lnet/wire/ping_buffer.hpp"

namespace plnet::lnet {

// An NI of this peer on this network is up.
[[nodiscard]] bool has_ni_up(const PeerView& peer, NetId net);

struct GatewayEvidence {
  bool alive = true;                // its last discovery did not fail
  bool discovery_disabled = false;  // here or on the gateway; then only Route::replied_alive counts
  bool avoid_asym_router_failure = true;
};
// kNone: the route may be used. Else the reason; kPingFailed stands for any failure of discovery.
[[nodiscard]] RouteCause why_route_down(const Route& route, const GatewayEvidence& evidence);
[[nodiscard]] inline bool is_route_alive(const Route& route, const GatewayEvidence& evidence) {
  return why_route_down(route, evidence) == RouteCause::kNone;
}

// The verdict of a gateway's ping reply about a route through it: lustre-release
// lnet/lnet/router.c: lnet_router_discovery_ping_reply().
struct ReplyVerdict {
  bool alive = false;
  bool single_hop = false;  // that of the route if the reply does not tell

  friend bool operator==(const ReplyVerdict&, const ReplyVerdict&) = default;
};
[[nodiscard]] ReplyVerdict judge_reply(const Route& route, const PingView& reply,
                                       bool avoid_asym_router_failure);

// Reasons to judge routes again, beside answers of their gateways. Bits.
enum GatewayNews : std::uint32_t {
  kGatewayHeard = 1U << 0U,    // a message has come from it, or through it
  kGatewayTold = 1U << 1U,     // an LND has reported it up or down
  kGatewaySetting = 1U << 2U,  // a setting that routes depend on has changed
};

// A message from `net` has come through a gateway that counts as dead: the gateway and its NIs
// there are alive. A route that is held back because it flapped stays so. Any shard. lustre-release
// lnet/lnet/lib-move.c: lnet_parse()
struct GatewaySign {
  NetId net = 0;
  bool discovery_disabled =
      false;  // here or on the gateway: then only its routes to that network are known
  bool avoid_asym_router_failure = true;
};
void revive_gateway(Peer& gateway, const RouteView& routes, const GatewaySign& sign);

// An NI of the gateway is down: takes down the routes that depend on it before the coordinator
// learns of it. Any shard. lustre-release lnet/lnet/router.c: lnet_notify()
void mark_gateway_down(const Peer& gateway, const RouteView& routes);

}  // namespace plnet::lnet
