// SPDX-License-Identifier: BSD-3-Clause
// Routes while discovery is off on either side: each has a flag, which replies and LNDs set.
#include "tests/unit/lib/lnet/control/gateway_fixture.hpp"

namespace plnet::lnet::gateway_undiscovered_test {
namespace {

class GatewaysUndiscovered : public GatewayChecksTest {
 protected:
  GatewaysUndiscovered() { node_.coordinator.set_discovery(false); }
  void tell(std::uint32_t status, GatewayNews news) {
    node_.coordinator.peers().find(kGateway)->status.set(status);
    node_.coordinator.gateway_checks().look_again(news);
    (void)node_.turn();
  }
};

TEST_F(GatewaysUndiscovered, TheLastReplyAndTheLndCount) {
  add(kFar);
  pass(2);
  EXPECT_TRUE(up(kFar));
  EXPECT_EQ(node_.nids_of(kGateway), std::vector{kGateway}) << "its other NIDs are left alone";
  gateway_.say(nids_, kRoutes, 2);
  pass(11);
  EXPECT_FALSE(up(kFar));
  EXPECT_EQ(last_cause(kFar), RouteCause::kRemoteNetDown);
  gateway_.say(nids_, kRoutes);
  pass(11);
  EXPECT_TRUE(up(kFar));
  tell(kNiDown, kGatewayTold);
  EXPECT_FALSE(up(kFar));
  EXPECT_EQ(last_cause(kFar), RouteCause::kToldDown);
}

TEST_F(GatewaysUndiscovered, AReturnedNiSaysNothingAboutTheFarSide) {
  add(kFar);
  pass(2);
  gateway_.say(nids_, kRoutes, 2);
  pass(11);
  EXPECT_FALSE(up(kFar));
  for (const GatewayNews news : {kGatewayHeard, kGatewayTold}) {
    tell(kNiDown, kGatewayTold);
    EXPECT_EQ(last_cause(kFar), RouteCause::kToldDown);
    tell(kNiUp, news);
    EXPECT_FALSE(up(kFar));
    EXPECT_EQ(last_cause(kFar), RouteCause::kRemoteNetDown) << "as the last reply said";
  }
  gateway_.say(nids_, kRoutes);
  pass(11);
  EXPECT_TRUE(up(kFar));
  tell(kNiDown, kGatewayTold);
  EXPECT_FALSE(up(kFar));
  tell(kNiUp, kGatewayHeard);
  EXPECT_TRUE(up(kFar));
  EXPECT_EQ(last_cause(kFar), RouteCause::kRevived);
}

TEST_F(GatewaysUndiscovered, TheSideThatWeShareIsSeenByUs) {
  add(kFar);
  pass(2);
  gateway_.say({kGateway}, kRoutes, 0);
  pass(11);
  EXPECT_FALSE(up(kFar));
  EXPECT_EQ(last_cause(kFar), RouteCause::kLocalNetDown);
  tell(kNiUp, kGatewayHeard);
  EXPECT_TRUE(up(kFar));
}

TEST_F(GatewaysUndiscovered, AnUncheckedGatewayIsUpWithItsNi) {
  node_.parameters.alive_router_check_interval_s.set(0);
  add(kFar);
  pass(2);
  tell(kNiDown, kGatewayTold);
  EXPECT_FALSE(up(kFar));
  tell(kNiUp, kGatewayHeard);
  EXPECT_TRUE(up(kFar));
  EXPECT_EQ(gateway_.pings, 0);
}

// Through a message that arrived by it, which a shard noticed.
TEST_F(GatewaysUndiscovered, ARevivedGatewayHasOtherRoutesOnceItAnswers) {
  add(kFar);
  add(kFarther);
  gateway_.say(nids_, kRoutes, 2);
  pass(11);
  EXPECT_EQ(last_cause(kFar), RouteCause::kRemoteNetDown);
  gateway_.answers = false;
  pass(15);
  EXPECT_FALSE(up(kFar) || up(kFarther));
  revive_gateway(*node_.peer(kGateway), node_.coordinator.routes().view(),
                 {.net = kFar, .discovery_disabled = true});
  tell(kNiUp, kGatewayHeard);
  EXPECT_TRUE(up(kFar));
  EXPECT_FALSE(up(kFarther));
  EXPECT_EQ(last_cause(kFarther), RouteCause::kPingTimedOut);
  gateway_.say(nids_, kRoutes);
  gateway_.answers = true;
  pass(11);
  EXPECT_TRUE(up(kFar) && up(kFarther));
}

}  // namespace
}  // namespace plnet::lnet::gateway_undiscovered_test
