// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/control/node_standing.hpp"

#include <gtest/gtest.h>

#include "tests/unit/lib/lnet/control/test_node.hpp"

namespace plnet::lnet::node_standing_test {
namespace {

using std::chrono::seconds;

const Nid kRouter = nid("10.0.0.1@tcp");
const Nid kOtherSide = nid("7@kfi");
const Nid kClient = nid("10.0.0.2@tcp");

// A router and a client that has discovered it, as kernel nodes do with their gateways.
class NodeStandings : public ::testing::Test {
 protected:
  void SetUp() override {
    router_.make_peer(kClient);
    TestParcel parcel;
    client_.send(parcel, kRouter);
    pass(seconds(2));
    TestParcel back;
    router_.send(back, kClient);
    pass(seconds(2));
    ASSERT_TRUE(router_.peer(kClient)->multi_rail());
    hear(kClient);
  }

  void pass(Duration time) {
    for (Duration gone{}; gone < time; gone += seconds(1))
      run(network_, {&router_, &client_}, seconds(1));
  }
  // A message of this peer arrives.
  void hear(const Nid& from) { router_.coordinator.peers().find(from)->last_alive_ns.set(ns()); }
  void ping(const Nid& of_router) {
    Ni& ni = *router_.coordinator.local().ni(of_router);
    ni.pinged_ns.set(ns());
    if (ni.status.get() == kNiUp) return;
    ni.revived.set(true);
    router_.coordinator.tell_of_changed();
  }
  [[nodiscard]] std::int64_t ns() const { return network_.now().time_since_epoch().count(); }
  [[nodiscard]] NodeStanding& standing() { return router_.coordinator.standing(); }
  [[nodiscard]] StandingReport report() { return standing().report(network_.now()); }
  [[nodiscard]] bool client_may_route() { return client_.peer(kRouter)->is(kPeerRouterEnabled); }
  [[nodiscard]] std::uint32_t status(const Nid& of) {
    return router_.coordinator.local().ni(of)->status.get();
  }
  [[nodiscard]] std::uint32_t seen_by_client(const Nid& of) {
    return client_.coordinator.peers().find(of)->status.get();
  }
  void route() {
    router_.coordinator.set_routing(true, true);
    pass(seconds(1));
    ASSERT_TRUE(client_may_route());
  }

