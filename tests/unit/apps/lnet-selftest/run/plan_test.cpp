// SPDX-License-Identifier: BSD-3-Clause
#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "apps/lnet-selftest/run/plan_line.hpp"
#include "apps/lnet-selftest/run/plan_reader.hpp"
#include "apps/lnetctl/option_parser.hpp"

namespace plnet::run::plan_test {
namespace {

using Words = std::vector<std::string>;

Outcome<std::string> no_file(const std::string& path) {
  return failure(Errc::kNotFound, path + " is not there");
}

Outcome<Plan> plan_of_words(const Words& words, const ReadFile& read_file = no_file) {
  const auto arguments = apps::parse_options(plan_options(), words, "lnet-selftest run");
  if (!arguments) return std::unexpected(arguments.error());
  return plan_of(*arguments, read_file);
}

std::string refusal(const Words& words) {
  Words all{"--from", "10.0.0.1@tcp", "--to", "10.0.0.2@tcp"};
  all.insert(all.end(), words.begin(), words.end());
  const auto plan = plan_of_words(all);
  return plan ? "" : plan.error().what;
}

constexpr std::string_view kFile = R"(name: night
groups:
  clients: ['10.0.0.[1-3]@tcp']
  servers: [10.0.1.1@tcp, 10.0.1.2@tcp]
from: clients
to: servers
tests: [write, ping]
sizes: [4k, 1M]
concurrency: [1, 8]
check: simple
distribute: '3:2'
warmup: 500ms
duration: 2s
repeats: 2
thresholds: {throughput_min_mibps: 100.5, rate_min_rps: 10, p99_max_us: 900, errors_max: 0}
)";

TEST(SelftestPlan, OneCommand) {
  const auto plan = plan_of_words({"--from", "10.0.0.[1-2]@tcp", "--to", "10.0.0.9@tcp", "--test",
                                   "read,write,ping", "--size", "4k,1M", "--concurrency", "1,8,32",
                                   "--warmup", "1", "--duration", "5", "--repeats", "3"});
  ASSERT_TRUE(plan) << plan.error().what;
  EXPECT_EQ(plan->from, (Words{"12345-10.0.0.1@tcp", "12345-10.0.0.2@tcp"}));
  EXPECT_EQ(plan->to, Words{"12345-10.0.0.9@tcp"});
  EXPECT_EQ(plan->duration, std::chrono::seconds(5));
  const auto points = points_of(*plan);
  // Pings have no size.
  ASSERT_EQ(points.size(), 2U * 2 * 3 + 3);
  EXPECT_EQ(points[0], (Point{Operation::kRead, 4096, 1}));
  EXPECT_EQ(points[5], (Point{Operation::kRead, 1U << 20, 32}));
  EXPECT_EQ(points.back(), (Point{Operation::kPing, 0, 32}));
  EXPECT_EQ(text_of(points[5]), "read 1M, concurrency 32");
}

TEST(SelftestPlan, FromAFile) {
  Plan plan;
  const auto read = read_plan(kFile, "night.yaml", plan);
  ASSERT_TRUE(read) << read.error().text();
  ASSERT_TRUE(finish_plan(plan));
  EXPECT_EQ(plan.name, "night");
  EXPECT_EQ(plan.from.size(), 3U);
  EXPECT_EQ(plan.to.size(), 2U);
  EXPECT_EQ(plan.tests, (std::vector{Operation::kWrite, Operation::kPing}));
  EXPECT_EQ(plan.sizes, (std::vector<std::uint32_t>{4096, 1U << 20}));
  EXPECT_EQ(plan.check, selftest::Check::kSimple);
  EXPECT_EQ(plan.distribution.distribute, 3U);
  EXPECT_EQ(plan.distribution.span, 2U);
  EXPECT_EQ(plan.warm_up, std::chrono::milliseconds(500));
  EXPECT_EQ(plan.repeats, 2U);
  EXPECT_EQ(plan.limits, (Limits{100.5, 10, 900, 0}));
}

TEST(SelftestPlan, TheCommandLineGoesOverTheFile) {
  const auto plan = plan_of_words({"--size", "64k", "--repeats", "1", "night.yaml"},
                                  [](const std::string&) { return std::string(kFile); });
  ASSERT_TRUE(plan) << plan.error().what;
  EXPECT_EQ(plan->sizes, std::vector<std::uint32_t>{65536});
  EXPECT_EQ(plan->repeats, 1U);
  EXPECT_EQ(plan->name, "night");
}

TEST(SelftestPlan, FaultsOfAFileHaveTheirPlace) {
  Plan plan;
  const auto read = read_plan("sizes: [4k, 5]\nspeed: 3\nfrom: nobody\n", "bad.yaml", plan);
  ASSERT_FALSE(read);
  const std::string text = read.error().text();
  EXPECT_NE(text.find("bad.yaml:1:13: sizes: '5'"), std::string::npos) << text;
  EXPECT_NE(text.find("bad.yaml:2:1: unknown key 'speed'"), std::string::npos) << text;
  EXPECT_NE(text.find("bad.yaml:3:7: from: 'nobody' is neither"), std::string::npos) << text;
}

TEST(SelftestPlan, ImpossiblePlansAreRefused) {
  EXPECT_EQ(refusal({}), "");
  EXPECT_NE(refusal({"--size", "2M"}).find("--size: '2M'"), std::string::npos);
  for (const char* const errors : {"0.5", "-1", "1e30", "18446744073709551616"})
    EXPECT_NE(refusal({"--max-errors", errors}).find("--max-errors"), std::string::npos) << errors;
  EXPECT_NE(refusal({"--concurrency", "1025"}).find("--concurrency"), std::string::npos);
  EXPECT_NE(refusal({"--test", "erase"}).find("one of read, write, ping"), std::string::npos);
  EXPECT_NE(refusal({"--duration", "nan"}).find("--duration"), std::string::npos);
  EXPECT_NE(refusal({"--duration", "0"}).find("duration: expected"), std::string::npos);
  EXPECT_NE(refusal({"--distribute", "1:2"}).find("there are 1"), std::string::npos);
  EXPECT_NE(refusal({"--check", "discard"}), "");
  EXPECT_EQ(refusal({"--check", "discard", "--allow-discard"}), "");
  EXPECT_NE(refusal({"--from", "10.0.0.1@tcp"}).find("named twice"), std::string::npos);
  EXPECT_NE(refusal({"gone.yaml"}).find("gone.yaml is not there"), std::string::npos);
  EXPECT_FALSE(plan_of_words({"--to", "10.0.0.2@tcp"}));
}

TEST(SelftestPlan, OpenLoops) {
  const Words nodes{"--from", "10.0.0.[1-2]@tcp", "--to", "10.0.0.9@tcp", "--test", "ping"};
  const auto with = [&nodes](Words words) {
    words.insert(words.begin(), nodes.begin(), nodes.end());
    return plan_of_words(words);
  };
  const auto rates = with({"--rate", "500,1.5M", "--arrivals", "constant", "--control",
                           "10.0.0.1@tcp=/run/a.sock", "--control", "10.0.0.2@tcp=/run/b.sock"});
  ASSERT_TRUE(rates) << rates.error().what;
  EXPECT_EQ(rates->arrivals, selftest::Arrivals::kConstant);
  EXPECT_EQ(rates->control.at("12345-10.0.0.2@tcp"), "/run/b.sock");
  const auto points = points_of(*rates);
  ASSERT_EQ(points.size(), 2U);
  EXPECT_EQ(text_of(points[1]), "ping, concurrency 8, 1500000/s");
  const auto search = with({"--highest-rate", "p99:200"});
  ASSERT_TRUE(search) << search.error().what;
  EXPECT_EQ(search->highest_rate, (RateGoal{Percentile::kP99, 200}));
  EXPECT_EQ(points_of(*search).size(), 1U);

  EXPECT_NE(refusal({"--rate", "0"}).find("--rate: '0'"), std::string::npos);
  EXPECT_NE(refusal({"--rate", "40M"}).find("rates: "), std::string::npos);
  EXPECT_NE(refusal({"--rate", "5", "--highest-rate", "p99:1"}).find("one of them"),
            std::string::npos);
  EXPECT_NE(refusal({"--highest-rate", "p98:1"}).find("--highest-rate"), std::string::npos);
  EXPECT_NE(refusal({"--highest-rate", "p99"}), "");
  EXPECT_NE(refusal({"--control", "10.0.0.1@tcp"}), "");
  EXPECT_NE(refusal({"--control", "10.0.0.[1-2]@tcp=/run/a.sock"}).find("not one node"),
            std::string::npos);
}

TEST(SelftestPlan, OpenLoopsOfAFile) {
  Plan plan;
  ASSERT_TRUE(
      read_plan("rates: [10k, 50k]\narrivals: constant\n"
                "control: {10.0.0.1@tcp: /run/plnet/selftest.sock}\n",
                "a.yaml", plan));
  EXPECT_EQ(plan.rates, (std::vector<double>{10'000, 50'000}));
  EXPECT_EQ(plan.control.at("10.0.0.1@tcp"), "/run/plnet/selftest.sock");
  Plan search;
  ASSERT_TRUE(read_plan("highest_rate: {latency: p999, limit_us: 150.5}\n", "a.yaml", search));
  EXPECT_EQ(search.highest_rate, (RateGoal{Percentile::kP999, 150.5}));
  EXPECT_FALSE(read_plan("highest_rate: {latency: p99}\n", "a.yaml", search));
  EXPECT_FALSE(read_plan("control: [a]\n", "a.yaml", search));
  EXPECT_FALSE(read_plan("thresholds: {errors_max: 0.5}\n", "a.yaml", search));
  ASSERT_TRUE(read_plan("thresholds: {errors_max: 9007199254740993}\n", "a.yaml", search));
  EXPECT_EQ(search.limits.errors_max, 9'007'199'254'740'993U) << "not as a double";
}

TEST(SelftestPlan, TestsOfAPlanBecomeConsoleCommands) {
  Plan plan;
  plan.check = selftest::Check::kFull;
  const auto test = test_of(plan, {Operation::kWrite, 8192, 4}, "b", "clients", "servers");
  const auto* const brw = std::get_if<selftest::BrwTest>(&test.test);
  ASSERT_NE(brw, nullptr);
  EXPECT_EQ(brw->operation, selftest::BulkOperation::kWrite);
  EXPECT_EQ(brw->length, 8192U);
  EXPECT_EQ(brw->check, selftest::Check::kFull);
  EXPECT_EQ(test.concurrency, 4U);
  EXPECT_LT(test.loop, 0);
}

}  // namespace
}  // namespace plnet::run::plan_test
