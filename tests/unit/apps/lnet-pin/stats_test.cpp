// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>
#include <numbers>
#include <vector>

#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>

#include "apps/lnet-pin/stats/bootstrap.hpp"
#include "apps/lnet-pin/stats/effects.hpp"
#include "apps/lnet-pin/stats/paired.hpp"
#include "apps/lnet-pin/stats/quantile.hpp"
#include "lib/base/random.hpp"

namespace plnet::pin::stats_test {
namespace {

constexpr double kNoise = 0.02;

// Figures around `level`, with noise that all placements of a round share and noise of each
// measurement.
class Timings {
 public:
  explicit Timings(std::uint64_t seed) : random_(seed) {}

  std::vector<double> round(const std::vector<double>& levels) {
    const double drift = normal() * kNoise * 5;  // of the whole machine
    std::vector<double> figures;
    for (const double level : levels)
      figures.push_back(level * std::exp(drift + normal() * kNoise));
    return figures;
  }

 private:
  double normal() {
    return std::sqrt(-2 * std::log1p(-random_.unit())) *
           std::cos(2 * std::numbers::pi * random_.unit());
  }
  Random random_;
};

// By placement, then round.
std::vector<std::vector<double>> rounds_of(std::uint64_t seed, std::size_t rounds,
                                           const std::vector<double>& levels) {
  Timings timings(seed);
  std::vector<std::vector<double>> figures(levels.size());
  for (std::size_t round = 0; round < rounds; ++round) {
    const auto row = timings.round(levels);
    for (std::size_t i = 0; i < row.size(); ++i)
      figures[i].push_back(row[i]);
  }
  return figures;
}

TEST(PinStats, QuantilesOfKnownTables) {
  EXPECT_NEAR(student_quantile(0.975, 5), 2.570582, 1e-4);
  EXPECT_NEAR(student_quantile(0.025, 9), -2.262157, 1e-4);
  EXPECT_NEAR(student_quantile(0.8, 1), 1.376382, 1e-4);
  EXPECT_NEAR(normal_cdf(-1.959964), 0.025, 1e-6);
  EXPECT_DOUBLE_EQ(median_of({3, 1, 2}), 2);
  EXPECT_DOUBLE_EQ(median_of({4, 1, 2, 3}), 2.5);
  EXPECT_DOUBLE_EQ(median_of({}), 0);
  EXPECT_DOUBLE_EQ(quantile_of(std::vector<double>{1, 2, 3}, 0.25), 1.5);
}

TEST(PinStats, PairsThatADecisionNeeds) {
  EXPECT_EQ(pairs_needed(0.95, 1), 7U);  // 2 of 128 ways are one-sided
  EXPECT_EQ(pairs_needed(0.95, 8), 10U);
  EXPECT_EQ(pairs_needed(0.5, 0), 3U);
}

TEST(PinStats, TheNumberOfThreadsChangesNothing) {
  const auto figures = rounds_of(5, 12, {100, 103}).front();
  const Bootstrap how{.seed = 77, .resamples = 500};
  const oneapi::tbb::global_control many_threads(
      oneapi::tbb::global_control::max_allowed_parallelism, 7);
  Interval alone;
  oneapi::tbb::task_arena(1).execute([&] { alone = median_interval(figures, how); });
  for (const int threads : {2, 3, 7}) {
    Interval many;
    oneapi::tbb::task_arena(threads).execute([&] { many = median_interval(figures, how); });
    EXPECT_EQ(alone, many) << threads;
  }
  EXPECT_NE(alone, median_interval(figures, {.seed = 78, .resamples = 500}));
}

TEST(PinStats, IdenticalPlacementsAreCalledEqual) {
  constexpr unsigned kRepeats = 200;
  for (const std::size_t rounds : {std::size_t{7}, std::size_t{12}}) {
    unsigned equal = 0;
    for (unsigned repeat = 0; repeat < kRepeats; ++repeat) {
      const auto figures = rounds_of(500'000 + repeat, rounds, {100, 100});
      const auto compared = compare(figures[0], figures[1], {.seed = repeat, .resamples = 200}, 1);
      equal += compared.verdict == Verdict::kEqual ? 1U : 0U;
    }
    EXPECT_GE(equal, kRepeats * 95 / 100) << rounds << " rounds";
  }
}

TEST(PinStats, APlantedEffectRanksLast) {
  const std::vector<double> levels{100, 101, 60, 99};
  const auto figures = rounds_of(3, 10, levels);
  std::size_t last = 0;
  for (std::size_t i = 1; i < levels.size(); ++i) {
    if (median_of(figures[i]) < median_of(figures[last])) last = i;
  }
  EXPECT_EQ(last, 2U);
  const auto compared = compare(figures[0], figures[2], {}, 3);
  EXPECT_EQ(compared.verdict, Verdict::kLower);
  EXPECT_LT(compared.percent.high, 0);
  EXPECT_NEAR(compared.percent.estimate, -40, 3);
  EXPECT_LE(compared.probability, 0.05);
}

TEST(PinStats, ADifferenceBelowTheDetectableIsNotSeen) {
  const auto figures = rounds_of(11, 8, {100, 100.1});
  const auto compared = compare(figures[0], figures[1], {}, 1);
  EXPECT_EQ(compared.verdict, Verdict::kEqual);
  EXPECT_GT(compared.detectable_percent, 1);
  EXPECT_LT(compared.detectable_percent, 10);
}

TEST(PinStats, TooFewRoundsDecideNothing) {
  const auto figures = rounds_of(1, 5, {100, 10});
  EXPECT_EQ(compare(figures[0], figures[1], {}, 1).verdict, Verdict::kTooFew);
  EXPECT_EQ(compare({}, {}, {}, 1).verdict, Verdict::kTooFew);
}

std::vector<Treatment> two_by_two(double a, double b, double both) {
  const std::vector<double> levels{100, 100 * b, 100 * a, 100 * a * b * both};
  const auto figures = rounds_of(21, 9, levels);
  return {{{0, 0}, figures[0]}, {{0, 1}, figures[1]}, {{1, 0}, figures[2]}, {{1, 1}, figures[3]}};
}

TEST(PinStats, EffectsOfAFullDesign) {
  const auto effects = effects_of(two_by_two(1.2, 0.8, 1), {.resamples = 400});
  ASSERT_EQ(effects.main.size(), 2U);
  EXPECT_NEAR(effects.main[0].percent.estimate, 20, 4);
  EXPECT_TRUE(effects.main[0].percent.excludes(0));
  EXPECT_NEAR(effects.main[1].percent.estimate, -20, 4);
  ASSERT_EQ(effects.interactions.size(), 1U);
  EXPECT_FALSE(effects.interactions[0].percent.excludes(0));
}

TEST(PinStats, AnInteractionIsFound) {
  const auto effects = effects_of(two_by_two(1, 1, 1.5), {.resamples = 400});
  ASSERT_EQ(effects.interactions.size(), 1U);
  EXPECT_NEAR(effects.interactions[0].percent.estimate, 50, 8);
  EXPECT_TRUE(effects.interactions[0].percent.excludes(0));
}

TEST(PinStats, AnUndecidableDesignIsReported) {
  auto treatments = two_by_two(1.2, 1, 1);
  treatments.erase(treatments.begin() + 3);  // one factor at a time
  const auto effects = effects_of(treatments, {.resamples = 100});
  EXPECT_EQ(effects.main.size(), 2U);
  EXPECT_TRUE(effects.interactions.empty());
  ASSERT_EQ(effects.unknown_pairs.size(), 1U);
  treatments.erase(treatments.begin() + 1, treatments.begin() + 3);
  treatments.push_back({{1, 1}, treatments[0].figures});  // both always together
  const auto aliased = effects_of(treatments, {.resamples = 100});
  EXPECT_EQ(aliased.main.size(), 1U);
  EXPECT_EQ(aliased.unknown, std::vector<std::size_t>{1});
}

TEST(PinStats, RoundsForAnInterval) {
  EXPECT_EQ(rounds_for_interval(0.95), 6U);
  EXPECT_EQ(rounds_for_interval(0.5), 2U);
  EXPECT_EQ(rounds_for_interval(0.99), 8U);
  EXPECT_EQ(pairs_needed(0.95, 1), 7U);
}

}  // namespace
}  // namespace plnet::pin::stats_test
