// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-selftest/run/rate_search.hpp"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

namespace plnet::run::rate_search_test {
namespace {

// The result of a search when every rate up to `capable` meets the limit.
std::optional<double> found(double capable, unsigned& tries, std::size_t clients = 1) {
  RateSearch search(clients);
  for (tries = 0; search.rate() && tries < 100; ++tries)
    search.judge(*search.rate() <= capable);
  return search.highest();
}

TEST(SelftestRateSearch, FindsTheHighestRate) {
  for (const double capable : {20.0, 400.0, 999.0, 1000.0, 77'000.0, 2e6}) {
    unsigned tries = 0;
    const auto rate = found(capable, tries);
    ASSERT_TRUE(rate) << capable;
    EXPECT_LE(*rate, capable);
    EXPECT_GE(*rate, capable / RateSearch::kEnough);
    EXPECT_LE(tries, RateSearch::kTriesMax);
  }
}

TEST(SelftestRateSearch, HasAnEndWhereNothingOrEverythingKeeps) {
  unsigned tries = 0;
  EXPECT_FALSE(found(0, tries));
  EXPECT_LE(tries, RateSearch::kTriesMax);
  EXPECT_LE(found(1e12, tries).value_or(1e12), selftest::kPaceMax);
  EXPECT_LE(tries, RateSearch::kTriesMax);
}

TEST(SelftestRateSearch, AsManyClientsAsThereAreCanBeAskedForAllThatTheyCan) {
  for (const std::size_t clients : {1U, 100U, 8000U, 16384U}) {
    const auto all = static_cast<double>(clients);
    for (const bool good : {false, true}) {
      RateSearch search(clients);
      double last = 0;
      for (; search.rate(); search.judge(good)) {
        last = *search.rate();
        EXPECT_TRUE(selftest::is_pace(last / all)) << clients << ": " << last;
      }
      EXPECT_EQ(search.at_top(), good);
      const double least = std::max(RateSearch::kLowest, selftest::kPaceMin * all);
      EXPECT_NEAR(last, good ? selftest::kPaceMax * all : least, 1e-6 * last) << clients;
    }
    unsigned tries = 0;
    const double capable = 0.9 * selftest::kPaceMax * all;
    EXPECT_GE(found(capable, tries, clients).value_or(0), capable / RateSearch::kEnough);
    EXPECT_LT(tries, RateSearch::kTriesMax);
  }
}

TEST(SelftestRateSearch, ManyClientsShareNoLessThanEachCanDo) {
  RateSearch search(8000);
  for (; search.rate(); search.judge(false))
    EXPECT_TRUE(selftest::is_pace(*search.rate() / 8000)) << *search.rate();
}

TEST(SelftestRateSearch, ChanceIsNotHeldAgainstAShortMeasurement) {
  Measurement few{.seconds = 5, .rpc_rate = 8};  // 40 of 50: 1.5 standard deviations
  few.latency = Latency{.count = 40, .p99_us = 100};
  EXPECT_TRUE(keeps({Percentile::kP99, 200}, 10, std::vector{few}));
  few.rpc_rate = 4;
  EXPECT_FALSE(keeps({Percentile::kP99, 200}, 10, std::vector{few}));
}

TEST(SelftestRateSearch, ConditionsOfAKeptRate) {
  Measurement good{.seconds = 5, .rpc_rate = 990};
  good.latency = Latency{.count = 5, .p50_us = 10, .p99_us = 200};
  const RateGoal goal{Percentile::kP99, 200};
  EXPECT_TRUE(keeps(goal, 1000, std::vector{good, good, good}));
  EXPECT_FALSE(keeps(goal, 1000, {}));
  EXPECT_FALSE(keeps({Percentile::kP99, 199}, 1000, std::vector{good}));
  EXPECT_TRUE(keeps({Percentile::kP50, 10}, 1000, std::vector{good}));
  EXPECT_FALSE(keeps(goal, 2000, std::vector{good}));  // fewer requests began than were asked for
  // The median of the repeats decides: one of three may be worse.
  Measurement slow = good;
  slow.latency->p99_us = 900;
  EXPECT_TRUE(keeps(goal, 1000, std::vector{good, slow, good}));
  Measurement other = good;
  other.pace.dropped = 1;
  EXPECT_FALSE(keeps(goal, 1000, std::vector{good, other, good}));
  other = good;
  other.errors.brw = 1;
  EXPECT_FALSE(keeps(goal, 1000, std::vector{other}));
  other = good;
  other.latency.reset();
  EXPECT_FALSE(keeps(goal, 1000, std::vector{other}));
}

}  // namespace
}  // namespace plnet::run::rate_search_test
