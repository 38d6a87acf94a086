// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-pin/report/report.hpp"

#include <algorithm>

#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>

#include "apps/lnet-pin/recommend/node_check.hpp"
#include "apps/lnet-pin/recommend/recommendation.hpp"
#include "lib/runtime/config/schema.hpp"
#include "lib/runtime/config/settings_reader.hpp"
#include "lib/runtime/cpt/cpt_plan.hpp"
#include "tests/unit/apps/lnet-pin/sweep_maker.hpp"

namespace plnet::pin::report_test {
namespace {

constexpr const char* kSweep =
    "name: memory\nrounds: {least: 8, most: 8}\nothers: '3'\nfactors: {memory: [local, remote], "
    "shards: [1, 2]}\n";

// Remote memory costs a third; a second shard gives a half more.
Results measured() {
  Results results = results_of(kSweep);
  Speeds speeds;
  for (std::size_t i = 0; i < results.plan.placements.size(); ++i) {
    const auto& levels = results.plan.placements[i].levels;
    speeds[i] = 1000.0 * (levels[0] == 1 ? 0.67 : 1) * (levels[1] == 1 ? 1.5 : 1);
  }
  MadeUpStage stage(speeds);
  (void)sweep_made_up(results, stage);
  return results;
}

constexpr unsigned kResamples = 300;  // enough for these effects

std::size_t times(std::string_view text, std::string_view what) {
  std::size_t count = 0;
  for (auto at = text.find(what); at != std::string_view::npos; at = text.find(what, at + 1))
    ++count;
  return count;
}

TEST(PinReport, ThePlantedEffectRanksLast) {
  const Results results = measured();
  const Analysis analysis = analyse(results, kResamples);
  const AimAnalysis* const throughput = analysis.find(Aim::kThroughput);
  ASSERT_NE(throughput, nullptr);
  ASSERT_EQ(throughput->results.size(), 4U);
  const PlacementResult& last = throughput->results.back();
  EXPECT_EQ(results.plan.level_text(results.plan.placements[last.placement].levels),
            "memory=remote shards=1");
  EXPECT_EQ(last.versus.verdict, Verdict::kLower);
  EXPECT_LT(last.versus.percent.high, 0);
  ASSERT_EQ(throughput->effects.main.size(), 2U);
  EXPECT_NEAR(throughput->effects.main[0].percent.estimate, -33, 3);
  EXPECT_NEAR(throughput->effects.main[1].percent.estimate, 50, 4);
  EXPECT_EQ(analysis.find(Aim::kP99)->results.front().placement,
            throughput->results.front().placement);
  EXPECT_EQ(analysis.find(Aim::kWatt), nullptr);
  EXPECT_NEAR(*analysis.overhead_percent, 0.5, 0.01);
}

TEST(PinReport, TheSameOnAnyNumberOfThreads) {
  const Results results = measured();
  const oneapi::tbb::global_control many_threads(
      oneapi::tbb::global_control::max_allowed_parallelism, 4);
  Json alone;
  oneapi::tbb::task_arena(1).execute(
      [&] { alone = json_of(results, analyse(results, kResamples)); });
  Json many;
  oneapi::tbb::task_arena(4).execute(
      [&] { many = json_of(results, analyse(results, kResamples)); });
  EXPECT_EQ(alone.dump(), many.dump());
}

TEST(PinReport, ThePageHasEverythingAndLoadsNothing) {
  const Results results = measured();
  const Analysis analysis = analyse(results, kResamples);
  const std::string page = html_of(results, analysis);
  EXPECT_EQ(page.find("http"), std::string::npos);
  EXPECT_EQ(page.find("<made up>"), std::string::npos);
  EXPECT_NE(page.find("&lt;made up&gt;"), std::string::npos);
  EXPECT_EQ(times(page, "<div class='machine'>"), 4U);
  EXPECT_GE(times(page, "<svg"), 5U);
  EXPECT_NE(page.find("harness: 0.50 % of the placed node"), std::string::npos);
  EXPECT_NE(page.find("package 1"), std::string::npos);
  EXPECT_NE(page.find("table class='sorts'"), std::string::npos);
  EXPECT_EQ(times(page, "<table"), times(page, "</table>"));
  EXPECT_EQ(times(page, "<div"), times(page, "</div>"));
  const std::string csv = csv_of(results);
  EXPECT_EQ(times(csv, "\n"), 1U + 32U);
  const std::string text = text_of(results, analysis);
  EXPECT_NE(text.find("memory=remote for local: -3"), std::string::npos) << text;
  EXPECT_EQ(json_of(results, analysis)["aims"]["throughput"]["placements"].size(), 4U);
}

TEST(PinReport, ReportsWithoutMeasurementsDoNotCrash) {
  const Results results = results_of(kSweep);
  const Analysis analysis = analyse(results, kResamples);
  EXPECT_TRUE(analysis.aims.empty());
  EXPECT_FALSE(html_of(results, analysis).empty());
  EXPECT_FALSE(recommend(results, analysis, Aim::kThroughput));
}

Results decided() {
  Results results = results_of(
      "rounds: {least: 10, most: 10}\nothers: '3'\nfactors: {cpts: [1, 2], memory: [local, "
      "remote]}\n");
  MadeUpStage stage(Speeds{{0, 1000}, {1, 600}, {2, 1500}, {3, 900}});
  (void)sweep_made_up(results, stage);
  return results;
}

TEST(PinRecommend, TheBestForANodeOfOurs) {
  const Results results = decided();
  const auto choice = recommend(results, analyse(results, kResamples), Aim::kThroughput);
  ASSERT_TRUE(choice) << choice.error().what;
  EXPECT_EQ(choice->placement, 2U);
  EXPECT_NEAR(choice->versus.percent.estimate, 50, 3);
  const std::string yaml = node_yaml(results, *choice);
  const auto settings = runtime::read_settings(runtime::Schema(), yaml, "recommended");
  ASSERT_TRUE(settings) << settings.error().text() << yaml;
  EXPECT_EQ(settings->cpts, request_of(results.plan.placements[2]));
  EXPECT_NE(yaml.find("against the baseline"), std::string::npos);
}

TEST(PinRecommend, TheSameCptsForAKernelNode) {
  const Results results = decided();
  const auto choice = recommend(results, analyse(results, kResamples), Aim::kThroughput);
  ASSERT_TRUE(choice);
  const std::string text = kernel_settings(results, *choice);
  EXPECT_NE(text.find("options lnet cpu_npartitions=2 cpu_pattern=\"0[0] 1[1]\""),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("networks=\"tcp(INTERFACE)[0,1]\""), std::string::npos) << text;
  EXPECT_NE(text.find("options ksocklnd nscheds=1"), std::string::npos);
  const auto planned = runtime::plan_cpts({.by = runtime::CptPlanRequest::By::kPattern,
                                           .partitions = 2,
                                           .pattern = *cpu_pattern_of(results.plan.placements[2])},
                                          results.machine.topology);
  ASSERT_TRUE(planned) << planned.error().what;
  ASSERT_EQ(planned->cpts.size(), 2U);
  EXPECT_EQ(planned->cpts[1].shards[0].cpu, 1U);
}

TEST(PinRecommend, TheBaselineIfNothingWasSeenToBeBetter) {
  Results results = results_of("rounds: {least: 10, most: 10}\nfactors: {idle: [yield, sleep]}\n");
  MadeUpStage stage;
  (void)sweep_made_up(results, stage);
  const auto choice = recommend(results, analyse(results, kResamples), Aim::kThroughput);
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->placement, 0U);
  EXPECT_EQ(choice->as_good, std::vector<std::size_t>{1});
  const auto none = recommend(results, analyse(results, kResamples), Aim::kWatt);
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().what.find("throughput, p99, efficiency"), std::string::npos);
}

