// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/control/routing_state.hpp"

#include <gtest/gtest.h>

#include "lib/base/random.hpp"
#include "tests/mocks/seeds.hpp"

namespace plnet::lnet::routing_state_test {
namespace {

using std::chrono::seconds;

constexpr Duration kNotice = seconds(110);
constexpr Instant kStart{std::chrono::hours(1)};
constexpr PeersTold kNobody{.counted = true};

class RoutingStates : public ::testing::Test {
 protected:
  // Second by second, as the coordinator runs it.
  void pass(Duration time) {
    for (const Instant end = now_ + time; now_ < end; now_ += seconds(1))
      changes_ += machine_.step(now_, load_, told_) ? 1 : 0;
  }
  [[nodiscard]] RoutingState state() const { return machine_.state(); }

  RoutingStateMachine machine_;
  Instant now_ = kStart;
  RoutedLoad load_;
  PeersTold told_;
  int changes_ = 0;
};

TEST_F(RoutingStates, TheInitialSettingActsAtOnce) {
  EXPECT_EQ(state(), RoutingState::kDisabled);
  EXPECT_FALSE(machine_.advertised());
  machine_.set(true, now_);
  EXPECT_EQ(state(), RoutingState::kEnabled);
  EXPECT_TRUE(machine_.advertised());
  EXPECT_EQ(machine_.began(), now_);
}

TEST_F(RoutingStates, ARunningNodeForwardsAtOnceAndIsAdvertisedAtTheNextStep) {
  ASSERT_TRUE(machine_.enable(now_));
  EXPECT_EQ(state(), RoutingState::kStarting);
  EXPECT_FALSE(machine_.advertised());
  pass(seconds(1));
  EXPECT_EQ(state(), RoutingState::kEnabled);
  EXPECT_TRUE(machine_.advertised());
  EXPECT_EQ(changes_, 1);
  ASSERT_TRUE(machine_.enable(now_)) << "again is fine";
  EXPECT_EQ(state(), RoutingState::kEnabled);
}

TEST_F(RoutingStates, AStopWaitsForPeersAndThenForBuffers) {
  machine_.set(true, now_);
  load_.held = 3;
  machine_.disable(now_, kNotice);
  EXPECT_EQ(state(), RoutingState::kStopping);
  EXPECT_FALSE(machine_.advertised());
  pass(kNotice * 2);
  EXPECT_EQ(state(), RoutingState::kStopping) << "something is here";
  load_.held = 0;
  pass(seconds(1));
  EXPECT_EQ(state(), RoutingState::kDisabled);
  EXPECT_EQ(machine_.cut_off(), 0U);
}

TEST_F(RoutingStates, AStopWithoutAnythingHereLastsAsLongAsPeersNeed) {
  machine_.set(true, now_);
  machine_.disable(now_, kNotice);
  told_ = kNobody;  // the node did not ask them
  pass(kNotice);
  EXPECT_EQ(state(), RoutingState::kStopping);
  pass(seconds(1));
  EXPECT_EQ(state(), RoutingState::kDisabled);
}

TEST_F(RoutingStates, AStopEndsAfterThreeTimesTheNotice) {
  machine_.set(true, now_);
  load_.held = 7;
  machine_.disable(now_, kNotice);
  pass(3 * kNotice);
  EXPECT_EQ(state(), RoutingState::kStopping);
  pass(seconds(1));
  EXPECT_EQ(state(), RoutingState::kDisabled);
  EXPECT_EQ(machine_.cut_off(), 7U);
}

TEST_F(RoutingStates, AStopIsCancelledAtOnce) {
  for (const bool by_undrain : {false, true}) {
    machine_.set(true, now_);
    const Instant began = machine_.began();
    load_.held = 2;
    machine_.disable(now_, kNotice);
    pass(kNotice * 2);
    ASSERT_EQ(state(), RoutingState::kStopping);
    ASSERT_TRUE(by_undrain ? machine_.undrain(now_) : machine_.enable(now_));
    EXPECT_EQ(state(), RoutingState::kEnabled);
    EXPECT_TRUE(machine_.advertised());
    EXPECT_EQ(machine_.began(), began) << "it forwarded all the time";
    pass(kNotice * 3);
    EXPECT_EQ(state(), RoutingState::kEnabled);
    EXPECT_EQ(machine_.undrain(now_).error(), Errc::kInvalid) << "nothing to cancel";
  }
}

TEST_F(RoutingStates, AStopBecomesADrainThatEndsNoLater) {
  machine_.set(true, now_);
  load_.held = 1;
  machine_.disable(now_, kNotice);
  const Instant latest = machine_.latest();
  pass(seconds(10));
  ASSERT_TRUE(machine_.drain(now_, kNotice, std::chrono::hours(1)));
  EXPECT_TRUE(machine_.notifies_peers());
  EXPECT_EQ(machine_.latest(), latest);
  ASSERT_TRUE(machine_.undrain(now_));
  EXPECT_EQ(state(), RoutingState::kEnabled);
}

TEST_F(RoutingStates, AStartThatIsCalledOffStopsLikeAnyOther) {
  ASSERT_TRUE(machine_.enable(now_));
  machine_.disable(now_, kNotice);
  pass(kNotice);
  EXPECT_EQ(state(), RoutingState::kStopping);
  pass(seconds(1));
  EXPECT_EQ(state(), RoutingState::kDisabled);
}

TEST_F(RoutingStates, ADrainForwardsUntilEverybodyHasAcknowledged) {
  machine_.set(true, now_);
  ASSERT_TRUE(machine_.drain(now_, kNotice, seconds(600)));
  EXPECT_EQ(state(), RoutingState::kStopping);
  EXPECT_EQ(machine_.phase(), DrainPhase::kNoticing);
  EXPECT_TRUE(machine_.notifies_peers());
  told_ = {.pushed = 4, .acknowledged = 3, .counted = true};
  pass(seconds(20));
  EXPECT_EQ(machine_.phase(), DrainPhase::kNoticing);
  told_.acknowledged = 4;
  load_.held = 1;
  pass(seconds(1));
  EXPECT_EQ(machine_.phase(), DrainPhase::kEmptying);
  EXPECT_EQ(state(), RoutingState::kStopping) << "held messages still leave";
  pass(seconds(10));
  EXPECT_EQ(state(), RoutingState::kStopping);
  load_.held = 0;
  pass(seconds(2));
  EXPECT_EQ(state(), RoutingState::kDisabled);
  EXPECT_EQ(machine_.phase(), DrainPhase::kDrained);
  EXPECT_EQ(machine_.cut_off(), 0U);
}

TEST_F(RoutingStates, ADrainWaitsWhileSomethingStillComes) {
  machine_.set(true, now_);
  ASSERT_TRUE(machine_.drain(now_, kNotice, seconds(600)));
  told_ = kNobody;
  for (int second = 0; second < 30; ++second) {
    ++load_.taken;
    pass(seconds(1));
    EXPECT_EQ(machine_.phase(), DrainPhase::kEmptying);
  }
  pass(seconds(1));
  EXPECT_EQ(machine_.phase(), DrainPhase::kDrained);
}

TEST_F(RoutingStates, PeersThatCannotBePushedToHaveTheirTime) {
  machine_.set(true, now_);
  ASSERT_TRUE(machine_.drain(now_, kNotice, seconds(600)));
  told_ = {.pushed = 4, .acknowledged = 4, .by_ping = 1, .counted = true};
  pass(kNotice);
  EXPECT_EQ(machine_.phase(), DrainPhase::kNoticing);
  pass(seconds(2));
  EXPECT_EQ(machine_.phase(), DrainPhase::kDrained);
}

TEST_F(RoutingStates, NoPeerCountsAsInformedBeforeTheCount) {
  machine_.set(true, now_);
  ASSERT_TRUE(machine_.drain(now_, kNotice, seconds(600)));
  pass(seconds(5));
  EXPECT_EQ(machine_.phase(), DrainPhase::kNoticing);
}

TEST_F(RoutingStates, ADrainWithFullNoticeBelievesNoAcknowledgement) {
  machine_.set(true, now_);
  ASSERT_TRUE(machine_.drain(now_, kNotice, seconds(600), true));
  told_ = {.pushed = 4, .acknowledged = 4, .counted = true};
  pass(kNotice);
  EXPECT_EQ(machine_.phase(), DrainPhase::kNoticing);
  pass(seconds(1));
  EXPECT_EQ(machine_.phase(), DrainPhase::kEmptying);
  ASSERT_TRUE(machine_.undrain(now_));
  ASSERT_TRUE(machine_.drain(now_, kNotice, seconds(600)));
  pass(seconds(1));
  EXPECT_EQ(machine_.phase(), DrainPhase::kEmptying) << "of that drain only";
}

TEST_F(RoutingStates, ADrainWaitsUntilTransportsHaveSentForwardedMessages) {
  machine_.set(true, now_);
  EXPECT_EQ(machine_.quiet_since(), Instant::max()) << "it does not matter yet";
  ASSERT_TRUE(machine_.drain(now_, kNotice, seconds(600)));
  told_ = kNobody;
  load_ = {.unsent = 0, .unsent_since = kStart};
  pass(seconds(5));
  EXPECT_EQ(machine_.phase(), DrainPhase::kDrained) << "counted since the last message left";
  machine_.set(true, now_);
  ASSERT_TRUE(machine_.drain(now_, kNotice, seconds(600)));
  pass(seconds(5));
  EXPECT_EQ(machine_.phase(), DrainPhase::kEmptying) << "that was before this drain";
  load_ = {.unsent = 7, .unsent_since = machine_.quiet_since()};
  pass(seconds(20));
  EXPECT_EQ(machine_.phase(), DrainPhase::kEmptying);
  load_.unsent = 0;
  pass(seconds(1));
  EXPECT_EQ(machine_.phase(), DrainPhase::kDrained);
  EXPECT_EQ(machine_.quiet_since(), Instant::max());
}

TEST_F(RoutingStates, ADrainEndsInTimeAndReportsDroppedMessages) {
  machine_.set(true, now_);
  load_.held = 5;
  ASSERT_TRUE(machine_.drain(now_, kNotice, seconds(30)));
  pass(seconds(30));
  EXPECT_EQ(state(), RoutingState::kStopping);
  pass(seconds(1));
  EXPECT_EQ(state(), RoutingState::kDisabled);
  EXPECT_EQ(machine_.phase(), DrainPhase::kDrained);
  EXPECT_EQ(machine_.cut_off(), 5U);
}

TEST_F(RoutingStates, TheBoundOfADrainCanBeSetAnew) {
  machine_.set(true, now_);
  load_.held = 5;
  ASSERT_TRUE(machine_.drain(now_, kNotice, seconds(30)));
  pass(seconds(20));
  ASSERT_TRUE(machine_.drain(now_, kNotice, seconds(30)));
  pass(seconds(30));
  EXPECT_EQ(state(), RoutingState::kStopping);
  ASSERT_TRUE(machine_.drain(now_, kNotice, Duration::zero()));
  pass(seconds(1));
  EXPECT_EQ(machine_.phase(), DrainPhase::kDrained);
}

TEST_F(RoutingStates, AnIncompleteDrainIsUndoneAtOnce) {
  machine_.set(true, now_);
  const Instant began = machine_.began();
  ASSERT_TRUE(machine_.drain(now_, kNotice, seconds(600)));
  pass(seconds(5));
  ASSERT_TRUE(machine_.undrain(now_));
  EXPECT_EQ(state(), RoutingState::kEnabled);
  EXPECT_EQ(machine_.phase(), DrainPhase::kNone);
  EXPECT_EQ(machine_.began(), began) << "it forwarded all the time";
}

TEST_F(RoutingStates, ADrainedRouterStartsAnew) {
  machine_.set(true, now_);
  ASSERT_TRUE(machine_.drain(now_, kNotice, seconds(600)));
  told_ = kNobody;
  pass(seconds(3));
  ASSERT_EQ(machine_.phase(), DrainPhase::kDrained);
  ASSERT_TRUE(machine_.enable(now_)) << "`set routing 1` is the same as undrain";
  EXPECT_EQ(state(), RoutingState::kStarting);
  EXPECT_EQ(machine_.phase(), DrainPhase::kNone);
  EXPECT_EQ(machine_.began(), now_);
}

TEST_F(RoutingStates, ANodeWithoutRoutingHasNothingToDrain) {
  EXPECT_EQ(machine_.drain(now_, kNotice, seconds(9)).error(), Errc::kInvalid);
  EXPECT_EQ(machine_.undrain(now_).error(), Errc::kInvalid);
}

TEST_F(RoutingStates, ADrainThatBecomesAStopEndsNoLater) {
  machine_.set(true, now_);
  load_.held = 1;
  ASSERT_TRUE(machine_.drain(now_, kNotice, seconds(30)));
  machine_.disable(now_, kNotice);
  EXPECT_EQ(machine_.phase(), DrainPhase::kNone);
  pass(seconds(31));
  EXPECT_EQ(state(), RoutingState::kDisabled);
  EXPECT_EQ(machine_.enable(now_).has_value(), true);
}

TEST_F(RoutingStates, ADrainThatBecomesAStopHasNoMoreTimeThanAStop) {
  machine_.set(true, now_);
  load_.held = 1;
  ASSERT_TRUE(machine_.drain(now_, kNotice, std::chrono::hours(24)));
  pass(seconds(60));
  machine_.disable(now_, kNotice);
  EXPECT_EQ(machine_.latest(), now_ + 3 * kNotice);
  pass(seconds(60));
  machine_.disable(now_, kNotice);
  pass(3 * kNotice - seconds(60));
  EXPECT_EQ(state(), RoutingState::kStopping);
  pass(seconds(1));
  EXPECT_EQ(state(), RoutingState::kDisabled) << "a repeated request is the same stop";
  EXPECT_EQ(machine_.cut_off(), 1U);
}

TEST_F(RoutingStates, AStopDoesNotRepeatTheWaitForAcknowledgements) {
  machine_.set(true, now_);
  load_.held = 1;
  told_ = {.pushed = 2, .acknowledged = 2, .counted = true};
  ASSERT_TRUE(machine_.drain(now_, kNotice, seconds(600)));
  pass(seconds(5));
  ASSERT_EQ(machine_.phase(), DrainPhase::kEmptying);
  machine_.disable(now_, kNotice);
  pass(seconds(5));
  EXPECT_EQ(state(), RoutingState::kStopping) << "something is here";
  load_.held = 0;
  pass(seconds(1));
  EXPECT_EQ(state(), RoutingState::kDisabled);
}

TEST_F(RoutingStates, LeavingDuringAStopCountsPeersInTheSameTime) {
  machine_.set(true, now_);
  machine_.disable(now_, kNotice);
  pass(seconds(60));
  const Instant latest = machine_.latest();
  ASSERT_TRUE(machine_.leave(now_, kNotice, std::chrono::hours(1), false));
  EXPECT_TRUE(machine_.notifies_peers());
  EXPECT_EQ(machine_.latest(), latest);
  told_ = {.pushed = 2, .acknowledged = 1, .counted = true};
  pass(seconds(51));
  EXPECT_EQ(machine_.phase(), DrainPhase::kEmptying) << "110 s after the stop began";
  pass(seconds(2));
  EXPECT_EQ(machine_.phase(), DrainPhase::kDrained);
}

TEST_F(RoutingStates, LeavingDuringAStopDoesNotRepeatAcknowledgements) {
  machine_.set(true, now_);
  machine_.disable(now_, kNotice);
  ASSERT_TRUE(machine_.leave(now_, kNotice, seconds(600), false));
  told_ = {.pushed = 2, .acknowledged = 2, .counted = true};
  pass(seconds(3));
  EXPECT_EQ(machine_.phase(), DrainPhase::kDrained);
}

TEST_F(RoutingStates, LeavingCannotBeUndone) {
  EXPECT_EQ(machine_.leave(now_, kNotice, seconds(9), false).error(), Errc::kInvalid);
  machine_.set(true, now_);
  ASSERT_TRUE(machine_.leave(now_, kNotice, seconds(600), false)) << "it is a drain";
  EXPECT_EQ(machine_.phase(), DrainPhase::kNoticing);
  machine_.disable(now_, kNotice);
  machine_.set(true, now_);
  EXPECT_EQ(machine_.phase(), DrainPhase::kNoticing) << "a stop would not count";
  EXPECT_EQ(machine_.enable(now_).error(), Errc::kBusy);
  EXPECT_EQ(machine_.undrain(now_).error(), Errc::kBusy);
  told_ = kNobody;
  pass(seconds(3));
  EXPECT_EQ(machine_.phase(), DrainPhase::kDrained);
  machine_.disable(now_, kNotice);
  EXPECT_EQ(machine_.phase(), DrainPhase::kDrained);
}

// In any order of requests: routing is advertised only while enabled, a drain ends within its
// bound, and held messages are not released early.
TEST_F(RoutingStates, AnyOrderOfRequestsEndsInTime) {
  for (std::uint64_t seed = 1; seed <= mocks::seeds_of(200); ++seed) {
    Random random(seed);
    machine_ = {};
    for (int i = 0; i < 400; ++i) {
      load_.held = random.below(3);
      load_.taken += random.below(2);
      told_ = {.pushed = 2,
               .acknowledged = static_cast<std::uint32_t>(random.below(3)),
               .by_ping = static_cast<std::uint32_t>(random.below(2)),
               .counted = random.below(4) != 0};
      switch (random.below(16)) {
        case 0: (void)machine_.enable(now_); break;
        case 1: machine_.disable(now_, kNotice); break;
        case 2: (void)machine_.drain(now_, kNotice, seconds(random.below(200))); break;
        case 3: (void)machine_.undrain(now_); break;
        case 4:
          if (random.below(20) == 0) (void)machine_.leave(now_, kNotice, seconds(90), false);
          break;
        default: break;
      }
      const bool stopping = state() == RoutingState::kStopping;
      const bool in_time = now_ < machine_.latest();
      const bool changed = machine_.step(now_, load_, told_);
      ASSERT_EQ(machine_.advertised(), state() == RoutingState::kEnabled);
      ASSERT_FALSE(stopping && !in_time && !changed) << "seed " << seed;
      ASSERT_FALSE(stopping && in_time && changed && load_.held > 0) << "seed " << seed;
      ASSERT_EQ(machine_.phase() == DrainPhase::kDrained && state() != RoutingState::kDisabled,
                false);
      now_ += seconds(random.below(60));
    }
  }
}

}  // namespace
}  // namespace plnet::lnet::routing_state_test
