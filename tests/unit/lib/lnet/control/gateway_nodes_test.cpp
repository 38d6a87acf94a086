// SPDX-License-Identifier: BSD-3-Clause
// Gateways that are complete coordinators: their local changes are noticed by their clients.
#include <chrono>

#include <gtest/gtest.h>

#include "lib/lnet/control/gateway_checks.hpp"
#include "tests/unit/lib/lnet/control/test_node.hpp"

namespace plnet::lnet::gateway_nodes_test {
namespace {

using std::chrono::seconds;

const Nid kClient = nid("10.0.0.1@tcp");
const Nid kNear = nid("10.0.0.9@tcp");
const Nid kFarNi = nid("10.7.0.9@o2ib7");
const Nid kOtherNear = nid("10.0.0.8@tcp");
const Nid kOtherFar = nid("10.7.0.8@o2ib7");
const NetId kFar = make_net(NetType::kO2ib, 7);

class GatewayNodesTest : public ::testing::Test {
 protected:
  GatewayNodesTest() {
    client_.parameters.alive_router_check_interval_s.set(5);
    client_.parameters.router_ping_timeout_s.set(2);
    for (TestNode* const node : {&one_, &two_}) {
      node->coordinator.set_routing(true, false);
      know(*node);
    }
    know(client_);
    for (const Nid& gateway : {kNear, kOtherNear})
      EXPECT_TRUE(client_.coordinator.add_route({.net = kFar, .gateway = gateway, .hops = 1}));
    pass(2);
  }
  // Makes a peer of each sender, as the core does.
  static void know(TestNode& node) {
    node.operations.know_sender = [&node](const Nid& from) {
      (void)node.make_peer(from);
      return true;
    };
  }
  void pass(int count) {
    for (int i = 0; i < count; ++i)
      run(network_, {&client_, &one_, &two_}, seconds(1));
  }
  // The longest time until routes show the true state.
  void settle() { pass(5 + 2 + 2); }
  bool up(const Nid& gateway) {
    for (const Route* const route : client_.coordinator.routes().view().net(kFar)->routes) {
      if (route->spec.gateway == gateway) return route->alive.get();
    }
    ADD_FAILURE() << "no such route";
    return false;
  }

  FakeNetwork network_;
  TestNode client_{network_, {kClient}};
  TestNode one_{network_, {kNear, kFarNi}};
  TestNode two_{network_, {kOtherNear, kOtherFar}};
};

TEST_F(GatewayNodesTest, BothRoutesAreUpWhileNothingIsAmiss) {
  EXPECT_TRUE(up(kNear));
  EXPECT_TRUE(up(kOtherNear));
  settle();
  EXPECT_TRUE(up(kNear) && up(kOtherNear));
}

TEST_F(GatewayNodesTest, ADeadGatewayLeavesTheOtherRouteAndReturns) {
  network_.disown(kNear);
  network_.disown(kFarNi);
  settle();
  EXPECT_FALSE(up(kNear));
  EXPECT_TRUE(up(kOtherNear));
  network_.own(kNear, &one_.operations);
  network_.own(kFarNi, &one_.operations);
  settle();
  EXPECT_TRUE(up(kNear));
}

TEST_F(GatewayNodesTest, AGatewayThatStopsRoutingAnnouncesItAtOnce) {
  one_.coordinator.set_routing(false, true);
  pass(1);
  EXPECT_FALSE(up(kNear)) << "it pushed";
  EXPECT_TRUE(up(kOtherNear));
  one_.coordinator.set_routing(true, true);
  pass(1);
  EXPECT_TRUE(up(kNear));
}

TEST_F(GatewayNodesTest, AGatewayThatLosesItsFarSideIsNotUsed) {
  one_.remove(kFarNi);
  settle();
  EXPECT_FALSE(up(kNear));
  EXPECT_TRUE(up(kOtherNear));
  one_.add(kFarNi);
  settle();
  EXPECT_TRUE(up(kNear));
}

TEST_F(GatewayNodesTest, AGatewayIsNotUsedWhileItsFarSideIsDown) {
  Ni& far = *one_.coordinator.local().ni(kFarNi);
  far.fatal.set(true);
  one_.coordinator.tell_of_changed();
  pass(1);
  EXPECT_FALSE(up(kNear));
  far.fatal.set(false);
  one_.coordinator.tell_of_changed();
  pass(1);
  EXPECT_TRUE(up(kNear));
}

TEST_F(GatewayNodesTest, AllRoutesAreDownWhenAllGatewaysAreDead) {
  for (const Nid& each : {kNear, kFarNi, kOtherNear, kOtherFar})
    network_.disown(each);
  settle();
  EXPECT_FALSE(up(kNear));
  EXPECT_FALSE(up(kOtherNear));
}

}  // namespace
}  // namespace plnet::lnet::gateway_nodes_test