Results short_sweep(unsigned rounds) {
  Results results =
      results_of("rounds: {least: " + std::to_string(rounds) + ", most: " + std::to_string(rounds) +
                 "}\nfactors: {idle: [yield, sleep]}\n");
  MadeUpStage stage(Speeds{{0, 1000}, {1, 2000}});
  (void)sweep_made_up(results, stage);
  return results;
}

TEST(PinRecommend, NothingOnTooFewRounds) {
  for (const unsigned rounds : {1U, 2U, 6U}) {
    const Results results = short_sweep(rounds);
    const auto choice = recommend(results, analyse(results, kResamples), Aim::kThroughput);
    ASSERT_FALSE(choice) << rounds;
    EXPECT_NE(choice.error().what.find("7 are needed"), std::string::npos) << choice.error().what;
  }
  const Results enough = short_sweep(7);
  const auto choice = recommend(enough, analyse(enough, kResamples), Aim::kThroughput);
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->placement, 1U);
}

TEST(PinRecommend, PlacementsWithTooFewRoundsAreNamed) {
  Results results = short_sweep(8);
  Results partial =
      results_of("rounds: {least: 8, most: 8}\nfactors: {idle: [yield, sleep, busy]}\n");
  for (const Entry& each : results.ledger.entries())
    partial.ledger.add(each);
  partial.ledger.add({.round = 0, .placement = 2, .figures = Figures{.throughput_mibps = 9000}});
  const auto choice = recommend(partial, analyse(partial, kResamples), Aim::kThroughput);
  ASSERT_TRUE(choice) << choice.error().what;
  EXPECT_EQ(choice->placement, 1U) << "one round of p2 decides nothing";
  EXPECT_EQ(choice->undecided, std::vector<std::size_t>{2});
  EXPECT_NE(reason_of(partial, *choice).find("too few rounds to compare p2"), std::string::npos);
}

