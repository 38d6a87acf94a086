// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-selftest/run/figures.hpp"

#include <gtest/gtest.h>

#include "tests/unit/apps/lnet-selftest/run/stat_maker.hpp"

namespace plnet::run::figures_test {
namespace {

const Point kWrite{Operation::kWrite, 4096, 2};

TEST(SelftestFigures, RatesAreByTheNodesOwnTime) {
  const Counted before{.running_ms = 1000, .rpcs = 10, .sent_bytes = 5 << 20};
  const Counted after{.running_ms = 3000, .rpcs = 2010, .sent_bytes = 45 << 20};
  const auto figures = figures_between(stat_of({before}), stat_of({after}));
  ASSERT_EQ(figures.nodes.size(), 1U);
  EXPECT_DOUBLE_EQ(figures.nodes[0].rpc_rate, 1000);
  EXPECT_DOUBLE_EQ(figures.nodes[0].send_mibps, 20);
  EXPECT_DOUBLE_EQ(throughput_of(kWrite, figures), 20);
  EXPECT_DOUBLE_EQ(throughput_of({Operation::kRead, 4096, 2}, figures), 0);
}

TEST(SelftestFigures, CountersWrap) {
  const auto figures = figures_between(stat_of({{.running_ms = 0xffff'fe0c, .rpcs = 0xffff'ffff}}),
                                       stat_of({{.running_ms = 500, .rpcs = 99}}));
  ASSERT_EQ(figures.nodes.size(), 1U);
  EXPECT_DOUBLE_EQ(figures.nodes[0].rpc_rate, 100);
}

TEST(SelftestFigures, NodesThatDoNotTellAreCounted) {
  auto after = stat_of({{.running_ms = 1000}, {.running_ms = 5}});
  after.nodes[0].rpc_errno = 110;
  const auto figures = figures_between(stat_of({{.running_ms = 0}, {.running_ms = 5}}), after);
  EXPECT_TRUE(figures.nodes.empty());
  EXPECT_EQ(figures.silent, 2U);
}

// The measurement of these samples.
Measurement measured(const Point& point, const std::vector<Sample>& samples) {
  Interval interval(point, samples.front());
  for (std::size_t i = 1; i < samples.size(); ++i)
    interval.add(samples[i - 1], samples[i]);
  return interval.measure(0);
}

TEST(SelftestFigures, CountersMayWrapAsOftenAsTheyLikeInAMeasurement) {
  std::vector<Sample> samples;
  for (std::uint64_t i = 0; i < 4; ++i) {
    const auto wrapped = static_cast<std::uint32_t>(i * 3'000'000'000);
    samples.push_back({.from = stat_of({{.running_ms = wrapped, .rpcs = wrapped}})});
  }
  const Measurement done = measured(kWrite, samples);
  EXPECT_DOUBLE_EQ(done.seconds, 9'000'000);
  EXPECT_DOUBLE_EQ(done.rpc_rate, 1000);
}

TEST(SelftestFigures, NodesThatMissASampleAreNotMeasured) {
  std::vector<Sample> samples;
  for (std::uint32_t i = 0; i < 3; ++i)
    samples.push_back({.from = stat_of({{.running_ms = i * 1000}, {.running_ms = i * 1000}})});
  samples[1].from.nodes[0].rpc_errno = 110;
  const Measurement done = measured(kWrite, samples);
  ASSERT_EQ(done.from.nodes.size(), 1U);
  EXPECT_EQ(done.from.silent, 1U);
}

TEST(SelftestFigures, AMeasurementIsFromItsFirstToItsLastSample) {
  std::vector<Sample> samples;
  for (std::uint32_t i = 0; i < 3; ++i) {
    const std::uint64_t ticks = i;
    samples.push_back(
        {.from = stat_of(
             {{.running_ms = 1000 * i, .rpcs = 100 * i, .sent_bytes = ticks * ticks << 20}}),
         .to = stat_of({{.running_ms = 1000 * i}}),
         .cpus = {{.cpu = 0, .total = 200 * ticks, .idle = 50 * ticks, .steal = 10 * ticks}}});
  }
  const Measurement done = measured(kWrite, samples);
  EXPECT_DOUBLE_EQ(done.seconds, 2);
  EXPECT_DOUBLE_EQ(done.throughput_mibps, 2);
  EXPECT_EQ(done.series_mibps, (std::vector<double>{1, 3}));
  ASSERT_EQ(done.cpus.size(), 1U);
  EXPECT_DOUBLE_EQ(done.cpus[0].busy_percent, 70);
  EXPECT_DOUBLE_EQ(done.cpus[0].steal_percent, 5);
}

TEST(SelftestFigures, SpreadIsOverWholeRepeats) {
  std::vector<Measurement> all(4);
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].point = kWrite;
    all[i].throughput_mibps = 100 + 10 * static_cast<double>(i);
  }
  all[3].cut_short = true;
  const auto points = figures_of(all);
  ASSERT_EQ(points.size(), 1U);
  EXPECT_EQ(points[0].repeats.size(), 3U);
  EXPECT_DOUBLE_EQ(points[0].throughput_mibps.median, 110);
  EXPECT_DOUBLE_EQ(points[0].throughput_mibps.high, 120);
  EXPECT_NEAR(points[0].throughput_mibps.percent(), 18.18, 0.01);
  EXPECT_DOUBLE_EQ(spread_of({1, 4}).median, 2.5);
}

TEST(SelftestFigures, CpuTimesOfTheKernel) {
  const auto times = read_cpu_times(
      "cpu  9 9 9 9 9 9 9 9 9 9\n"
      "cpu0 10 1 5 100 2 1 1 3 0 0\n"
      "cpu12 1 2 3 4 5 6 7 8 9 10\nintr 5\n");
  ASSERT_EQ(times.size(), 2U);
  EXPECT_EQ(times[0].total, 123U);
  EXPECT_EQ(times[0].idle, 102U);
  EXPECT_EQ(times[0].steal, 3U);
  EXPECT_EQ(times[1].cpu, 12U);
}

TEST(SelftestFigures, CptsAreAsBusyAsTheirCpusOnAverage) {
  const std::vector<CpuUse> uses{{.cpu = 0, .busy_percent = 90},
                                 {.cpu = 2, .busy_percent = 50},
                                 {.cpu = 3, .busy_percent = 10}};
  const NodeCpt cpt{.node = "a", .cpt = 1, .cpus = {2, 3}};
  EXPECT_DOUBLE_EQ(busy_percent(cpt, uses).value_or(0), 30);
  EXPECT_FALSE(busy_percent({.node = "a", .cpt = 0, .cpus = {7}}, uses));
}

}  // namespace
}  // namespace plnet::run::figures_test
