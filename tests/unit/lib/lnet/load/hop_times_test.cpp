// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/load/hop_times.hpp"

#include <gtest/gtest.h>

namespace plnet::lnet::hop_times_test {
namespace {

using std::chrono::microseconds;

TEST(HopTimes, EachBucketBeginsWhereTheOneBeforeItEnds) {
  EXPECT_EQ(HopTimes::bucket_of({}), 0U);
  for (std::size_t i = 0; i + 1 < HopTimes::kBuckets; ++i) {
    const Duration end = HopTimes::end_of(i);
    EXPECT_EQ(HopTimes::bucket_of(end - Duration(1)), i);
    EXPECT_EQ(HopTimes::bucket_of(end), i + 1);
  }
}

TEST(HopTimes, ValuesOutOfRangeAreInTheFirstOrLastBucket) {
  EXPECT_EQ(HopTimes::bucket_of(microseconds(-5)), 0U);
  EXPECT_EQ(HopTimes::bucket_of(std::chrono::hours(1)), HopTimes::kBuckets - 1);
}

TEST(HopTimes, APercentileIsTheEndOfItsBucket) {
  HopTimes times;
  EXPECT_EQ(times.percentile(50), Duration{}) << "of none";
  for (int i = 0; i < 98; ++i)
    times.record(microseconds(5));
  times.record(microseconds(50));
  times.record(microseconds(500));
  EXPECT_EQ(times.percentile(50), microseconds(6));
  EXPECT_EQ(times.percentile(98), microseconds(6));
  EXPECT_EQ(times.percentile(99), microseconds(64));
  EXPECT_EQ(times.percentile(100), microseconds(512));
  EXPECT_EQ(times.count(), 100U);
  EXPECT_EQ(times.in_bucket(HopTimes::bucket_of(microseconds(5))), 98U);
  EXPECT_EQ(times.sum(), microseconds(98 * 5 + 550));
}

TEST(HopTimes, SumsAreTimesAgain) {
  HopTimes fast;
  HopTimes slow;
  for (int i = 0; i < 3; ++i) {
    fast.record(microseconds(1));
    slow.record(microseconds(100));
  }
  fast.merge(slow);
  EXPECT_EQ(fast.percentile(50), microseconds(2));
  EXPECT_EQ(fast.percentile(51), microseconds(128));
  EXPECT_EQ(fast.sum(), microseconds(303));
}

}  // namespace
}  // namespace plnet::lnet::hop_times_test