TEST(PinReport, TooFewRoundsHaveNoInterval) {
  const Results results = short_sweep(1);
  const Analysis analysis = analyse(results, kResamples);
  const std::string text = text_of(results, analysis);
  EXPECT_NE(text.find("(no interval: 1 round is too few for an interval, 6 are needed)"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("%; 1 round is too few to compare, 7 are needed"), std::string::npos);
  EXPECT_NE(text.find("effects: 1 round is too few"), std::string::npos);
  EXPECT_EQ(text.find(" to 1"), std::string::npos) << "no bounds\n" << text;
  const Json json = json_of(results, analysis);
  const Json& best = json["aims"]["throughput"]["placements"][0];
  EXPECT_FALSE(best["median"].contains("low"));
  EXPECT_FALSE(best["versus_baseline"]["percent"].contains("low"));
  EXPECT_EQ(best["versus_baseline"]["pairs_needed"], 7);
  EXPECT_EQ(json["rounds_needed"], 6);
  EXPECT_NE(html_of(results, analysis).find("1 round is too few for an interval, 6 are needed"),
            std::string::npos);
  const Results enough = short_sweep(7);
  EXPECT_TRUE(
      json_of(enough, analyse(enough, kResamples))["aims"]["throughput"]["placements"][0]["median"]
          .contains("low"));
}

TEST(PinReport, FailedPlacementsAreNamedEverywhere) {
  Results results = results_of("rounds: {least: 7, most: 7}\nfactors: {idle: [yield, sleep]}\n");
  MadeUpStage stage(Speeds{{1, -1}});
  (void)sweep_made_up(results, stage);
  const Analysis analysis = analyse(results, kResamples);
  EXPECT_EQ(analysis.failed, 3U);
  const char* const words = "p1 (idle=sleep) has no figures: host has gone";
  EXPECT_NE(text_of(results, analysis).find(words), std::string::npos);
  EXPECT_NE(html_of(results, analysis).find(words), std::string::npos);
  EXPECT_EQ(json_of(results, analysis)["failed"]["p1"], "host has gone");
}

TEST(PinRecommend, SharedCpusAreNoPattern) {
  Placement placement;
  placement.cpts = {{.cpus = {0, 1}}, {.cpus = {1, 2}}};
  EXPECT_FALSE(cpu_pattern_of(placement));
  placement.cpts = {{.cpus = {1, 0}}, {.cpus = {2, 2}}};
  EXPECT_EQ(*cpu_pattern_of(placement), "0[0-1] 1[2]");
}

Json answer_of(const std::vector<unsigned>& cpus, unsigned memory) {
  Json shards = Json::array();
  for (const unsigned cpu : cpus)
    shards.push_back({{"shard", shards.size()}, {"cpu", cpu}, {"idle", "yield"}});
  return {{"cpt", Json::array({{{"cpt", 0}, {"memory node", memory}, {"shards", shards}}})}};
}

bool says(const std::vector<Finding>& findings, const char* words, bool bad) {
  return std::ranges::any_of(findings, [&](const Finding& each) {
    return each.bad == bad && each.text.find(words) != std::string::npos;
  });
}

TEST(PinCheck, ARunningNodeAgainstTheMachine) {
  const Results results = decided();
  const auto placement = placement_of(answer_of({0}, 1));
  ASSERT_TRUE(placement);
  EXPECT_TRUE(says(check_placement(*placement, results.machine, "/nowhere"), "memory", true));
  const auto twice = placement_of(answer_of({0, 0}, 0));
  EXPECT_TRUE(says(check_placement(*twice, results.machine, "/nowhere"), "share it", true));
  Machine isolated = results.machine;
  isolated.isolated = {2, 3};
  EXPECT_TRUE(
      says(check_placement(*placement, isolated, "/nowhere"), "none of the isolated", true));
  EXPECT_FALSE(placement_of(Json::object()));
  EXPECT_FALSE(placement_of({{"cpt", Json::array()}}));
}

TEST(PinCheck, ARunningNodeAgainstResults) {
  const Results results = decided();
  const Analysis analysis = analyse(results, kResamples);
  const auto check = [&](const Placement& placement, const Machine& machine) {
    return check_results(placement, machine, results, analysis, Aim::kThroughput);
  };
  // CPU 1 is CPU 0 by symmetry.
  const auto remote = check(*placement_of(answer_of({1}, 1)), results.machine);
  EXPECT_TRUE(says(remote, "placed like p1, which is number 4 of 4", true));
  const auto unknown = check(*placement_of(answer_of({0, 1, 2}, 0)), results.machine);
  EXPECT_TRUE(says(unknown, "was not measured", false));
  Machine other = results.machine;
  other.topology.name = "elsewhere";
  EXPECT_TRUE(says(check(*placement_of(answer_of({0}, 0)), other), "this machine is", true));
}

}  // namespace
}  // namespace plnet::pin::report_test
