// SPDX-License-Identifier: BSD-3-Clause
// A router whose two servers are the gateways to networks behind them.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "tests/unit/lib/lnet/move/forward_rig.hpp"

namespace plnet::lnet {

struct GatewayRig : AcquaintedRig {
  static constexpr Nid kFar = Nid::of(NetType::kTcp, 5, 30);
  static constexpr Nid kFarther = Nid::of(NetType::kTcp, 6, 30);
  using Way = std::pair<Nid, Nid>;  // destination net, gateway

  // One net behind each server.
  GatewayRig() : GatewayRig({}, {Way{kFar, kServer}, Way{kFarther, kBackup}}) {}
  GatewayRig(const ForwardSetup& setup, const std::vector<Way>& ways, ShardId home = 0)
      : AcquaintedRig(setup, home) {
    for (const auto& [to, gateway] : ways) {
      if (node.directory().find(to) == nullptr) node.add_peer(to, home);
      // As after a first message.
      node.directory().find(to)->preferred_ni.set(&port(kServer, home).ni());
      Route& route = *routes.emplace_back(std::make_unique<Route>());
      route.spec = {.net = to.net(), .gateway = gateway};
      route.number = static_cast<std::uint32_t>(routes.size() - 1);
      route.gateway.store(node.directory().find(gateway)->peer.load());
    }
    view = RouteView(routes);
    node.shared().routes.store(&view);
  }
  ~GatewayRig() {
    static const RouteView kNone;
    node.shared().routes.store(&kNone);
  }
  GatewayRig(const GatewayRig&) = delete;
  GatewayRig& operator=(const GatewayRig&) = delete;

  // As the coordinator does it.
  void set_alive(std::size_t way, bool alive) {
    routes[way]->alive.set(alive);
    if (!alive) node.shared().notify_hop_lost();
  }
  void announce() { port(kClient).on_headers_ahead({{{&first, nullptr}, {&second, nullptr}}}); }

  const MessageHeader first{.destination = kFar, .source = kClient, .type = MessageType::kPut};
  const MessageHeader second{.destination = kFarther, .source = kClient, .type = MessageType::kPut};
  std::vector<std::unique_ptr<Route>> routes;
  RouteView view;
};

}  // namespace plnet::lnet
