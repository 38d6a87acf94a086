// SPDX-License-Identifier: BSD-3-Clause
#include <memory>

#include <gtest/gtest.h>

#include "apps/lnet-selftest/lst/latency_json.hpp"

namespace plnet::run::latency_test {
namespace {

TEST(SelftestLatency, CoversTheAnswersInBetween) {
  const auto node = std::make_unique<selftest::TestLatency>();
  node->write.record(5'000'000);
  selftest::PaceStatistics paced;
  const auto before = lst::latency_json(*node, paced);
  paced.add(selftest::PaceCount::kBegun, 100);
  paced.add(selftest::PaceCount::kDropped, 3);
  for (unsigned i = 0; i < 99; ++i)
    node->write.record(100'000);
  node->write.record(900'000);
  node->ping.record(7);
  auto seen = lst::latency_between(before, lst::latency_json(*node, paced), "write");
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->pace.begun, 100U);
  EXPECT_EQ(seen->pace.waited, 0U);
  EXPECT_EQ(seen->pace.dropped, 3U);
  const auto figures = figures_of(*seen);
  EXPECT_EQ(figures.count, 100U);
  // Buckets are up to 1/32 wide.
  EXPECT_NEAR(figures.p50_us, 100, 100.0 / 32);
  EXPECT_NEAR(figures.p99_us, 100, 100.0 / 32);
  EXPECT_NEAR(figures.max_us, 900, 900.0 / 32);
  EXPECT_EQ(figures_of(*lst::latency_between(before, before, "write")).count, 0U);
  EXPECT_EQ(lst::figures_of({}).count, 0U);
  lst::LatencySeen both;
  add_to(both, *seen);
  add_to(both, *seen);
  EXPECT_EQ(figures_of(both).count, 200U);
  EXPECT_EQ(both.pace.begun, 200U);
}

TEST(SelftestLatency, InvalidAnswersAreRefused) {
  const auto node = std::make_unique<selftest::TestLatency>();
  const selftest::PaceStatistics paced;
  const auto before = lst::latency_json(*node, paced);
  node->read.record(1);
  const auto after = lst::latency_json(*node, paced);
  EXPECT_FALSE(lst::latency_between(after, before, "read"));  // counters decreased
  EXPECT_FALSE(lst::latency_between(before, after, "erase"));
  EXPECT_FALSE(lst::latency_between(before, runtime::Json::array(), "read"));
  auto damaged = after;
  damaged["read"]["buckets"][0] = {1'000'000, 1};
  EXPECT_FALSE(lst::latency_between(before, damaged, "read"));
  damaged["read"]["buckets"][0] = {-1, "x"};
  EXPECT_FALSE(lst::latency_between(before, damaged, "read"));
  damaged["read"] = 5;
  EXPECT_FALSE(lst::latency_between(before, damaged, "read"));
}

}  // namespace
}  // namespace plnet::run::latency_test
