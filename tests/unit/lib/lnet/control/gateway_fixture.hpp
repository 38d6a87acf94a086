// SPDX-License-Identifier: BSD-3-Clause
// A node with routes through one gateway that the test controls.
#pragma once

#include <algorithm>
#include <chrono>
#include <vector>

#include <gtest/gtest.h>

#include "lib/lnet/control/gateway_checks.hpp"
#include "tests/unit/lib/lnet/control/test_node.hpp"

namespace plnet::lnet {

inline const Nid kOurs = nid("10.0.0.1@tcp");
inline const Nid kOursToo = nid("10.1.0.1@tcp1");
inline const Nid kGateway = nid("10.0.0.9@tcp");
inline const Nid kGatewayToo = nid("10.1.0.9@tcp1");
inline const Nid kFarSide = nid("10.7.0.9@o2ib7");
inline const NetId kFar = make_net(NetType::kO2ib, 7);
inline const NetId kFarther = make_net(NetType::kO2ib, 8);
inline constexpr std::uint32_t kRoutes = 0x1a;    // a node with routing enabled
inline constexpr std::uint32_t kNoRoutes = 0x1e;  // RTE_DISABLED

class GatewayChecksTest : public ::testing::Test {
 protected:
  GatewayChecksTest() {
    node_.parameters.alive_router_check_interval_s.set(10);
    node_.parameters.router_ping_timeout_s.set(3);
    gateway_.say(nids_, kRoutes);
  }
  void add(NetId net, std::uint32_t hops = kRouteHopsUndefined) {
    ASSERT_TRUE(
        node_.coordinator.add_route({.net = net, .gateway = kGateway, .hops = hops}).has_value());
  }
  // Advances time: shards turn at least once a second.
  void pass(int count) {
    for (int i = 0; i < count; ++i)
      run(network_, {&node_}, std::chrono::seconds(1));
  }
  const Route& route(NetId net) {
    const auto routes = node_.coordinator.routes().view().net(net)->routes;
    return **std::ranges::find(routes, kGateway,
                               [](const Route* route) { return route->spec.gateway; });
  }
  bool up(NetId net) { return route(net).alive.get(); }
  RouteCause last_cause(NetId net) { return route(net).history.back(0).cause; }
  std::uint64_t count(GatewayTable::Id id) {
    return node_.coordinator.gateway_checks().counters().get(id);
  }

  using Id = GatewayTable::Id;
  const std::vector<Nid> nids_{kGateway, kGatewayToo, kFarSide};
  FakeNetwork network_;
  TestNode node_{network_, {kOurs, kOursToo}};
  RawPeer gateway_{network_, nids_, kRoutes};
};

}  // namespace plnet::lnet