  FakeNetwork network_;
  TestNode router_{network_, {kRouter, kOtherSide}};
  TestNode client_{network_, {kClient}};
};

TEST_F(NodeStandings, PeersHearOfAStartWithinASecond) {
  ASSERT_TRUE(standing().enable(network_.now()));
  EXPECT_TRUE(router_.parameters.routes()) << "it forwards before peers are notified";
  EXPECT_EQ(report().state, RoutingState::kStarting);
  EXPECT_FALSE(client_may_route());
  pass(seconds(1));
  EXPECT_EQ(report().state, RoutingState::kEnabled);
  EXPECT_TRUE(client_may_route());
}

TEST_F(NodeStandings, PeersHearAtOnceThatAStopIsCancelled) {
  route();
  standing().disable(network_.now());
  pass(seconds(30));
  ASSERT_FALSE(client_may_route());
  EXPECT_EQ(report().seconds_least, 80);
  EXPECT_EQ(report().seconds_left, 300);
  ASSERT_TRUE(standing().enable(network_.now()));
  EXPECT_EQ(report().state, RoutingState::kEnabled);
  EXPECT_EQ(report().seconds_left, 0);
  pass(seconds(1));
  EXPECT_TRUE(client_may_route());
}

TEST_F(NodeStandings, PeersHearOfAStopAtOnceAndItForwardsOn) {
  route();
  standing().disable(network_.now());
  pass(seconds(1));
  EXPECT_FALSE(client_may_route());
  EXPECT_EQ(router_.parameters.routing.get(), static_cast<int>(RoutingState::kStopping));
  pass(seconds(112));
  EXPECT_FALSE(router_.parameters.routes());
}

TEST_F(NodeStandings, TheIntervalsAreParameters) {
  router_.parameters.alive_router_check_interval_s.set(1);
  router_.parameters.router_ping_timeout_s.set(2);
  route();
  standing().disable(network_.now());
  pass(seconds(5));
  EXPECT_EQ(report().state, RoutingState::kDisabled);
}

TEST_F(NodeStandings, ADrainIsOverSoonAfterAllHaveAcknowledged) {
  route();
  ASSERT_TRUE(standing().drain(network_.now(), seconds(300)));
  pass(seconds(4));
  EXPECT_FALSE(client_may_route());
  EXPECT_EQ(report().phase, DrainPhase::kDrained);
  EXPECT_EQ(report().told.pushed, 1U);
  EXPECT_EQ(report().told.acknowledged, 1U);
  EXPECT_FALSE(router_.parameters.routes());
}

TEST_F(NodeStandings, ADrainWaitsForPeersWithoutAcknowledgement) {
  RawPeer deaf(network_, {nid("10.0.0.9@tcp")});
  TestParcel parcel;
  router_.send(parcel, nid("10.0.0.9@tcp"));
  pass(seconds(2));
  ASSERT_TRUE(router_.peer(nid("10.0.0.9@tcp"))->multi_rail());
  deaf.acknowledges = false;
  route();
  hear(nid("10.0.0.9@tcp"));
  ASSERT_TRUE(standing().drain(network_.now(), seconds(300)));
  pass(seconds(90));
  EXPECT_EQ(report().phase, DrainPhase::kNoticing);
  EXPECT_EQ(report().told.pushed, 2U);
  EXPECT_EQ(report().told.acknowledged, 1U) << "the client has";
  pass(seconds(30));
  EXPECT_EQ(report().phase, DrainPhase::kDrained) << "it has asked by now";
}

TEST_F(NodeStandings, APeerThatTakesNoPushesHasTimeToAsk) {
  RawPeer plain(network_, {nid("10.0.0.9@tcp")}, 0x06);
  TestParcel parcel;
  router_.send(parcel, nid("10.0.0.9@tcp"));
  pass(seconds(2));
  route();
  hear(nid("10.0.0.9@tcp"));
  ASSERT_TRUE(standing().drain(network_.now(), seconds(300)));
  pass(seconds(20));
  EXPECT_EQ(report().phase, DrainPhase::kNoticing);
  EXPECT_EQ(report().told.by_ping, 1U);
}

TEST_F(NodeStandings, LongSilentPeersAreNotAwaited) {
  route();
  pass(seconds(111));
  ASSERT_TRUE(standing().drain(network_.now(), seconds(300)));
  pass(seconds(3));
  EXPECT_EQ(report().phase, DrainPhase::kDrained);
  EXPECT_EQ(report().told.pushed, 0U);
}

TEST_F(NodeStandings, HeldMessagesLeaveBeforeADrainEnds) {
  route();
  router_.load.held = 2;
  ASSERT_TRUE(standing().drain(network_.now(), seconds(20)));
  pass(seconds(10));
  EXPECT_EQ(report().phase, DrainPhase::kEmptying);
  EXPECT_EQ(report().load.held, 2U);
  pass(seconds(12));
  EXPECT_EQ(report().phase, DrainPhase::kDrained);
  EXPECT_EQ(report().cut_off, 2U);
}

TEST_F(NodeStandings, AStopDoesNotReportThePushesOfADrain) {
  route();
  ASSERT_TRUE(standing().drain(network_.now(), seconds(300)));
  pass(seconds(1));
  EXPECT_EQ(report().told.pushed, 1U);
  ASSERT_TRUE(standing().undrain(network_.now()));
  standing().disable(network_.now());
  EXPECT_EQ(report().told.pushed, 0U);
  EXPECT_EQ(report().text(), "stopping");
}

TEST_F(NodeStandings, LeavingDuringAStopKeepsItsAcknowledgements) {
  route();
  standing().disable(network_.now());
  pass(seconds(2));
  EXPECT_FALSE(client_may_route());
  EXPECT_FALSE(report().told.counted) << "a stop does not ask peers";
  const std::uint32_t sequence = router_.coordinator.ping_target().sequence();
  ASSERT_TRUE(standing().leave(network_.now(), seconds(300), false));
  EXPECT_EQ(router_.coordinator.ping_target().sequence(), sequence) << "they have been notified";
  pass(seconds(3));
  EXPECT_EQ(report().phase, DrainPhase::kDrained);
  EXPECT_TRUE(report().told.counted);
  EXPECT_EQ(report().told.pushed, 1U);
  EXPECT_EQ(report().told.acknowledged, 1U);
  EXPECT_TRUE(report().unsent_known);
}

TEST_F(NodeStandings, LeavingAfterTheTimeOfAStopCountsPeersOnce) {
  route();
  router_.load.held = 1;
  standing().disable(network_.now());
  pass(seconds(115));
  hear(kClient);
  ASSERT_TRUE(standing().leave(network_.now(), seconds(1), false));
  pass(seconds(2));
  EXPECT_EQ(report().phase, DrainPhase::kDrained);
  EXPECT_EQ(report().cut_off, 1U);
  EXPECT_TRUE(report().told.counted);
  EXPECT_EQ(report().told.pushed, 1U);
}

TEST_F(NodeStandings, PeersWithoutAcknowledgementOfAStopCountWhenLeaving) {
  RawPeer deaf(network_, {nid("10.0.0.9@tcp")});
  TestParcel parcel;
  router_.send(parcel, nid("10.0.0.9@tcp"));
  pass(seconds(2));
  deaf.acknowledges = false;
  route();
  hear(nid("10.0.0.9@tcp"));
  standing().disable(network_.now());
  pass(seconds(2));
  ASSERT_TRUE(standing().leave(network_.now(), seconds(300), false));
  pass(seconds(5));
  EXPECT_EQ(report().phase, DrainPhase::kNoticing);
  EXPECT_EQ(report().told.pushed, 2U);
  EXPECT_EQ(report().told.acknowledged, 1U);
}

TEST_F(NodeStandings, CountingManyPeersContinuesWhileEmptying) {
  CoordinatorLimits limits = small_limits();
  limits.peers.peers = limits.peers.peer_nis = std::size_t{3} * NodeStanding::kPeersAtOnce;
  TestNode large(network_, {nid("10.0.0.77@tcp")}, limits);
  NodeStanding& standing = large.coordinator.standing();
  large.coordinator.set_routing(true, true);
  large.load.held = 1;
  standing.disable(network_.now());
  run(network_, {&large}, seconds(115));
  ASSERT_TRUE(standing.leave(network_.now(), seconds(300), false));
  for (int i = 0; i < 3; ++i)
    run(network_, {&large}, seconds(1));
  EXPECT_EQ(standing.report(network_.now()).phase, DrainPhase::kEmptying);
  EXPECT_TRUE(standing.report(network_.now()).told.counted);
}

TEST_F(NodeStandings, UnsentBytesAreKnownOnceTransportsWereAsked) {
  route();
  router_.load = {.held = 1, .unsent = 5, .unsent_since = Instant::min()};
  ASSERT_TRUE(standing().drain(network_.now(), seconds(20)));
  pass(seconds(10));
  EXPECT_EQ(report().phase, DrainPhase::kEmptying);
  EXPECT_FALSE(report().unsent_known);
  EXPECT_EQ(report().load.unsent, 0U) << "that was of another time";
  router_.load.unsent_since = network_.now() + seconds(20);
  pass(seconds(12));
  EXPECT_EQ(report().phase, DrainPhase::kDrained);
  EXPECT_TRUE(report().unsent_known);
  EXPECT_EQ(report().load.unsent, 5U);
  router_.coordinator.local().ni(kOtherSide)->health.set(700);
  router_.coordinator.tell_of_changed();
  pass(seconds(2));
  EXPECT_TRUE(report().unsent_known) << "an NI that is looked at changes nothing of that";
}

TEST_F(NodeStandings, ANodeThatStartsWithoutRoutingHasNothingToSayOfIt) {
  StandingNote note;
  while (standing().pop_note(note)) {
  }
  router_.coordinator.set_routing(false, false);
  EXPECT_FALSE(standing().pop_note(note));
}

TEST_F(NodeStandings, AReturningNodeIsARouterAgain) {
  route();
  router_.load.held = 1;
  ASSERT_TRUE(standing().drain(network_.now(), seconds(300)));
  pass(seconds(3));
  EXPECT_FALSE(client_may_route());
  ASSERT_TRUE(standing().undrain(network_.now()));
  pass(seconds(1));
  EXPECT_TRUE(client_may_route());
  EXPECT_EQ(report().state, RoutingState::kEnabled);
}

TEST_F(NodeStandings, AnUnpingedNetworkIsDownUntilAPing) {
  route();
  for (int minute = 0; minute < 3; ++minute) {
    pass(seconds(60));
    ping(kRouter);
  }
  EXPECT_EQ(status(kRouter), kNiUp);
  EXPECT_EQ(status(kOtherSide), kNiDown);
  EXPECT_EQ(seen_by_client(kOtherSide), kNiDown) << "it was pushed";
  EXPECT_EQ(standing().cause_of(*router_.coordinator.local().ni(kOtherSide)), NiCause::kSilence);
  ping(kOtherSide);
  pass(seconds(1));
  EXPECT_EQ(status(kOtherSide), kNiUp);
  EXPECT_EQ(seen_by_client(kOtherSide), kNiUp);
  EXPECT_EQ(standing().changes_of(*router_.coordinator.local().ni(kOtherSide)), 2U);
}

TEST_F(NodeStandings, ASilentNodeWithoutRoutingIsUp) {
  pass(seconds(300));
  EXPECT_EQ(status(kOtherSide), kNiUp);
  route();
  pass(seconds(60));
  EXPECT_EQ(status(kOtherSide), kNiUp) << "its time began with routing";
}

TEST_F(NodeStandings, ADeviceThatFailsGetsANewBufferAndAPush) {
  Ni& ni = *router_.coordinator.local().ni(kOtherSide);
  const std::uint32_t before = router_.coordinator.ping_target().sequence();
  ni.fatal.set(true);
  router_.coordinator.tell_of_changed();
  pass(seconds(1));
  EXPECT_EQ(seen_by_client(kOtherSide), kNiDown);
  EXPECT_EQ(router_.coordinator.ping_target().sequence(), before + 1);
  router_.coordinator.tell_of_changed();
  EXPECT_EQ(router_.coordinator.ping_target().sequence(), before + 1) << "nothing is new";
  ni.fatal.set(false);
  router_.coordinator.tell_of_changed();
  pass(seconds(1));
  EXPECT_EQ(seen_by_client(kOtherSide), kNiUp);
}

TEST_F(NodeStandings, AnNiWithoutHealthIsDownAndComesBackByAndBy) {
  Ni& ni = *router_.coordinator.local().ni(kOtherSide);
  ni.health.set(0);
  router_.coordinator.tell_of_changed();
  pass(seconds(1));
  EXPECT_EQ(seen_by_client(kOtherSide), kNiDown);
  pass(seconds(5));
  EXPECT_EQ(status(kOtherSide), kNiDown);
  pass(seconds(10));
  EXPECT_EQ(status(kOtherSide), kNiUp);
  EXPECT_EQ(ni.health.get(), kHealthMax);
  EXPECT_EQ(seen_by_client(kOtherSide), kNiUp);
  pass(seconds(1));
  EXPECT_EQ(router_.coordinator.next_deadline(network_.now()), Instant::max())
      << "a node that is well and does not route needs no time";
}

// Each change would make the peers move their traffic.
TEST_F(NodeStandings, AnNiWithFlappingHealthStaysDownUntilItIsSteady) {
  route();
  Ni& ni = *router_.coordinator.local().ni(kOtherSide);
  const std::uint32_t before = standing().changes_of(ni);
  for (int i = 0; i < 500; ++i) {
    ni.health.set(i % 2 == 0 ? 0 : kHealthMax);
    router_.coordinator.tell_of_changed();
    run(network_, {&router_, &client_}, std::chrono::milliseconds(20));
  }
  EXPECT_LE(standing().changes_of(ni) - before, 6U);
  EXPECT_EQ(status(kOtherSide), kNiDown);
  EXPECT_EQ(standing().cause_of(ni), NiCause::kBounces);
  EXPECT_EQ(seen_by_client(kOtherSide), kNiDown);
  pass(seconds(14));
  EXPECT_EQ(status(kOtherSide), kNiDown);
  pass(seconds(4));
  EXPECT_EQ(status(kOtherSide), kNiUp);
  EXPECT_EQ(seen_by_client(kOtherSide), kNiUp);
}

TEST_F(NodeStandings, AnNiThatLostSomeHealthGetsItBackUnlessItsDeviceHasFailed) {
  Ni& ni = *router_.coordinator.local().ni(kOtherSide);
  ni.health.set(700);
  router_.coordinator.tell_of_changed();
  EXPECT_EQ(status(kOtherSide), kNiUp);
  run(network_, {&router_, &client_}, std::chrono::milliseconds(900));
  EXPECT_EQ(ni.health.get(), 700) << "long enough for others to be chosen";
  pass(seconds(4));
  EXPECT_EQ(ni.health.get(), kHealthMax);
  ni.fatal.set(true);
  ni.health.set(700);
  router_.coordinator.tell_of_changed();
  pass(seconds(10));
  EXPECT_EQ(ni.health.get(), 700);
}

TEST_F(NodeStandings, EachChangeIsNotedOnce) {
  StandingNote note;
  while (standing().pop_note(note)) {
  }
  Ni& ni = *router_.coordinator.local().ni(kOtherSide);
  ni.fatal.set(true);
  router_.coordinator.tell_of_changed();
  router_.coordinator.tell_of_changed();
  ASSERT_TRUE(standing().pop_note(note));
  EXPECT_EQ(note.nid, kOtherSide);
  EXPECT_EQ(note.cause, NiCause::kDevice);
  EXPECT_FALSE(standing().pop_note(note));
  ASSERT_TRUE(standing().enable(network_.now()));
  ASSERT_TRUE(standing().pop_note(note));
  EXPECT_TRUE(note.nid.is_loopback());
  EXPECT_EQ(note.state, RoutingState::kStarting);
}

TEST_F(NodeStandings, AfterShutdownNothingIsReported) {
  route();
  router_.coordinator.shut_down();
  router_.coordinator.local().ni(kOtherSide)->fatal.set(true);
  router_.coordinator.tell_of_changed();
  pass(seconds(200));
  EXPECT_TRUE(router_.coordinator.quiet());
  EXPECT_EQ(status(kRouter), kNiUp);
}

}  // namespace
}  // namespace plnet::lnet::node_standing_test
