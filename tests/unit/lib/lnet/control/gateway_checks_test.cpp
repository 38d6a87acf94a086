// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/control/gateway_checks.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/lib/lnet/control/gateway_fixture.hpp"

namespace plnet::lnet::gateway_checks_test {
namespace {

using std::chrono::seconds;

TEST_F(GatewayChecksTest, ANewRouteIsUpAndItsGatewayIsAskedAtOnce) {
  add(kFar);
  EXPECT_TRUE(up(kFar));
  EXPECT_EQ(last_cause(kFar), RouteCause::kAdded);
  pass(1);
  EXPECT_EQ(gateway_.pings, 1);
  EXPECT_GE(gateway_.pushes, 1) << "notified of our state";
  EXPECT_TRUE(up(kFar));
  EXPECT_TRUE(route(kFar).single_hop.get());
  EXPECT_EQ(node_.nids_of(kGateway), nids_);
}

TEST_F(GatewayChecksTest, EachNetworkOfTheGatewayIsCheckedOncePerInterval) {
  add(kFar);
  pass(5);
  network_.log.clear();
  pass(40);
  std::size_t on_first = 0;
  std::size_t on_second = 0;
  for (const FakeMessage& message : network_.log) {
    if (message.type != MessageType::kGet || message.source.net() == kFar) continue;
    if (message.target == kGateway) ++on_first;
    if (message.target == kGatewayToo) ++on_second;
  }
  EXPECT_GE(on_first, 3U);
  EXPECT_LE(on_first, 4U);
  EXPECT_GE(on_second, 3U);
  EXPECT_LE(on_second, 4U);
}

TEST_F(GatewayChecksTest, AGatewayThatIsSilentIsDownWithinItsIntervalAndTimeout) {
  add(kFar);
  pass(2);
  gateway_.answers = false;
  pass(10 + 3 + 2);
  EXPECT_FALSE(up(kFar));
  EXPECT_EQ(last_cause(kFar), RouteCause::kPingTimedOut);
  EXPECT_EQ(node_.coordinator.peers().find(kFarSide)->status.get(), kNiDown);
  gateway_.answers = true;
  pass(10 + 2);
  EXPECT_TRUE(up(kFar));
  EXPECT_EQ(last_cause(kFar), RouteCause::kAnswered);
  EXPECT_EQ(route(kFar).history.count(), 3U);
  EXPECT_GE(count(Id::kTimedOut), 1U);
}

// A failure of this node does not make its gateways down.
TEST_F(GatewayChecksTest, MissingMessagesDoNotMakeGatewaysDead) {
  add(kFar);
  pass(2);
  node_.operations.messages_left = 0;
  pass(11);
  EXPECT_TRUE(up(kFar));
  EXPECT_GT(node_.coordinator.discovery().counters().get(DiscoveryCounter::kShort), 0U);
  const int pings = gateway_.pings;
  node_.operations.messages_left = 1000;
  pass(2);
  EXPECT_GT(gateway_.pings, pings) << "as soon as there is one";
  EXPECT_TRUE(up(kFar));
  EXPECT_EQ(route(kFar).history.count(), 1U);
}

// The gateway answered; only the push to it is outstanding.
TEST_F(GatewayChecksTest, AMissingMessageForThePushDoesNotMakeAGatewayDead) {
  add(kFar);
  pass(2);
  for (std::uint32_t left = 1; left < 4; ++left) {
    node_.operations.messages_left = left;
    pass(21);
    EXPECT_TRUE(up(kFar)) << left;
  }
  EXPECT_GT(node_.coordinator.discovery().counters().get(DiscoveryCounter::kShort), 0U);
  node_.operations.messages_left = 1000;
  pass(15);
  EXPECT_EQ(route(kFar).history.count(), 1U);
  EXPECT_EQ(count(Id::kTimedOut), 0U);
}

// Messages to be forwarded to it end on every shard.
TEST_F(GatewayChecksTest, ShardsAreNotifiedOfEveryCauseOfADownGateway) {
  add(kFar);
  pass(2);
  int told = node_.hops_lost;
  gateway_.say(nids_, kRoutes, 2);
  pass(12);
  ASSERT_EQ(node_.coordinator.peers().find(kFarSide)->status.get(), kNiDown);
  EXPECT_GT(node_.hops_lost, told) << "it reports this for one of its interfaces";
  told = node_.hops_lost;
  gateway_.answers = false;
  pass(10 + 3 + 2);
  ASSERT_EQ(node_.coordinator.peers().find(kGateway)->status.get(), kNiDown);
  EXPECT_GT(node_.hops_lost, told) << "it does not answer";
}

TEST_F(GatewayChecksTest, ShardsHearOfAGatewayThatIsDownUntilItIsChecked) {
  node_.parameters.check_routers_before_use.set(1);
  node_.make_peer(kGateway);
  add(kFar);
  ASSERT_EQ(node_.coordinator.peers().find(kGateway)->status.get(), kNiDown);
  EXPECT_GT(node_.hops_lost, 0);
}

TEST_F(GatewayChecksTest, AGatewayThatCannotBeSentToIsDownAtOnce) {
  add(kFar);
  pass(2);
  network_.send_failure = 1;
  pass(11);
  EXPECT_FALSE(up(kFar));
  EXPECT_EQ(last_cause(kFar), RouteCause::kPingFailed);
}

TEST_F(GatewayChecksTest, AGatewayThatStopsRoutingReturnsWithoutHoldDown) {
  add(kFar);
  pass(2);
  for (int i = 0; i < 5; ++i) {
    gateway_.say(nids_, kNoRoutes);
    pass(11);
    ASSERT_FALSE(up(kFar));
    EXPECT_EQ(last_cause(kFar), RouteCause::kNotRouting);
    gateway_.say(nids_, kRoutes);
    pass(11);
    ASSERT_TRUE(up(kFar)) << "it was reported each time";
  }
  EXPECT_EQ(count(Id::kHeldBack), 0U);
}

TEST_F(GatewayChecksTest, APushOfTheGatewayActsAtOnce) {
  add(kFar);
  pass(2);
  gateway_.say(nids_, kNoRoutes);
  gateway_.push(kGateway, kOurs);
  pass(1);
  EXPECT_FALSE(up(kFar));
}

TEST_F(GatewayChecksTest, ASingleHopNeedsTheFarSideAndAMultiHopDoesNot) {
  add(kFar);
  add(kFarther);
  pass(2);
  EXPECT_FALSE(route(kFarther).single_hop.get());
  gateway_.say(nids_, kRoutes, 2);  // its far NI is down
  pass(11);
  EXPECT_FALSE(up(kFar));
  EXPECT_EQ(last_cause(kFar), RouteCause::kRemoteNetDown);
  EXPECT_TRUE(up(kFarther));
  node_.parameters.avoid_asym_router_failure.set(0);
  pass(11);
  EXPECT_TRUE(up(kFar)) << "without a preference";
}

TEST_F(GatewayChecksTest, ARouteOfOneHopThroughANodeThatIsNotThereIsDown) {
  add(kFarther, 1);
  pass(2);
  EXPECT_FALSE(up(kFarther));
  EXPECT_EQ(last_cause(kFarther), RouteCause::kRemoteNetDown);
}

TEST_F(GatewayChecksTest, WithOurSideDownTheRouteIsDown) {
  add(kFarther);
  pass(2);
  gateway_.say({kGateway}, kRoutes, 0);
  pass(11);
  EXPECT_FALSE(up(kFarther));
  EXPECT_EQ(last_cause(kFarther), RouteCause::kLocalNetDown);
}

TEST_F(GatewayChecksTest, ReportsOfShardsActInTheNextTurn) {
  add(kFar);
  pass(2);
  node_.coordinator.peers().find(kGateway)->status.set(kNiDown);
  node_.coordinator.gateway_checks().look_again(kGatewayTold);
  (void)node_.turn();
  EXPECT_FALSE(up(kFar));
  EXPECT_EQ(last_cause(kFar), RouteCause::kToldDown);
  node_.coordinator.peers().find(kGateway)->status.set(kNiUp);
  node_.coordinator.gateway_checks().look_again(kGatewayHeard);
  (void)node_.turn();
  EXPECT_TRUE(up(kFar));
  EXPECT_EQ(last_cause(kFar), RouteCause::kRevived);
}

TEST_F(GatewayChecksTest, TheCauseOfAnUpRouteIsRecorded) {
  add(kFar);
  pass(2);
  const auto lower = [&] {
    node_.coordinator.peers().find(kGateway)->status.set(kNiDown);
    node_.coordinator.gateway_checks().look_again(kGatewayTold);
    (void)node_.turn();
    EXPECT_FALSE(up(kFar));
  };
  lower();
  node_.coordinator.peers().find(kGateway)->status.set(kNiUp);
  node_.coordinator.gateway_checks().look_again(kGatewayTold);
  (void)node_.turn();
  EXPECT_TRUE(up(kFar));
  EXPECT_EQ(last_cause(kFar), RouteCause::kToldUp) << "no message came";
  lower();
  pass(10);
  EXPECT_TRUE(up(kFar));
  EXPECT_EQ(last_cause(kFar), RouteCause::kAnswered);

  pass(700);  // a third failure would be too many
  gateway_.say(nids_, kRoutes, 2);
  gateway_.push(kGateway, kOurs);
  pass(1);
  EXPECT_FALSE(up(kFar));
  node_.parameters.avoid_asym_router_failure.set(0);
  node_.coordinator.gateway_checks().look_again(kGatewaySetting);
  (void)node_.turn();
  EXPECT_TRUE(up(kFar));
  EXPECT_EQ(last_cause(kFar), RouteCause::kSettings);
}

TEST_F(GatewayChecksTest, AChangedCauseOfADownRouteIsReported) {
  add(kFar);
  pass(2);
  gateway_.say(nids_, kRoutes, 2);
  pass(11);
  EXPECT_EQ(last_cause(kFar), RouteCause::kRemoteNetDown);
  gateway_.say(nids_, kNoRoutes, 2);
  pass(11);
  EXPECT_FALSE(up(kFar));
  gateway_.say(nids_, kNoRoutes);
  pass(11);
  EXPECT_EQ(last_cause(kFar), RouteCause::kNotRouting);
  const std::uint64_t told = route(kFar).history.count();
  gateway_.answers = false;
  pass(20);
  EXPECT_EQ(last_cause(kFar), RouteCause::kPingTimedOut);
  network_.send_failure = 1;
  pass(20);
  network_.send_failure = 0;
  pass(20);
  EXPECT_EQ(route(kFar).history.count(), told + 1) << "how a check fails is no news";
  EXPECT_EQ(count(Id::kRoutesDown), 1U);
}

TEST_F(GatewayChecksTest, CheckedBeforeUseRoutesStartDown) {
  node_.parameters.check_routers_before_use.set(1);
  add(kFar);
  EXPECT_FALSE(up(kFar));
  EXPECT_EQ(last_cause(kFar), RouteCause::kUnchecked);
  EXPECT_FALSE(node_.coordinator.gateway_checks().all_known());
  pass(2);
  EXPECT_TRUE(up(kFar));
  EXPECT_TRUE(node_.coordinator.gateway_checks().all_known());
}

TEST_F(GatewayChecksTest, ADeadGatewayIsKnownToBeDeadOnceItHasBeenAsked) {
  node_.parameters.check_routers_before_use.set(1);
  gateway_.answers = false;
  add(kFar);
  pass(2);
  EXPECT_FALSE(node_.coordinator.gateway_checks().all_known());
  pass(3);
  EXPECT_TRUE(node_.coordinator.gateway_checks().all_known());
  EXPECT_FALSE(up(kFar));
}

TEST_F(GatewayChecksTest, WithoutAnIntervalNoGatewayIsPinged) {
  node_.parameters.alive_router_check_interval_s.set(0);
  add(kFar);
  pass(30);
  EXPECT_EQ(gateway_.pings, 0);
  EXPECT_TRUE(up(kFar));
}

TEST_F(GatewayChecksTest, WithoutAnIntervalANodeThatRoutesAsksUntilItHasBeenAnsweredOnce) {
  node_.parameters.alive_router_check_interval_s.set(0);
  node_.coordinator.set_routing(true, false);
  gateway_.answers = false;
  add(kFar);
  pass(25);
  EXPECT_GE(gateway_.pings, 2);
  EXPECT_FALSE(up(kFar));
  gateway_.answers = true;
  pass(10);
  EXPECT_TRUE(up(kFar));
  EXPECT_EQ(node_.nids_of(kGateway), nids_) << "messages of others may go to any of them";
  const int pings = gateway_.pings;
  pass(100);
  EXPECT_EQ(gateway_.pings, pings);
}

TEST_F(GatewayChecksTest, TheIntervalMayChangeWhileItRuns) {
  add(kFar);
  pass(2);
  node_.parameters.alive_router_check_interval_s.set(1000);
  pass(11);
  const auto checks_within = [&](int time) {
    const std::uint64_t before = count(Id::kChecks);
    pass(time);
    return count(Id::kChecks) - before;
  };
  EXPECT_EQ(checks_within(60), 0U);
  node_.parameters.alive_router_check_interval_s.set(5);
  EXPECT_GE(checks_within(60), 2U * 60 / 5 - 2) << "not after the old interval first";
  node_.parameters.alive_router_check_interval_s.set(0);
  EXPECT_EQ(checks_within(60), 0U);
}

TEST_F(GatewayChecksTest, EachChangeIsReported) {
  add(kFar);
  pass(2);
  gateway_.answers = false;
  pass(15);
  const auto news = node_.coordinator.gateway_checks().pop_news();
  ASSERT_EQ(news.size(), 1U);
  EXPECT_EQ(news[0].net, kFar);
  EXPECT_EQ(news[0].gateway, kGateway);
  EXPECT_FALSE(news[0].transition.up);
  EXPECT_TRUE(node_.coordinator.gateway_checks().pop_news().empty());
}

// Routes show the true state of any gateway within one interval, one timeout and the additional
// replies after flapping.
TEST_F(GatewayChecksTest, RoutesAreTheTruthWithinTheirInterval) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    FakeNetwork network(seed);
    TestNode node(network, {kOurs, kOursToo});
    node.parameters.alive_router_check_interval_s.set(10);
    node.parameters.router_ping_timeout_s.set(3);
    RawPeer gateway(network, nids_, kRoutes);
    gateway.say(nids_, kRoutes);
    Random random(seed);
    for (const NetId net : {kFar, kFarther})
      ASSERT_TRUE(node.coordinator.add_route({.net = net, .gateway = kGateway}));
    for (int change = 0; change < 12; ++change) {
      const bool answers = random.below(3) != 0;
      const bool routing = random.below(3) != 0;
      const bool far_down = random.below(3) == 0;
      gateway.answers = gateway.acknowledges = answers;
      gateway.say(nids_, routing ? kRoutes : kNoRoutes, far_down ? 2 : UINT32_MAX);
      const int owed = static_cast<int>(RouteFlaps::kAnswersInARow) * 10;
      for (int second = 0; second < 10 + 3 + 2 + owed; ++second)
        run(network, {&node}, seconds(1));
      for (const NetId net : {kFar, kFarther}) {
        const Route& route = *node.coordinator.routes().view().net(net)->routes.front();
        const bool truth = answers && routing && (net != kFar || !far_down);
        ASSERT_EQ(route.alive.get(), truth)
            << "seed " << seed << " change " << change << " " << text_of_net(net) << " "
            << text_of(route.history.back(0).cause);
      }
    }
  }
}

}  // namespace
}  // namespace plnet::lnet::gateway_checks_test
