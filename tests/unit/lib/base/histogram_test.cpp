// SPDX-License-Identifier: BSD-3-Clause
#include "lib/base/histogram.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "lib/base/random.hpp"

namespace plnet::histogram_test {
namespace {

using Snapshot = HistogramSnapshot;

std::unique_ptr<Snapshot> snapshot_of(const Histogram& histogram) {
  auto out = std::make_unique<Snapshot>();
  histogram.snapshot(*out);
  return out;
}

TEST(Histogram, BucketsFollowOneAnotherWithoutGaps) {
  EXPECT_EQ(Snapshot::bucket_of(0), 0U);
  EXPECT_EQ(Snapshot::bucket_of(UINT64_MAX), Snapshot::kBuckets - 1);
  EXPECT_EQ(Snapshot::top_of(Snapshot::kBuckets - 1), UINT64_MAX);
  for (std::size_t bucket = 0; bucket + 1 < Snapshot::kBuckets; ++bucket) {
    ASSERT_EQ(Snapshot::bucket_of(Snapshot::top_of(bucket)), bucket);
    ASSERT_EQ(Snapshot::bucket_of(Snapshot::top_of(bucket) + 1), bucket + 1);
  }
}

TEST(Histogram, RelativeErrorIsAtMostOneInThirtyTwo) {
  Random random(7);
  for (int i = 0; i < 100000; ++i) {
    const std::uint64_t value = random.next() >> random.below(64);
    const std::uint64_t read = Snapshot::top_of(Snapshot::bucket_of(value));
    ASSERT_GE(read, value);
    ASSERT_LE(read - value, value / 32) << value;
  }
}

TEST(Histogram, PercentilesAgreeWithSortedValues) {
  Histogram histogram;
  Random random(11);
  std::vector<std::uint64_t> values(10001);
  for (auto& value : values) {
    value = static_cast<std::uint64_t>(random.exponential(50000));
    histogram.record(value);
  }
  std::ranges::sort(values);
  const auto snapshot = snapshot_of(histogram);
  for (const double percent : {0.0, 1.0, 50.0, 90.0, 99.0, 99.9, 100.0}) {
    const auto rank = std::max(1.0, std::ceil(percent / 100 * 10001));
    const std::uint64_t truth = values[static_cast<std::size_t>(rank) - 1];
    EXPECT_GE(snapshot->percentile(percent), truth) << percent;
    EXPECT_LE(snapshot->percentile(percent), truth + truth / 32) << percent;
  }
  EXPECT_EQ(snapshot->count(), 10001U);
  EXPECT_EQ(snapshot->min(), values.front());
  EXPECT_EQ(snapshot->max(), values.back());
  EXPECT_EQ(snapshot->percentile(100), values.back());
}

TEST(Histogram, EmptyAndReset) {
  Histogram histogram;
  const auto expect_empty = [&histogram] {
    const auto snapshot = snapshot_of(histogram);
    EXPECT_EQ(snapshot->count(), 0U);
    EXPECT_EQ(snapshot->min(), 0U);
    EXPECT_EQ(snapshot->max(), 0U);
    EXPECT_EQ(snapshot->percentile(50), 0U);
    EXPECT_EQ(snapshot->mean(), 0.0);
  };
  expect_empty();
  histogram.record(5);
  histogram.record(7);
  EXPECT_EQ(snapshot_of(histogram)->mean(), 6.0);
  histogram.reset();
  expect_empty();
}

TEST(Histogram, MergeIsAsIfRecordedTogether) {
  Histogram left;
  Histogram right;
  Histogram both;
  Random random(3);
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t value = random.below(1000000);
    (i % 3 == 0 ? left : right).record(value);
    both.record(value);
  }
  const auto merged = snapshot_of(left);
  merged->merge(*snapshot_of(right));
  const auto expected = snapshot_of(both);
  EXPECT_EQ(merged->count(), expected->count());
  EXPECT_EQ(merged->sum(), expected->sum());
  EXPECT_EQ(merged->min(), expected->min());
  EXPECT_EQ(merged->max(), expected->max());
  for (std::size_t bucket = 0; bucket < Snapshot::kBuckets; ++bucket)
    ASSERT_EQ(merged->in_bucket(bucket), expected->in_bucket(bucket));
}

}  // namespace
}  // namespace plnet::histogram_test
