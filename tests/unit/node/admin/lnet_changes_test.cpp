// SPDX-License-Identifier: BSD-3-Clause
#include "node/admin/lnet_changes.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/node/admin/small_node.hpp"

namespace plnet::node::lnet_changes_test {
namespace {

using Progress = LnetDesk::Progress;

const ManualClock kStandsStill;
constexpr Duration kBound = std::chrono::seconds(1);

struct Script {
  std::string log;

  LnetStep step(char name, Outcome<Progress> result = Progress::kDone, int again = 0) {
    return {.act = [this, name, result, again](lnet::Node&) mutable -> Outcome<Progress> {
              log += name;
              if (again-- > 0) return Progress::kAgain;
              return result;
            },
            .undo = [this, name](lnet::Node&) -> Outcome<Progress> {
              log += std::string("-") + name;
              return Progress::kDone;
            }};
  }
};

TEST(LnetChanges, StepsAreCarriedOutInOrder) {
  StillNode still;
  Script script;
  auto attempt =
      carry_out({script.step('a'), script.step('b'), script.step('c')}, kStandsStill, kBound);
  EXPECT_EQ(attempt(*still.node).value(), Progress::kDone);
  EXPECT_EQ(script.log, "abc");
}

TEST(LnetChanges, EarlierStepsAreUndoneWhenALaterOneFails) {
  StillNode still;
  Script script;
  auto attempt = carry_out(
      {script.step('a'), script.step('b'), script.step('c', failure(Errc::kNoMemory, "full"))},
      kStandsStill, kBound);
  const auto done = attempt(*still.node);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().what, "full");
  EXPECT_EQ(script.log, "abc-b-a");
}

TEST(LnetChanges, StepsThatCannotBeUndoneAreReported) {
  StillNode still;
  Script script;
  LnetStep lasting = script.step('b');
  lasting.undo = [](lnet::Node&) -> Outcome<Progress> {
    return failure(Errc::kNotFound, "the address is not there any more");
  };
  auto attempt = carry_out(
      {script.step('a'), std::move(lasting), script.step('c', failure(Errc::kNoMemory, "full"))},
      kStandsStill, kBound);
  const auto done = attempt(*still.node);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Errc::kNoMemory);
  EXPECT_EQ(done.error().what,
            "full; and undoing the change failed: the address is not there any more");
  EXPECT_EQ(script.log, "abc-a") << "the others are taken back nevertheless";
}

TEST(LnetChanges, AStepThatMustWaitIsTriedAgainAndNoOtherBeforeIt) {
  StillNode still;
  Script script;
  auto attempt =
      carry_out({script.step('a', Progress::kDone, 2), script.step('b')}, kStandsStill, kBound);
  EXPECT_EQ(attempt(*still.node).value(), Progress::kAgain);
  EXPECT_EQ(attempt(*still.node).value(), Progress::kAgain);
  EXPECT_EQ(attempt(*still.node).value(), Progress::kDone);
  EXPECT_EQ(script.log, "aaab");
}

TEST(LnetChanges, StepsThatTimeOutAreUndone) {
  StillNode still;
  Script script;
  ManualClock clock;
  auto attempt = carry_out({script.step('a'), script.step('b', Progress::kAgain)}, clock, kBound);
  EXPECT_EQ(attempt(*still.node).value(), Progress::kAgain);
  clock.advance(kBound);
  const auto done = attempt(*still.node);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Errc::kTimedOut);
  EXPECT_EQ(script.log, "abb-a");
}

TEST(LnetChanges, AStepThatTimesOutIsUndoneWithTheRest) {
  StillNode still;
  Script script;
  ManualClock clock;
  LnetStep half = script.step('b', Progress::kAgain);
  half.in_parts = true;
  auto attempt = carry_out({script.step('a'), std::move(half), script.step('c')}, clock, kBound);
  EXPECT_EQ(attempt(*still.node).value(), Progress::kAgain);
  clock.advance(kBound);
  ASSERT_FALSE(attempt(*still.node));
  EXPECT_EQ(script.log, "abb-b-a");
}

TEST(LnetChanges, ManyStepsTakeSeveralTurns) {
  StillNode still;
  Script script;
  std::vector<LnetStep> steps;
  for (int i = 0; i < 100; ++i)
    steps.push_back(script.step('x'));
  auto attempt = carry_out(std::move(steps), kStandsStill, kBound);
  unsigned turns = 1;
  while (attempt(*still.node).value() == Progress::kAgain)
    ++turns;
  EXPECT_GT(turns, 1U);
  EXPECT_EQ(script.log, std::string(100, 'x'));
}

}  // namespace
}  // namespace plnet::node::lnet_changes_test
