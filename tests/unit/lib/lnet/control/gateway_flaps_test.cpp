// SPDX-License-Identifier: BSD-3-Clause
// Routes that go down repeatedly are held back, each individually, where another route exists.
#include "tests/unit/lib/lnet/control/gateway_fixture.hpp"

namespace plnet::lnet::gateway_flaps_test {
namespace {

const Nid kSteady = nid("10.0.0.8@tcp");

class RoutesThatFlap : public GatewayChecksTest {
 protected:
  RoutesThatFlap() { steady_.say(steady_nids_, kRoutes); }
  // kFar leads to the network of the gateway's far NI, kFarSide; kFarther lies behind it.
  void tell_far_side(bool up) {
    gateway_.say(nids_, kRoutes, up ? UINT32_MAX : 2);
    gateway_.push(kGateway, kOurs);
    pass(1);
  }
  void flap_far_side() {
    for (std::size_t flap = 0; flap < RouteFlaps::kFailures; ++flap) {
      tell_far_side(false);
      EXPECT_FALSE(up(kFar));
      tell_far_side(true);
    }
  }
  // Another gateway, which was never down.
  void add_steady(NetId net) {
    ASSERT_TRUE(node_.coordinator.add_route({.net = net, .gateway = kSteady}).has_value());
  }
  void pass_answers(std::uint64_t wanted) {
    const std::uint64_t before = count(Id::kAnswered);
    for (int second = 0; second < 100 && count(Id::kAnswered) < before + wanted; ++second)
      pass(1);
  }

