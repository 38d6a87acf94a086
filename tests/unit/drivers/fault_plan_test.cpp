// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "drivers/net/fault/judge.hpp"
#include "drivers/net/fault/plan.hpp"

namespace plnet::drivers::fault_plan_test {
namespace {

std::string refusal(const FaultRule& rule, Seam seam) {
  FaultPlan plan;
  EXPECT_TRUE(plan.add(rule));
  const auto checked = check_plan(plan, seam);
  return checked ? "" : checked.error().what;
}

TEST(FaultPlan, RefusesUnsupportedFaultsWithTheReason) {
  EXPECT_EQ(refusal({.fault = Fault::kReorder}, Seam::kStream),
            "fault rule 1 (reorder): means nothing at the stream seam");
  EXPECT_EQ(refusal({.fault = Fault::kTruncate}, Seam::kLnd),
            "fault rule 1 (truncate): not possible for tx at the lnd seam, expected rx");
  EXPECT_EQ(refusal({.probability = 1.5}, Seam::kLnd),
            "fault rule 1 (drop): probability out of range, expected 0 to 1");
  EXPECT_NE(refusal({.trigger = Trigger::kAtNth, .nth = 0}, Seam::kLnd), "");
  EXPECT_NE(refusal({.nid = lnet::Nid::any()}, Seam::kEndpoint), "");
  EXPECT_NE(refusal({.stream = 1}, Seam::kLnd), "");
  EXPECT_NE(refusal({.delay = Duration(-1)}, Seam::kLnd), "");
  EXPECT_EQ(refusal({}, Seam::kLnd), "");
}

TEST(FaultPlan, IsBounded) {
  FaultPlan plan;
  for (std::size_t i = 0; i < kRulesMax; ++i)
    EXPECT_TRUE(plan.add({}));
  EXPECT_FALSE(plan.add({}));
}

TEST(FaultJudge, TriggersFireWhenTheySay) {
  FaultJudge judge(Seam::kLnd, Random(1));
  FaultPlan plan;
  EXPECT_TRUE(plan.add({.trigger = Trigger::kEveryNth, .nth = 3}));
  EXPECT_TRUE(plan.add({.fault = Fault::kFail, .trigger = Trigger::kAtNth, .nth = 4}));
  ASSERT_TRUE(judge.set_plan(plan));
  std::string run;
  for (int i = 0; i < 9; ++i) {
    const FaultRule* const rule = judge.draw(Direction::kTx, {}, Instant{});
    run += rule == nullptr ? '.' : rule->fault == Fault::kDrop ? 'd' : 'f';
  }
  EXPECT_EQ(run, "..d.fd..d");  // the second rule does not see messages that the first took
  EXPECT_EQ(judge.counts(0), (RuleCounts{.seen = 9, .fired = 3}));
  EXPECT_EQ(judge.counts(1), (RuleCounts{.seen = 6, .fired = 1}));
}

TEST(FaultJudge, SeesNothingOutsideItsTimes) {
  FaultJudge judge(Seam::kLnd, Random(1));
  FaultPlan plan;
  const Instant start{std::chrono::seconds(1)};
  EXPECT_TRUE(plan.add({.from = start, .until = start + std::chrono::seconds(1)}));
  ASSERT_TRUE(judge.set_plan(plan));
  EXPECT_EQ(judge.draw(Direction::kTx, {}, start - Duration(1)), nullptr);
  EXPECT_NE(judge.draw(Direction::kTx, {}, start), nullptr);
  EXPECT_EQ(judge.draw(Direction::kRx, {}, start), nullptr);
  EXPECT_EQ(judge.draw(Direction::kTx, {}, start + std::chrono::seconds(1)), nullptr);
  EXPECT_EQ(judge.counts(0).seen, 1U);
}

TEST(FaultJudge, ARefusedPlanChangesNothing) {
  FaultJudge judge(Seam::kStream, Random(1));
  FaultPlan good;
  EXPECT_TRUE(good.add({.fault = Fault::kReset}));
  ASSERT_TRUE(judge.set_plan(good));
  EXPECT_NE(judge.draw(Direction::kTx, {}, Instant{}), nullptr);
  FaultPlan bad;
  EXPECT_TRUE(bad.add({.fault = Fault::kDrop}));
  EXPECT_FALSE(judge.set_plan(bad));
  EXPECT_EQ(judge.counts(0).fired, 1U);
  EXPECT_EQ(judge.plan().rules[0].fault, Fault::kReset);
}

TEST(FaultJudge, ChanceFollowsTheSeed) {
  const auto run = [](std::uint64_t seed) {
    FaultJudge judge(Seam::kLnd, Random(seed));
    FaultPlan plan;
    EXPECT_TRUE(plan.add({.probability = 0.5}));
    EXPECT_TRUE(judge.set_plan(plan));
    std::string drawn;
    for (int i = 0; i < 64; ++i)
      drawn += judge.draw(Direction::kTx, {}, Instant{}) != nullptr ? 'x' : '.';
    return drawn;
  };
  EXPECT_EQ(run(5), run(5));
  EXPECT_NE(run(5), run(6));
}

}  // namespace
}  // namespace plnet::drivers::fault_plan_test
