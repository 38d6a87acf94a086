// SPDX-License-Identifier: BSD-3-Clause
// Whether a route may be used, from what is known of its gateway. The kernel asks with each message
// (lustre-release lnet/lnet/router.c: lnet_is_route_alive()); here the coordinator asks whenever
// something that it depends on changes, and writes the answer to Route::alive.
#pragma once

#include <cstdint>

#include "lib/lnet/paths/route_table.hpp"
#include "lib/lnet/wire/ping_buffer.hpp"

namespace plnet::lnet {

// At least one NI of this peer on this net is up.
[[nodiscard]] bool has_ni_up(const PeerView& peer, NetId net);

struct GatewayEvidence {
  bool alive = true;                // its last discovery did not fail
  bool discovery_disabled = false;  // here or there; then only Route::replied_alive counts
  bool avoid_asym_router_failure = true;
};
// kNone: it may be used. Else why not; kPingFailed stands for all that a discovery fails of.
[[nodiscard]] RouteCause why_route_down(const Route& route, const GatewayEvidence& evidence);
[[nodiscard]] inline bool is_route_alive(const Route& route, const GatewayEvidence& evidence) {
  return why_route_down(route, evidence) == RouteCause::kNone;
}

// What a gateway's ping reply says of one of the routes through it: lustre-release
// lnet/lnet/router.c: lnet_router_discovery_ping_reply().
struct ReplyVerdict {
  bool alive = false;
  bool single_hop = false;  // unchanged from the route's if the reply does not tell

  friend bool operator==(const ReplyVerdict&, const ReplyVerdict&) = default;
};
[[nodiscard]] ReplyVerdict judge_reply(const Route& route, const PingView& reply,
                                       bool avoid_asym_router_failure);

// Why routes are to be judged again, beside what their gateways answer. Bits.
enum GatewayNews : std::uint32_t {
  kGatewayHeard = 1U << 0U,    // a message came from it, or through it
  kGatewayTold = 1U << 1U,     // an LND said that it is there, or is not
  kGatewaySetting = 1U << 2U,  // something that routes are judged by was set
};

// A message from `net` has come through a gateway that was thought dead: it is alive, and so are
// its NIs there. A route that is held back, because it flapped, stays so. Any shard. lustre-release
// lnet/lnet/lib-move.c: lnet_parse()
struct GatewaySign {
  NetId net = 0;
  bool discovery_disabled = false;  // here or there: then only its routes to that net are known of
  bool avoid_asym_router_failure = true;
};
void revive_gateway(Peer& gateway, const RouteView& routes, const GatewaySign& sign);

// An NI of the gateway was found down: what routes it takes along is not used from now on, before
// the coordinator has heard of it. Any shard. lustre-release lnet/lnet/router.c: lnet_notify()
void mark_gateway_down(const Peer& gateway, const RouteView& routes);

}  // namespace plnet::lnet
