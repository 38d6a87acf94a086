// SPDX-License-Identifier: BSD-3-Clause
#include "node/watch/recent_activity.hpp"

#include <gtest/gtest.h>

namespace plnet::node::recent_activity_test {
namespace {

using std::chrono::seconds;

ActivitySample sample(int second, std::uint64_t forwarded = 0) {
  ActivitySample sample{.at = Instant(seconds(second)), .forwarded = forwarded};
  sample.shards.resize(1);
  return sample;
}

TEST(RecentActivity, NothingIsKnownBeforeTheSecondSample) {
  RecentActivity activity;
  EXPECT_EQ(activity.rates().seconds, 0);
  EXPECT_EQ(activity.duty(0), 0);
  activity.take(sample(1, 100));
  EXPECT_EQ(activity.rates().seconds, 0);
  EXPECT_TRUE(activity.growing_causes().empty());
}

TEST(RecentActivity, RatesAreOfTheLastSeconds) {
  RecentActivity activity;
  for (int second = 0; second <= 100; ++second)
    activity.take(sample(second, second <= 90 ? 0 : 1000U * static_cast<unsigned>(second - 90)));
  EXPECT_EQ(activity.rates().seconds, 5);
  EXPECT_EQ(activity.rates().forwarded, 1000);
}

TEST(RecentActivity, DutyAndTimePerMessageAreOfTheLastSeconds) {
  RecentActivity activity;
  // Idle for an hour, then busy for three quarters of the time.
  ActivitySample idle = sample(3600);
  idle.shards[0].idle_nsec = 3'600'000'000'000;
  activity.take(idle);
  ActivitySample busy = idle;
  busy.at += seconds(5);
  busy.shards[0].busy_nsec += 3'000'000'000;
  busy.shards[0].asleep_nsec += 1'000'000'000;
  busy.shards[0].messages += 1000;
  activity.take(busy);
  EXPECT_DOUBLE_EQ(activity.duty(0), 0.75);
  EXPECT_DOUBLE_EQ(activity.nsec_per_message(0), 3'000'000);
  EXPECT_EQ(activity.duty(7), 0) << "there is no such shard";
}

TEST(RecentActivity, CausesOfLossThatGrowAreTheLargestFirstAndEndAfterAMinute) {
  RecentActivity activity;
  activity.take(sample(0));
  ActivitySample later = sample(1);
  const auto count = [&later](lnet::Cause cause) -> std::uint64_t& {
    return later.causes[static_cast<std::size_t>(cause)];
  };
  count(lnet::Cause::kDroppedHopDown) = 3;
  count(lnet::Cause::kTxNoPath) = 5;
  count(lnet::Cause::kTxOtherWay) = 50;        // found another way
  count(lnet::Cause::kHeldClientCredit) = 50;  // waited
  activity.take(later);
  const auto growing = activity.growing_causes();
  ASSERT_EQ(growing.size(), 2U);
  EXPECT_EQ(growing[0].cause, lnet::Cause::kTxNoPath);
  EXPECT_EQ(growing[0].lately, 5U);
  EXPECT_EQ(growing[1].ever, 3U);
  for (int second = 2; second <= 61; ++second) {
    later.at = Instant(seconds(second));
    activity.take(later);
  }
  EXPECT_TRUE(activity.growing_causes().empty());
}

TEST(RecentActivity, CountersThatWereResetCountAnew) {
  RecentActivity activity;
  activity.take(sample(0, 1'000'000));
  activity.take(sample(1, 10));
  EXPECT_EQ(activity.rates().forwarded, 10);
}

}  // namespace
}  // namespace plnet::node::recent_activity_test
