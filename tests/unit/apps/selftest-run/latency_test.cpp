// SPDX-License-Identifier: BSD-3-Clause
#include <memory>

#include <gtest/gtest.h>

#include "apps/lst/latency_json.hpp"

namespace plnet::run {
namespace {

TEST(SelftestLatency, IsOfWhatCameInBetween) {
  const auto node = std::make_unique<selftest::TestLatency>();
  node->write.record(5'000'000);
  const auto before = lst::latency_json(*node);
  for (unsigned i = 0; i < 99; ++i)
    node->write.record(100'000);
  node->write.record(900'000);
  node->ping.record(7);
  const auto figures = lst::latency_between(before, lst::latency_json(*node), "write");
  ASSERT_TRUE(figures);
  EXPECT_EQ(figures->count, 100U);
  // Buckets are up to 1/32 wide.
  EXPECT_NEAR(figures->p50_us, 100, 100.0 / 32);
  EXPECT_NEAR(figures->p99_us, 100, 100.0 / 32);
  EXPECT_NEAR(figures->max_us, 900, 900.0 / 32);
  EXPECT_EQ(lst::latency_between(before, before, "write")->count, 0U);
}

TEST(SelftestLatency, WhatIsNoAnswerIsRefused) {
  const auto node = std::make_unique<selftest::TestLatency>();
  const auto before = lst::latency_json(*node);
  node->read.record(1);
  const auto after = lst::latency_json(*node);
  EXPECT_FALSE(lst::latency_between(after, before, "read"));  // went backwards
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
}  // namespace plnet::run
