// SPDX-License-Identifier: BSD-3-Clause
#include "node/watch/load_metrics.hpp"

#include <algorithm>
#include <ranges>
#include <string>

#include <gtest/gtest.h>

namespace plnet::node::load_metrics_test {
namespace {

lnet::Nid tcp(std::uint32_t address) {
  return lnet::Nid::of(lnet::NetType::kTcp, 0, 0x0a000000 + address);
}

lnet::LoadSnapshot talkers(std::uint32_t count) {
  lnet::LoadSnapshot snapshot;
  snapshot.covered = std::chrono::seconds(10);
  for (std::uint32_t i = 1; i <= count; ++i)
    snapshot.nids.push_back({.key = tcp(i), .messages = std::uint64_t{100} * i, .bytes = 50});
  return snapshot;
}

struct LoadMetricsOf : testing::Test {
  runtime::Metrics metrics;
  LoadMetrics load{metrics};

  [[nodiscard]] std::ptrdiff_t lines() const {
    const std::string text = metrics.prometheus_text();
    return std::ranges::count_if(std::ranges::views::split(text, '\n'), [](auto line) {
      return line.begin() != line.end() && *line.begin() == 'p';
    });
  }
};

TEST_F(LoadMetricsOf, ShowsTheHeaviestAndNoMoreThanThose) {
  load.show(talkers(100));
  const std::string text = metrics.prometheus_text();
  EXPECT_TRUE(text.contains("plnet_top_nid_messages_per_second{nid=\"10.0.0.100@tcp\"} 1000\n"))
      << text;
  EXPECT_TRUE(text.contains("plnet_top_nid_bytes_per_second{nid=\"10.0.0.91@tcp\"} 5\n")) << text;
  EXPECT_FALSE(text.contains("10.0.0.90@tcp")) << text;
  EXPECT_EQ(lines(), 2 * static_cast<std::ptrdiff_t>(LoadMetrics::kRows));
}

TEST_F(LoadMetricsOf, EarlierValuesAreRemoved) {
  load.show(talkers(100));
  load.show(talkers(1));
  EXPECT_EQ(lines(), 2);
  load.let_go();
  EXPECT_EQ(lines(), 0);
}

TEST_F(LoadMetricsOf, NextHopsHaveTheirDelaysInSeconds) {
  lnet::LoadSnapshot snapshot;
  snapshot.covered = std::chrono::seconds(10);
  lnet::Talker<lnet::Nid, lnet::HopTimes> hop{.key = tcp(1), .messages = 16};
  hop.more.record(std::chrono::microseconds(100));
  snapshot.hops.push_back(hop);
  load.show(snapshot);
  const std::string text = metrics.prometheus_text();
  EXPECT_TRUE(text.contains("plnet_top_hop_p99_seconds{hop=\"10.0.0.1@tcp\"} 0.000128")) << text;
  EXPECT_EQ(lines(), 4);
}

TEST_F(LoadMetricsOf, NextHopsHaveTheirTimesAsAHistogram) {
  lnet::LoadSnapshot snapshot;
  snapshot.covered = std::chrono::seconds(10);
  for (std::uint32_t i = 1; i <= 20; ++i) {
    lnet::Talker<lnet::Nid, lnet::HopTimes> hop{.key = tcp(i), .messages = 1000 * i};
    snapshot.hops.push_back(hop);
    for (const int us : {3, 100, 100'000'000})
      hop.more.record(std::chrono::microseconds(us));
    snapshot.hops_of_all_time.push_back(hop);
    snapshot.hops_of_all_time.push_back(hop);  // of another shard
  }
  load.show(snapshot);
  const std::string text = metrics.prometheus_text();
  for (const std::string_view line :
       {"# TYPE plnet_top_hop_duration_seconds histogram\n",
        "plnet_top_hop_duration_seconds_bucket{hop=\"10.0.0.20@tcp\",le=\"8e-06\"} 32\n",
        "plnet_top_hop_duration_seconds_bucket{hop=\"10.0.0.20@tcp\",le=\"6.4e-05\"} 32\n",
        "plnet_top_hop_duration_seconds_bucket{hop=\"10.0.0.20@tcp\",le=\"0.000128\"} 64\n",
        "plnet_top_hop_duration_seconds_bucket{hop=\"10.0.0.20@tcp\",le=\"8.388608\"} 64\n",
        "plnet_top_hop_duration_seconds_bucket{hop=\"10.0.0.20@tcp\",le=\"+Inf\"} 96\n",
        "plnet_top_hop_duration_seconds_count{hop=\"10.0.0.20@tcp\"} 96\n",
        "plnet_top_hop_duration_seconds_sum{hop=\"10.0.0.20@tcp\"} 3200.0032"})
    EXPECT_TRUE(text.contains(line)) << line << text;
  EXPECT_FALSE(text.contains("10.0.0.10@tcp")) << "no more than the heaviest";
  EXPECT_EQ(lines(), 10 * (4 + 22 + 2));
  load.let_go();
  EXPECT_EQ(lines(), 0);
}

}  // namespace
}  // namespace plnet::node::load_metrics_test