  const std::vector<Nid> steady_nids_{kSteady, nid("10.7.0.8@o2ib7")};
  RawPeer steady_{network_, steady_nids_, kRoutes};
};

TEST_F(RoutesThatFlap, AGatewayThatFlapsMustAnswerSeveralChecksInARow) {
  add(kFarther);
  add_steady(kFarther);
  pass(2);
  for (std::size_t flap = 0; flap < RouteFlaps::kFailures; ++flap) {
    ASSERT_TRUE(up(kFarther)) << "as with the kernel, after failure " << flap;
    gateway_.answers = false;
    pass(20);
    ASSERT_FALSE(up(kFarther));
    gateway_.answers = true;
    pass(1);
    if (flap + 1 < RouteFlaps::kFailures) pass(12);
  }
  EXPECT_EQ(count(Id::kHeldBack), 1U);
  unsigned answers = 0;
  for (int second = 0; second < 100 && !up(kFarther); ++second) {
    const unsigned wanted = route(kFarther).flaps.answers_wanted();
    pass(1);
    if (route(kFarther).flaps.answers_wanted() == wanted) continue;
    if (++answers < RouteFlaps::kAnswersInARow) {
      EXPECT_EQ(last_cause(kFarther), RouteCause::kHeldBack) << "it answers, and is down";
    }
  }
  EXPECT_TRUE(up(kFarther));
  EXPECT_EQ(answers, RouteFlaps::kAnswersInARow);
}

TEST_F(RoutesThatFlap, OccasionalFailuresAreNotHeldBack) {
  add(kFarther);
  pass(2);
  for (int i = 0; i < 6; ++i) {
    gateway_.answers = false;
    pass(20);
    gateway_.answers = true;
    pass(12);
    ASSERT_TRUE(up(kFarther));
    pass(400);
  }
  EXPECT_EQ(count(Id::kHeldBack), 0U);
}

TEST_F(RoutesThatFlap, TakeNoOthersOfTheirGatewayAlong) {
  add(kFar);
  add(kFarther);
  add_steady(kFar);
  pass(2);
  flap_far_side();
  EXPECT_FALSE(up(kFar));
  EXPECT_EQ(last_cause(kFar), RouteCause::kHeldBack);
  EXPECT_TRUE(up(kFarther));
  EXPECT_EQ(route(kFarther).history.count(), 1U) << "never was down";
  EXPECT_EQ(route(kFarther).flaps.answers_wanted(), 0U);
  EXPECT_EQ(count(Id::kHeldBack), 1U);
}

// Messages bound to one of our networks cannot use that route.
TEST_F(RoutesThatFlap, AreNotHeldBackForOneThatOnlyAnotherNetworkOfOursReaches) {
  const std::vector<Nid> nids{nid("10.1.0.8@tcp1"), nid("10.7.0.7@o2ib7")};
  const RawPeer elsewhere{network_, nids, kRoutes};
  add(kFar);
  ASSERT_TRUE(node_.coordinator.add_route({.net = kFar, .gateway = nids[0]}).has_value());
  pass(2);
  flap_far_side();
  EXPECT_TRUE(up(kFar));
}

TEST_F(RoutesThatFlap, AreHeldBackThoughAnotherIsDownForGood) {
  add(kFar);
  add(kFarther, 1);  // the gateway is absent
  add_steady(kFar);
  pass(2);
  EXPECT_FALSE(up(kFarther));
  flap_far_side();
  EXPECT_FALSE(up(kFar));
  EXPECT_EQ(count(Id::kHeldBack), 1U);
}

TEST_F(RoutesThatFlap, RepliesThatReportThemDownDoNotShortenTheHold) {
  add(kFar);
  add_steady(kFar);
  pass(2);
  flap_far_side();
  ASSERT_EQ(route(kFar).flaps.answers_wanted(), RouteFlaps::kAnswersInARow);
  tell_far_side(false);
  pass_answers(RouteFlaps::kAnswersInARow + 1);
  EXPECT_EQ(route(kFar).flaps.answers_wanted(), RouteFlaps::kAnswersInARow);
  tell_far_side(true);
  EXPECT_FALSE(up(kFar));
  pass_answers(RouteFlaps::kAnswersInARow);
  EXPECT_TRUE(up(kFar));
  EXPECT_EQ(last_cause(kFar), RouteCause::kAnswered);
}

TEST_F(RoutesThatFlap, BeginAnewWithAFailureThatIsPushed) {
  add(kFar);
  add_steady(kFar);
  pass(2);
  flap_far_side();
  pass_answers(1);
  ASSERT_EQ(route(kFar).flaps.answers_wanted(), RouteFlaps::kAnswersInARow - 1);
  tell_far_side(false);
  tell_far_side(true);
  EXPECT_EQ(route(kFar).flaps.answers_wanted(), RouteFlaps::kAnswersInARow);
}

TEST_F(RoutesThatFlap, AreUsedWhereThereIsNoOtherWay) {
  add(kFar);
  pass(2);
  flap_far_side();
  EXPECT_GT(route(kFar).flaps.answers_wanted(), 0U);
  EXPECT_TRUE(up(kFar));
  EXPECT_EQ(count(Id::kHeldBack), 1U) << "or would be";
  add_steady(kFar);
  pass(2);
  EXPECT_FALSE(up(kFar)) << "now there is one";
  EXPECT_EQ(last_cause(kFar), RouteCause::kHeldBack);
}

TEST_F(RoutesThatFlap, AreUsedWhileTheOtherRouteIsDown) {
  add(kFar);
  add_steady(kFar);
  pass(2);
  flap_far_side();
  ASSERT_FALSE(up(kFar));
  steady_.say(steady_nids_, kRoutes, 1);  // its own far NI
  steady_.push(kSteady, kOurs);
  pass(1);
  EXPECT_TRUE(up(kFar));
  steady_.say(steady_nids_, kRoutes);
  steady_.push(kSteady, kOurs);
  pass(1);
  EXPECT_FALSE(up(kFar));
  pass_answers(2 * RouteFlaps::kAnswersInARow);
  EXPECT_TRUE(up(kFar));
}

TEST_F(RoutesThatFlap, AreFreeWithoutPeriodicChecks) {
  add(kFar);
  add_steady(kFar);
  pass(2);
  flap_far_side();
  ASSERT_FALSE(up(kFar));
  node_.parameters.alive_router_check_interval_s.set(0);
  node_.coordinator.gateway_checks().look_again(kGatewaySetting);
  (void)node_.turn();
  EXPECT_TRUE(up(kFar));
  EXPECT_EQ(last_cause(kFar), RouteCause::kSettings);
  flap_far_side();
  EXPECT_TRUE(up(kFar));
}

}  // namespace
}  // namespace plnet::lnet::gateway_flaps_test
