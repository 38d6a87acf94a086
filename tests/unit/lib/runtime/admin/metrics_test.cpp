// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/admin/metrics.hpp"

#include <memory>

#include <gtest/gtest.h>

namespace plnet::runtime {
namespace {

#define TEST_COUNTERS(X)                                     \
  X(kTurns, "turns", "turns", kCount, "Turns of the loop")   \
  X(kIdle, "idle_ns", "ns", kCount, "Time without work")     \
  X(kBytes, "sent", "bytes", kCount, "Bytes sent")           \
  X(kDepth, "ring_depth", "", kGauge, "Objects in the ring") \
  X(kLongest, "longest_turn", "usec", kHighWater, "The longest turn")
PLNET_COUNTERS(TestTable, TEST_COUNTERS);
using Id = TestTable::Id;

TEST(PrometheusName, HasUnitAndTotal) {
  const auto name = [](std::string_view object, std::string_view counter, std::string_view unit,
                       CounterKind kind = CounterKind::kCount) {
    return prometheus_name(object, {counter, unit, kind, ""}).name;
  };
  EXPECT_EQ(name("poller", "turns", "turns"), "plnet_poller_turns_total");
  EXPECT_EQ(name("poller", "turns_with_work", "turns"), "plnet_poller_turns_with_work_total");
  EXPECT_EQ(name("poller", "hops_in", "hops"), "plnet_poller_hops_in_total");
  EXPECT_EQ(name("ni", "sent", "messages"), "plnet_ni_sent_messages_total");
  EXPECT_EQ(name("ni", "sent_bytes", "bytes"), "plnet_ni_sent_bytes_total");
  EXPECT_EQ(name("poller", "idle_nsec", "nsec"), "plnet_poller_idle_seconds_total");
  EXPECT_EQ(name("poller", "turn_max", "ns", CounterKind::kHighWater),
            "plnet_poller_turn_max_seconds");
  EXPECT_EQ(name("pool", "free", "", CounterKind::kGauge), "plnet_pool_free");
  EXPECT_EQ(name("arena", "size", "MiB", CounterKind::kGauge), "plnet_arena_size_bytes");
  EXPECT_EQ(name("odd object", "x", "per cent", CounterKind::kGauge),
            "plnet_odd_object_x_per_cent");
}

TEST(Metrics, PrintsPrometheusTextFromTheTable) {
  Counters<TestTable> first;
  Counters<TestTable> second;
  Metrics metrics;
  metrics.add("poller", {{"shard", "0"}, {"cpt", "0"}}, first.view());
  const auto id = metrics.add("poller", {{"shard", "1"}, {"cpt", "a\"b"}}, second.view());
  first.add(Id::kTurns, 5);
  first.add(Id::kIdle, 1'500'000'000);
  first.set(Id::kDepth, 3);
  second.add(Id::kTurns, 7);
  second.raise_to(Id::kLongest, 250);

  const std::string text = metrics.prometheus_text();
  for (const char* line : {"# HELP plnet_poller_turns_total Turns of the loop\n# TYPE "
                           "plnet_poller_turns_total counter\n"
                           "plnet_poller_turns_total{shard=\"0\",cpt=\"0\"} 5\n"
                           "plnet_poller_turns_total{shard=\"1\",cpt=\"a\\\"b\"} 7\n",
                           "plnet_poller_idle_seconds_total{shard=\"0\",cpt=\"0\"} 1.5\n",
                           "# TYPE plnet_poller_sent_bytes_total counter\n",
                           "# TYPE plnet_poller_ring_depth "
                           "gauge\nplnet_poller_ring_depth{shard=\"0\",cpt=\"0\"} 3\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << "---\n" << text;
  }
  EXPECT_NE(text.find("plnet_poller_longest_turn_seconds{shard=\"1\",cpt=\"a\\\"b\"} 0.00025"),
            std::string::npos)
      << text;

  metrics.remove(id);
  EXPECT_EQ(metrics.prometheus_text().find("shard=\"1\""), std::string::npos);
}

TEST(Metrics, NamesHostsToPrometheus) {
  const Counters<TestTable> counters;
  Metrics metrics;
  metrics.name_hosts([](std::string_view value) { return value == "7@kfi" ? "n7" : ""; });
  metrics.add("ni", {{"nid", "7@kfi"}, {"shard", "0"}}, counters.view());
  metrics.add("ni", {{"nid", "8@kfi"}, {"shard", "0"}}, counters.view());
  const std::string text = metrics.prometheus_text();
  EXPECT_NE(text.find("{nid=\"7@kfi\",shard=\"0\",host=\"n7\"} 0"), std::string::npos) << text;
  EXPECT_NE(text.find("{nid=\"8@kfi\",shard=\"0\"} 0"), std::string::npos) << text;
}

TEST(Metrics, VisitsSetsInTheOrderInWhichTheyCame) {
  const Counters<TestTable> counters;
  Metrics metrics;
  metrics.add("b", {}, counters.view());
  metrics.add("a", {}, counters.view());
  std::string order;
  metrics.for_each([&](const MetricSet& set) { order += set.object; });
  EXPECT_EQ(order, "ba");
}

TEST(Metrics, PrintsHistogramsByTheirLabels) {
  const auto ping = std::make_unique<Histogram>();
  const auto read = std::make_unique<Histogram>();
  Metrics metrics;
  constexpr HistogramInfo kInfo{"latency", "ns", "How long it took"};
  const auto id = metrics.add("test", {{"kind", "ping"}}, kInfo, *ping);
  (void)metrics.add("test", {{"kind", "read"}}, kInfo, *read);
  ping->record(1000);       // below 1024
  ping->record(1024);       // the next bucket
  ping->record(1U << 20U);  // a millisecond
  ping->record(std::uint64_t{1} << 50U);
  const std::string text = metrics.prometheus_text();
  EXPECT_NE(text.find("# TYPE plnet_test_latency_seconds histogram"), std::string::npos) << text;
  EXPECT_NE(text.find("plnet_test_latency_seconds_count{kind=\"ping\"} 4"), std::string::npos);
  EXPECT_NE(text.find("plnet_test_latency_seconds_count{kind=\"read\"} 0"), std::string::npos);
  EXPECT_NE(text.find("kind=\"ping\",le=\"1.024e-06\"} 1"), std::string::npos) << text;
  EXPECT_NE(text.find("kind=\"ping\",le=\"2.048e-06\"} 2"), std::string::npos);
  EXPECT_NE(text.find("kind=\"ping\",le=\"+Inf\"} 4"), std::string::npos);
  metrics.remove(id);
  EXPECT_EQ(metrics.prometheus_text().find("ping"), std::string::npos);
}

}  // namespace
}  // namespace plnet::runtime
