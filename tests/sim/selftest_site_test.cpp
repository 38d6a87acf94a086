// SPDX-License-Identifier: BSD-3-Clause
// The real LNet selftest, console and nodes, a thousand at a time on simulated TCP: a session from
// beginning to end, and whole runs, without real time.
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "apps/lnet-selftest/sim/simulated_run.hpp"
#include "lib/lnet/names/nid_text.hpp"
#include "tests/sim/selftest_session.hpp"

namespace plnet::sim::selftest_site_test {
namespace {

using selftest::BrwTest;
using selftest::PingTest;

SelftestSiteSetup thousand(std::uint64_t seed) {
  SelftestSiteSetup setup{.nodes = 1000, .seed = seed};
  setup.node = {.peers = 4, .units = 4, .sink_bytes = 2 * 4096, .requests = 8, .sinks = 1};
  setup.shape.link.latency_min = std::chrono::milliseconds(1);
  return setup;
}

std::uint64_t requests_of(const selftest::TransactionResult& stat) {
  std::uint64_t sum = 0;
  for (const selftest::NodeResult& node : stat.nodes)
    sum += std::get<selftest::StatSeen>(node.seen).rpc.sent;
  return sum;
}

TEST(SelftestSiteTest, AThousandNodesFromBeginningToEnd) {
  SelftestSite site(thousand(1));
  site.start();
  SelftestSession session(site);
  ASSERT_TRUE(session.begin("all"));
  EXPECT_EQ(session.group("clients", 0, 499)->succeeded(), 500U);
  EXPECT_EQ(session.group("servers", 500, 999)->succeeded(), 500U);
  EXPECT_EQ(session.test(BrwTest{.check = selftest::Check::kFull}, 2)->succeeded(), 500U);
  EXPECT_EQ(session.run()->succeeded(), 500U);
  site.run_for(std::chrono::milliseconds(50));
  EXPECT_EQ(session.stop()->succeeded(), 500U);
  EXPECT_EQ(session.query()->running, 0U);
  const auto stat = session.stat("clients");
  ASSERT_TRUE(stat && stat->succeeded() == 500);
  EXPECT_GT(requests_of(*stat), 5000U);
  for (const selftest::NodeResult& node : stat->nodes)
    EXPECT_EQ(std::get<selftest::StatSeen>(node.seen).framework.brw_errors, 0U);
  EXPECT_EQ(session.end()->succeeded(), 1000U);
  EXPECT_EQ(site.close(), "");
}

// --- lnet-selftest run --sim ---

class Silent final : public run::Watcher {
 public:
  void on_begin(const run::Point&, unsigned, std::size_t, std::size_t) override {}
  void on_sample(double, double, bool) override { ++samples; }
  void on_end(const run::Measurement&) override {}
  unsigned samples = 0;
};

run::Plan small_plan() {
  run::Plan plan{.from_words = {"10.1.0.[1-10]@tcp"},
                 .to_words = {"10.1.0.[11-20]@tcp"},
                 .tests = {run::Operation::kRead, run::Operation::kWrite, run::Operation::kPing},
                 .sizes = {8192},
                 .concurrencies = {1, 4},
                 .check = selftest::Check::kFull,
                 .warm_up = std::chrono::milliseconds(5),
                 .duration = std::chrono::milliseconds(100),
                 .repeats = 1};
  EXPECT_TRUE(run::finish_plan(plan).has_value());
  return plan;
}

run::Report simulated(
    const run::Plan& plan, std::uint64_t seed,
    const std::function<bool()>& interrupted = [] { return false; }) {
  Silent watcher;
  const ManualClock clock;
  const SimulatedRun how{.nodes = 20, .seed = seed, .latency = std::chrono::microseconds(200)};
  return simulate(plan, how, watcher, clock, interrupted);
}

TEST(SimulatedRunTest, APlanIsGoneThroughAndComesAgainWithItsSeed) {
  const run::Plan plan = small_plan();
  const run::Report report = simulated(plan, 5);
  EXPECT_EQ(run::outcome_of(report), "complete");
  EXPECT_EQ(report.simulated, "20 simulated nodes, seed 5");
  ASSERT_EQ(report.measurements.size(), 6U);
  for (const run::Measurement& each : report.measurements) {
    SCOPED_TRACE(run::text_of(each.point));
    EXPECT_EQ(each.errors.total(), 0U);
    // A request takes at least the time there and back.
    EXPECT_GT(each.rpc_rate, 0);
    EXPECT_LT(each.rpc_rate, 10 * 2500.0 * each.point.concurrency);
    ASSERT_TRUE(each.latency.has_value());
    EXPECT_GE(each.latency->p50_us, 400);
  }
  EXPECT_EQ(simulated(plan, 5).environment["trace"], report.environment["trace"]);
  EXPECT_NE(simulated(plan, 6).environment["trace"], report.environment["trace"]);
}

TEST(SimulatedRunTest, AnInterruptEndsTheSession) {
  unsigned asked = 0;
  run::Plan plan = small_plan();
  plan.duration = std::chrono::seconds(10);
  const run::Report report = simulated(plan, 7, [&asked] { return ++asked > 30; });
  EXPECT_TRUE(report.interrupted);
  // The next sample, a second later, is not awaited.
  EXPECT_LT(report.environment["simulated_s"].get<double>(), 0.9);
  EXPECT_EQ(report.failure, "");
  EXPECT_EQ(report.left_behind, "");
}

TEST(SimulatedRunTest, NodesAreThoseOfTheSimulation) {
  const run::Plan plan = small_plan();
  EXPECT_TRUE(check_nodes(plan, 20).has_value());
  const auto stranger = check_nodes(plan, 19);
  ASSERT_FALSE(stranger.has_value());
  EXPECT_NE(stranger.error().what.find("10.1.0.20@tcp"), std::string::npos)
      << stranger.error().what;
  EXPECT_EQ(lnet::text_of(SelftestSite::nid_of(0)), "10.1.0.1@tcp");
  EXPECT_EQ(lnet::text_of(SelftestSite::nid_of(250)), "10.1.1.1@tcp");
}

TEST(SimulatedRunTest, NodesFollowThePlan) {
  run::Plan plan = small_plan();
  plan.distribution = {.distribute = 5, .span = 2};
  const SelftestHostLimits limits = limits_of(plan);
  EXPECT_GE(limits.units, 8U);
  EXPECT_LT(limits.units, 16U);
  EXPECT_EQ(limits.sink_bytes, 8U * 8192);
  EXPECT_GE(limits.requests, 20U) << "five clients share two servers, four requests each";
  EXPECT_LE(limits.peers, 21U);
  plan.tests = {run::Operation::kPing};
  EXPECT_EQ(limits_of(plan).sink_bytes, 0U);
}

}  // namespace
}  // namespace plnet::sim::selftest_site_test
