// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-selftest/run/report.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "apps/lnet-selftest/run/compare.hpp"
#include "apps/lnet-selftest/run/report_hosts.hpp"
#include "apps/lnet-selftest/run/svg_plot.hpp"

namespace plnet::run::report_test {
namespace {

std::size_t times(std::string_view text, std::string_view what) {
  std::size_t count = 0;
  for (auto at = text.find(what); at != std::string_view::npos; at = text.find(what, at + 1))
    ++count;
  return count;
}

// Two points of three repeats; the throughput grows a little from repeat to repeat.
Report report_of(double throughput) {
  Report report;
  report.plan.name = "<night>";
  report.complete = true;
  report.latency_note = "of node a";
  report.environment["cpu"] = "a & b";
  for (const std::uint32_t concurrency : {1U, 8U}) {
    for (unsigned repeat = 0; repeat < 3; ++repeat) {
      Measurement each;
      each.point = {Operation::kWrite, 4096, concurrency};
      each.repeat = repeat;
      each.throughput_mibps = throughput + repeat;
      each.rpc_rate = each.throughput_mibps * 256;
      each.from.nodes.push_back({.node = "12345-10.0.0.1@tcp", .send_mibps = throughput});
      each.cpus.push_back({.cpu = 3, .busy_percent = 50});
      each.latency = Latency{.count = 10, .p50_us = 100, .p99_us = 900};
      report.measurements.push_back(each);
    }
  }
  return report;
}

TEST(SelftestReport, Json) {
  Report report = report_of(100);
  report.missed = {"too slow"};
  const Json json = json_of(report);
  EXPECT_EQ(json["outcome"], "complete");
  ASSERT_EQ(json["points"].size(), 2U);
  const Json& point = json["points"][1];
  EXPECT_EQ(point["test"], "write");
  EXPECT_EQ(point["concurrency"], 8);
  EXPECT_DOUBLE_EQ(point["throughput_mibps"]["median"], 101);
  EXPECT_EQ(point["repeats"].size(), 3U);
  EXPECT_EQ(point["repeats"][0]["from"]["nodes"][0]["node"], "12345-10.0.0.1@tcp");
  EXPECT_DOUBLE_EQ(point["p99_us"]["median"], 900);
  EXPECT_EQ(json["thresholds_missed"][0], "too slow");
  // The report can be read back.
  EXPECT_EQ(Json::parse(json.dump()), json);
}

// Fields of open-loop runs, of floors and of nodes that report their environment.
TEST(SelftestReport, OptionalParts) {
  Report report = report_of(100);
  report.plan.highest_rate = RateGoal{Percentile::kP99, 200};
  report.plan.control = {{"12345-10.0.0.1@tcp", "/run/a.sock"}};
  report.highest_rates = {{{Operation::kWrite, 4096, 8, 7}, 41'000.0},
                          {{Operation::kPing}, {}},
                          {{Operation::kRead, 4096, 8, 7}, 1e7, true}};
  report.plan.from = {"12345-10.0.0.1@tcp"};
  report.floor_note = "between CPUs 0 and 1";
  report.cpts = {{.node = "12345-10.0.0.1@tcp", .cpt = 0, .cpus = {3}}};
  report.measurements[2].floor =
      Floor{.exchange_rate = 52'224, .throughput_mibps = 200, .copy_mibps = 9000};
  Measurement& last = report.measurements.back();
  last.point.rate = 30'000;
  last.pace = {.begun = 70, .waited = 8, .dropped = 9};
  last.latency_by_node = {{"node-a", *last.latency}, {"node-b", *last.latency}};

  const Json json = json_of(report);
  EXPECT_EQ(json["highest_rates"][0]["rate"], 41'000.0);
  EXPECT_TRUE(json["highest_rates"][1]["rate"].is_null());
  EXPECT_FALSE(json["highest_rates"][0]["at_least"]);
  EXPECT_TRUE(json["highest_rates"][2]["at_least"]);
  ASSERT_EQ(json["points"].size(), 3U);
  EXPECT_DOUBLE_EQ(json["points"][0]["percent_of_floor"]["median"], 50);
  EXPECT_EQ(json["points"][0]["repeats"][0]["cpts"][0]["busy_percent"], 50);
  const Json& open = json["points"][2];
  EXPECT_EQ(open["rate"], 30'000.0);
  EXPECT_EQ(open["repeats"][0]["pace"]["dropped"], 9);
  EXPECT_EQ(open["repeats"][0]["latency_us_by_node"]["node-b"]["p99"], 900);

  const std::string text = text_of(report);
  EXPECT_NE(text.find("write 4k, concurrency 8: 41000/s keep p99:200 us"), std::string::npos)
      << text;
  EXPECT_NE(text.find("ping, concurrency 1: no rate keeps p99:200 us"), std::string::npos);
  EXPECT_NE(text.find("read 4k, concurrency 8: at least 10000000/s keep p99:200 us (the "
                      "limit of 1 client)"),
            std::string::npos);
  EXPECT_NE(
      text.find(
          "70 requests were due and began, 8 of them late because all were busy; 9 never began"),
      std::string::npos);
  EXPECT_NE(text.find("this is 50.0 % of it"), std::string::npos);
  const std::string html = html_of(report);
  EXPECT_NE(html.find("Highest rate: write 4k"), std::string::npos);
  EXPECT_NE(html.find("node-b"), std::string::npos);
  const auto compared = compare(json, json);
  ASSERT_TRUE(compared);
  EXPECT_TRUE(compared->only_one.empty());
}

TEST(SelftestReport, Outcomes) {
  Report report;
  report.failure = "a: refused";
  EXPECT_EQ(outcome_of(report), "failed: a: refused");
  report.failure.clear();
  report.interrupted = true;
  EXPECT_EQ(outcome_of(report).find("interrupted"), 0U);
  report.left_behind = "b: gone";
  EXPECT_NE(outcome_of(report).find("b: gone"), std::string::npos);
}

TEST(SelftestReport, TextAndCsv) {
  const Report report = report_of(100);
  const std::string text = text_of(report);
  EXPECT_NE(text.find("write     4k     8       101.00"), std::string::npos) << text;
  const std::string csv = csv_of(report);
  EXPECT_EQ(times(csv, "\n"), 7U);
  const auto commas = [](std::string_view line) { return times(line, ","); };
  const std::string_view all(csv);
  const std::string_view head = all.substr(0, all.find('\n'));
  const std::string_view first = all.substr(head.size() + 1, all.find('\n', head.size() + 1));
  EXPECT_EQ(commas(head), commas(first.substr(0, first.find('\n'))));
}

TEST(SelftestReport, NamesTheHostsOfNodes) {
  Report report = report_of(100);
  for (Measurement& each : report.measurements) {
    each.from.nodes.push_back({.node = "12345-18@kfi"});
    each.latency_by_node = {{"12345-18@kfi", {.count = 1}}, {"12345-19@kfi", {.count = 1}}};
    each.errors.by_node = {{"12345-18@kfi", 3}};
  }
  report.cpts = {{.node = "12345-18@kfi", .cpt = 0, .cpus = {3}}};
  learn_hosts(report, runtime::NicNames::parse("18 login1\n", "names").value());
  const Json json = json_of(report);
  EXPECT_EQ(json["hosts"], (Json{{"12345-18@kfi", "login1"}}));
  EXPECT_EQ(json["points"][0]["repeats"][0]["from"]["nodes"][1]["node"], "12345-18@kfi");
  const std::string text = text_of(with_hosts(report));
  EXPECT_NE(text.find("  12345-18@kfi (login1)"), std::string::npos) << text;
  EXPECT_NE(text.find("12345-18@kfi (login1) counted 3 errors"), std::string::npos) << text;
  EXPECT_EQ(text.find("12345-19@kfi ("), std::string::npos);
  EXPECT_GE(times(html_of(with_hosts(report)), "12345-18@kfi (login1)"), 3U);
}

TEST(SelftestReport, ThePageNeedsNothingElse) {
  const std::string html = html_of(report_of(100));
  EXPECT_EQ(times(html, "<svg"), 3U);  // throughput, rate, latency
  EXPECT_EQ(times(html, "<svg"), times(html, "</svg>"));
  EXPECT_EQ(html.find("http"), std::string::npos);
  EXPECT_EQ(html.find("<script"), std::string::npos);
  EXPECT_NE(html.find("&lt;night&gt;"), std::string::npos);
  EXPECT_EQ(html.find("<night>"), std::string::npos);
  EXPECT_NE(html.find("a &amp; b"), std::string::npos);
}

TEST(SelftestReport, AnEmptyRunHasAReport) {
  Report report;
  report.failure = "no console";
  EXPECT_NE(html_of(report).find("no console"), std::string::npos);
  EXPECT_NE(text_of(report).find("no console"), std::string::npos);
  EXPECT_TRUE(json_of(report)["points"].empty());
}

TEST(SelftestReport, Plots) {
  EXPECT_EQ(svg_plot("a", "b", "c", {}), "");
  // A single point and a point at 0 are drawn.
  const std::string svg = svg_plot("a", "b", "c", {{"s", {{1, 0, 0, 0}}}});
  EXPECT_NE(svg.find("<circle"), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
  EXPECT_EQ(short_number(1234567), "1.23M");
}

// Two pollers with a second between their readings: 60 % and 20 % of it with work.
PollerTimes times_of(std::string node, Role role, std::uint64_t second) {
  const std::uint64_t nsec = second * 1'000'000'000;
  return {
      {.node = std::move(node),
       .role = role,
       .cycles_per_second = 2e9,
       .forwarded = second * 4000,
       .shards = {{.shard = 0, .cpu = 2, .busy_nsec = nsec * 6 / 10, .free_nsec = nsec * 4 / 10},
                  {.shard = 1, .cpu = 3, .busy_nsec = nsec / 5, .free_nsec = nsec * 8 / 10}}}};
}

TEST(SelftestPollers, DutyAndCyclesAreOfTurnsWithWork) {
  Measurement measurement;
  measurement.from.nodes = {{.node = "a", .rpc_rate = 1000}, {.node = "c", .rpc_rate = 1000}};
  measurement.to.nodes = {{.node = "b"}};
  for (const auto& [node, role] : {std::pair("a", Role::kClient), std::pair("b", Role::kServer),
                                   std::pair("r", Role::kRouter)}) {
    const auto use = use_between(times_of(node, role, 3), times_of(node, role, 4));
    ASSERT_EQ(use.size(), 1U);
    measurement.pollers.push_back(use.front());
  }
  set_cycles(measurement);
  EXPECT_NEAR(measurement.pollers[0].duty_percent, 40, 1e-9);
  EXPECT_NEAR(measurement.pollers[0].shards[1].duty_percent, 20, 1e-9);
  // 1.6 thousand million cycles a second in all.
  EXPECT_NEAR(measurement.pollers[0].cycles_each.value_or(0), 1.6e6, 1);
  EXPECT_NEAR(measurement.pollers[1].cycles_each.value_or(0), 0.8e6, 1) << "it serves both clients";
  EXPECT_NEAR(measurement.pollers[2].cycles_each.value_or(0), 0.4e6, 1) << "of a message";
  EXPECT_EQ(text_of(measurement.pollers[2]),
            "r (router): duty 40 % (CPU 2: 60 %, CPU 3: 20 %), 400000 cycles per message, 4000 "
            "messages/s forwarded");
  EXPECT_TRUE(use_between(times_of("a", Role::kClient, 9), times_of("a", Role::kClient, 1)).empty())
      << "its counters began anew";

  Report report = report_of(100);
  report.measurements.back().pollers = measurement.pollers;
  const Json json = json_of(report);
  const Json& told = json["points"][1]["repeats"][2]["pollers"];
  ASSERT_EQ(told.size(), 3U);
  EXPECT_NEAR(told[2]["cycles_per_message"].get<double>(), 0.4e6, 1);
  EXPECT_EQ(told[2]["role"], "router");
  EXPECT_NE(text_of(report).find("    pollers of b (server): duty 40 %"), std::string::npos);
  EXPECT_NE(html_of(report).find("<td class='left'>router</td><td>40</td>"), std::string::npos);
  EXPECT_NE(csv_of(report).find(",40.0,1600000,40.0,800000,40.0,400000,"), std::string::npos);
}

TEST(SelftestPollers, AnswersOfANode) {
  const Json cpts = {{"cpt",
                      {{{"cpt", 1},
                        {"shards",
                         {{{"shard", 2},
                           {"cpu", 3},
                           {"cycles per second", 2'000'000},
                           {"busy_nsec", 5},
                           {"idle_nsec", 6},
                           {"asleep_nsec", 7}}}}}}}};
  const auto times = read_times("a", Role::kRouter, cpts, {{"statistics", {{"route_count", 8}}}});
  ASSERT_TRUE(times);
  EXPECT_EQ(times->forwarded, 8U);
  ASSERT_EQ(times->shards.size(), 1U);
  EXPECT_EQ(times->shards[0].free_nsec, 13U);
  EXPECT_EQ(times->shards[0].cpt, 1U);
  EXPECT_DOUBLE_EQ(times->cycles_per_second, 2e6);
  EXPECT_FALSE(read_times("a", Role::kRouter, Json::array(), Json::object()));
  EXPECT_FALSE(read_times("a", Role::kRouter, {{"cpt", {{{"shards", {{{"cpu", 3}}}}}}}}, {}));
}

// A floor that others slowed down says nothing of LNet.
TEST(SelftestReport, DisturbedFloorsAreNotComparedWith) {
  Report report = report_of(100);
  report.measurements[2].floor = Floor{.exchange_rate = 52'224, .disturbed_percent = 35};
  EXPECT_FALSE(figures_of(report.measurements)[0].percent_of_floor);
  EXPECT_NE(text_of(report).find("bare TCP: disturbed, others took 35 % of its CPUs"),
            std::string::npos);
  report.measurements[1].floor = Floor{.exchange_rate = 51'712, .disturbed_percent = 5};
  const auto points = figures_of(report.measurements);
  ASSERT_TRUE(points[0].percent_of_floor);
  EXPECT_EQ(points[0].percent_of_floor->count, 1U);
}

TEST(SelftestReport, LabelsArePartedFromValues) {
  Report report = report_of(100);
  report.environment["kernel_command_line"] = "mitigations=off";
  EXPECT_NE(text_of(report).find("  kernel command line  mitigations=off\n"), std::string::npos);
  EXPECT_NE(html_of(report).find("kernel command line: </td><td class='left'>mitigations=off"),
            std::string::npos);
}

TEST(SelftestReport, AnswersOfASearchFitTheScreen) {
  Report report = report_of(100);
  EXPECT_EQ(highest_rates_text(report), "");
  report.plan.highest_rate = RateGoal{Percentile::kP99, 200};
  report.plan.from = {"12345-10.0.0.1@tcp"};
  report.highest_rates = {{{Operation::kPing, 0, 8}, 41'000.0}};
  EXPECT_EQ(highest_rates_text(report),
            "highest rates:\n  ping, concurrency 8: 41000/s keep p99:200 us\n");
}

TEST(SelftestPlot, ValuesOfDifferentOrdersHaveALogarithmicAxis) {
  const auto plot = [](double small) {
    return svg_plot("t", "x", "MiB/s",
                    {{"4k", {{8, small, small, small}}}, {"1M", {{8, 900, 900, 900}}}});
  };
  EXPECT_EQ(plot(100).find("logarithmic"), std::string::npos);
  const std::string far = plot(9);
  EXPECT_NE(far.find("MiB/s (logarithmic)"), std::string::npos);
  for (const char* const line : {">1</text>", ">10</text>", ">100</text>", ">1000</text>"})
    EXPECT_NE(far.find(line), std::string::npos) << line << far;
}

TEST(SelftestLimits, AreOfEveryPoint) {
  const Report report = report_of(100);
  const auto points = figures_of(report.measurements);
  EXPECT_TRUE(missed_limits({}, points).empty());
  EXPECT_TRUE(missed_limits({101, 1000, 900, 0}, points).empty());
  EXPECT_EQ(missed_limits({102, {}, {}, {}}, points).size(), 2U);
  EXPECT_EQ(missed_limits({{}, 30000, 899, {}}, points).size(), 4U);
  auto silent = report.measurements;
  silent.resize(1);
  silent[0].latency.reset();
  silent[0].errors.rpc = 2;
  const auto missed = missed_limits({{}, {}, 900, 1}, figures_of(silent));
  ASSERT_EQ(missed.size(), 2U);
  EXPECT_NE(missed[0].find("no latency is known"), std::string::npos);
  EXPECT_NE(missed[1].find("2 errors"), std::string::npos);
}

TEST(SelftestCompare, ReportsDifferencesBeyondTheSpread) {
  const Json before = json_of(report_of(100));
  const auto verdict_of = [&before](double throughput) {
    const auto comparison = compare(before, json_of(report_of(throughput)));
    EXPECT_TRUE(comparison);
    return comparison->differences.front().verdict;
  };
  EXPECT_EQ(verdict_of(101), Verdict::kSame);
  EXPECT_EQ(verdict_of(103), Verdict::kBetter);
  EXPECT_EQ(verdict_of(90), Verdict::kWorse);
  const auto comparison = compare(before, json_of(report_of(90)));
  EXPECT_TRUE(comparison->any_worse());
  EXPECT_NE(text_of(*comparison).find("WORSE"), std::string::npos);
  // Means of 101 and 91, each +- 1: 9.9 % +- 2.25.
  EXPECT_NE(text_of(*comparison).find("-12.1 to -7.7"), std::string::npos) << text_of(*comparison);
}

TEST(SelftestCompare, DisjointRepeatsMayStillBeNoDifference) {
  Report before = report_of(100);
  Report after = report_of(100);
  for (unsigned point = 0; point < 2; ++point) {
    for (unsigned repeat = 0; repeat < 3; ++repeat) {
      // Two of each: 100 and 110 against 111 and 121.
      const double value = 100 + 10.0 * repeat;
      before.measurements[3 * point + repeat].throughput_mibps = value;
      before.measurements[3 * point + repeat].cut_short = repeat == 2;
      after.measurements[3 * point + repeat].throughput_mibps = value + 11;
      after.measurements[3 * point + repeat].cut_short = repeat == 2;
    }
  }
  const auto comparison = compare(json_of(before), json_of(after));
  ASSERT_TRUE(comparison);
  EXPECT_EQ(comparison->differences.front().verdict, Verdict::kSame);
  EXPECT_LT(comparison->differences.front().percent_low, 0);
}

TEST(SelftestCompare, NamesWhatDiffersInConfiguration) {
  Report before = report_of(100);
  Report after = report_of(100);
  before.environment["interfaces"] = {{{"name", "eth0"}, {"mtu", "1500"}}};
  after.environment["interfaces"] = {{{"name", "eth0"}, {"mtu", "9000"}}};
  after.plan.check = selftest::Check::kFull;
  after.plan.name = "another";
  before.configurations = {{"a", "net:\n    - net type: tcp\n      peer_credits: 8\n"}};
  after.configurations = {{"a", "net:\n    - net type: tcp\n      peer_credits: 32\n"}};
  const auto comparison = compare(json_of(before), json_of(after));
  ASSERT_TRUE(comparison);
  const auto has = [&](const std::string& note) {
    return std::ranges::find(comparison->notes, note) != comparison->notes.end();
  };
  EXPECT_TRUE(has("check: \"none\" and \"full\"")) << text_of(*comparison);
  EXPECT_TRUE(has("configuration of a: only in the first: peer_credits: 8"))
      << text_of(*comparison);
  EXPECT_TRUE(has("configuration of a: only in the second: peer_credits: 32"));
  EXPECT_EQ(comparison->notes.size(), 4U) << text_of(*comparison);
}

TEST(SelftestCompare, DifferentConditionsAreReported) {
  Report other = report_of(100);
  other.measurements.resize(3);
  other.complete = false;
  other.environment["cpu"] = "c";
  const auto comparison = compare(json_of(report_of(100)), json_of(other));
  ASSERT_TRUE(comparison);
  ASSERT_EQ(comparison->only_one.size(), 1U);
  EXPECT_EQ(comparison->only_one[0], "write 4k, concurrency 8 (first)");
  EXPECT_EQ(comparison->notes.size(), 2U);
}

TEST(SelftestCompare, ASingleRepeatHasNoSpread) {
  Report one = report_of(50);
  one.measurements.resize(1);
  const auto comparison = compare(json_of(report_of(100)), json_of(one));
  ASSERT_TRUE(comparison);
  EXPECT_EQ(comparison->differences.front().verdict, Verdict::kUnknown);
  EXPECT_FALSE(comparison->any_worse());
}

TEST(SelftestCompare, InterruptedRepeatsHaveNoSpread) {
  Report short_one = report_of(50);
  short_one.measurements.resize(2);
  short_one.measurements[1].cut_short = true;
  Json json = json_of(short_one);
  EXPECT_EQ(json["points"][0]["throughput_mibps"]["count"], 1);
  const auto verdict = [&] {
    return compare(json_of(report_of(100)), json)->differences.front().verdict;
  };
  EXPECT_EQ(verdict(), Verdict::kUnknown);
  json["points"][0]["throughput_mibps"].erase("count");  // as in older reports
  EXPECT_EQ(verdict(), Verdict::kUnknown);
  short_one.measurements[0].cut_short = true;
  json = json_of(short_one);
  EXPECT_EQ(json["points"][0]["rpc_rate"]["count"], 0);
  EXPECT_EQ(verdict(), Verdict::kUnknown);
}

TEST(SelftestCompare, HighestRatesStandSideBySide) {
  Report before = report_of(100);
  before.plan.highest_rate = RateGoal{Percentile::kP99, 200};
  Report after = before;
  before.highest_rates = {{{Operation::kPing}, 40'000.0}, {{Operation::kRead, 4096, 8}, {}}};
  after.highest_rates = {{{Operation::kPing}, 30'000.0}, {{Operation::kRead, 4096, 8}, 10.0}};
  const auto comparison = compare(json_of(before), json_of(after));
  ASSERT_TRUE(comparison);
  std::vector<Difference> rates;
  std::ranges::copy_if(comparison->differences, std::back_inserter(rates),
                       [](const Difference& each) { return each.figure == "highest /s"; });
  ASSERT_EQ(rates.size(), 2U);
  EXPECT_EQ(rates[0].point, "ping, concurrency 1 p99:200");
  EXPECT_DOUBLE_EQ(rates[0].percent, -25);
  EXPECT_EQ(rates[0].verdict, Verdict::kUnknown);
  EXPECT_DOUBLE_EQ(rates[1].before, 0);
  EXPECT_FALSE(comparison->any_worse());
}

TEST(SelftestCompare, OtherFilesAreRefused) {
  const Json good = json_of(report_of(1));
  EXPECT_FALSE(compare(good, Json::object()));
  EXPECT_FALSE(compare(Json::array(), good));
  Json damaged = good;
  damaged["points"][0]["rpc_rate"]["low"] = "few";
  EXPECT_FALSE(compare(good, damaged));
  damaged["points"] = 5;
  EXPECT_FALSE(compare(good, damaged));
  damaged = good;
  damaged["format"] = 7;
  EXPECT_FALSE(compare(good, damaged));
  damaged = good;
  damaged["environment"] = 7;
  (void)compare(good, damaged);
}

}  // namespace
}  // namespace plnet::run::report_test
