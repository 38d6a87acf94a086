// SPDX-License-Identifier: BSD-3-Clause
// The number of ping slots is limited, and a silent peer holds its slot for long.
#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/lib/lnet/control/gateway_fixture.hpp"

namespace plnet::lnet::gateway_slots_test {
namespace {

// Unknown peers that are all pinged at once.
struct Strangers {
  explicit Strangers(TestNode& node) {
    for (std::size_t i = 0; i < asked.size(); ++i) {
      asked[i].nid = nid("10.0.1." + std::to_string(i + 1) + "@tcp");
      node.make_peer(asked[i].nid);
      node.coordinator.discover(asked[i], true);
    }
  }
  [[nodiscard]] bool all_over() const {
    return std::ranges::all_of(asked, [](const TestDiscover& each) { return each.times > 0; });
  }
  std::vector<TestDiscover> asked = std::vector<TestDiscover>(40);
};

TEST_F(GatewayChecksTest, PeersThatDoNotAnswerDoNotKeepAGatewayWaiting) {
  add(kFar);
  pass(2);
  const Strangers strangers(node_);
  pass(2);
  gateway_.answers = false;
  pass(10 + 3 + 2);
  EXPECT_FALSE(up(kFar));
  gateway_.answers = true;
  pass(10 + 2);
  EXPECT_TRUE(up(kFar));
  const auto over = [](const TestDiscover& each) { return each.times > 0; };
  EXPECT_TRUE(std::ranges::none_of(strangers.asked, over)) << "all the while";
  for (int i = 0; i < 20 && !strangers.all_over(); ++i)
    pass(100);
  EXPECT_TRUE(strangers.all_over());
}

// As many silent gateways as half of all slots. Their LND holds the pings for longer than the
// checks wait.
TEST_F(GatewayChecksTest, SilentGatewaysDoNotDelayOtherGateways) {
  std::vector<std::unique_ptr<RawPeer>> gateways;
  for (std::uint32_t i = 0; i < 8; ++i) {
    const Nid each = Nid::of(NetType::kTcp, 0, 0x0a000100 + i);
    gateways.push_back(std::make_unique<RawPeer>(network_, std::vector{each}, kRoutes));
    node_.make_peer(each);
    ASSERT_TRUE(node_.coordinator.add_route({.net = kFar, .gateway = each, .hops = 2}).has_value());
  }
  const auto up = [&] {
    return std::ranges::count_if(node_.coordinator.routes().view().net(kFar)->routes,
                                 [](const Route* route) { return route->alive.get(); });
  };
  pass(2);
  EXPECT_EQ(up(), 8);
  network_.connect_time = std::chrono::seconds(60);
  const Strangers strangers(node_);
  pass(1);
  for (const Route* const route : node_.coordinator.routes().view().net(kFar)->routes)
    network_.disown(route->spec.gateway);
  pass(10 + 3 + 2);
  EXPECT_EQ(up(), 0);
  for (int i = 0; i < 20 && !strangers.all_over(); ++i)
    pass(100);
  EXPECT_TRUE(strangers.all_over());
}

}  // namespace
}  // namespace plnet::lnet::gateway_slots_test
