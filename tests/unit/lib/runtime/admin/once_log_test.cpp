// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/admin/once_log.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace plnet::runtime {
namespace {

using namespace std::chrono_literals;

constexpr LogSite kFirst{LogLevel::kWarning, "bad_input", {"from", "cause"}};
constexpr LogSite kGoesOn{LogLevel::kWarning, "bad_input_goes_on", {"from", "cause", "repeated"}};

class Epoch final : public WallClock {
 public:
  [[nodiscard]] WallTime now() const override { return {}; }
};

class OnceLogTest : public testing::Test {
 protected:
  explicit OnceLogTest(unsigned burst = 1'000'000) {
    LogOptions options;
    options.descriptor = -1;
    options.burst = burst;
    options.capture = [this](std::string_view line) {
      lines.emplace_back(line.substr(line.find("event=")));
      lines.back().pop_back();
    };
    log = std::move(*Log::open(options, clock, wall_clock));
    once = std::make_unique<OnceLog>(*log, OnceLog::Sites{kFirst, kGoesOn}, clock);
  }

  std::vector<std::string> lines;
  ManualClock clock;
  Epoch wall_clock;
  std::unique_ptr<Log> log;
  std::unique_ptr<OnceLog> once;
};

using Lines = std::vector<std::string>;

TEST_F(OnceLogTest, TheSameCauseOfTheSameSourceIsLoggedOnce) {
  for (unsigned i = 0; i < 100; ++i)
    once->tell("10.0.0.1@tcp", "closed_bad_frame");
  once->sum_up();
  EXPECT_EQ(lines, (Lines{"event=bad_input from=10.0.0.1@tcp cause=closed_bad_frame"}));
}

TEST_F(OnceLogTest, OtherCausesAndSourcesAreLogged) {
  once->tell("10.0.0.1@tcp", "closed_bad_frame");
  once->tell("10.0.0.1@tcp", "closed_checksum");
  once->tell("10.0.0.2@tcp", "closed_bad_frame");
  EXPECT_EQ(lines.size(), 3U);
}

TEST_F(OnceLogTest, RepetitionsAreSummedUpPeriodically) {
  once->tell("10.0.0.1@tcp", "closed_bad_frame");
  for (unsigned i = 0; i < 7; ++i)
    once->tell("10.0.0.1@tcp", "closed_bad_frame");
  once->sum_up();
  EXPECT_EQ(lines.size(), 1U);
  clock.advance(OnceLog::kSumInterval);
  once->sum_up();
  once->sum_up();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[1],
            "event=bad_input_goes_on from=10.0.0.1@tcp cause=closed_bad_frame repeated=7");
  clock.advance(2 * OnceLog::kSumInterval);
  once->sum_up();
  EXPECT_EQ(lines.size(), 2U) << "it has stopped";
  once->tell("10.0.0.1@tcp", "closed_bad_frame");
  once->sum_up();
  EXPECT_EQ(lines.size(), 3U) << "and begun again";
}

TEST_F(OnceLogTest, SoManyAreRememberedAndTheQuietestIsForgotten) {
  for (std::size_t i = 0; i < OnceLog::kToldMax; ++i)
    once->tell(std::to_string(i), "x");
  once->tell("0", "x");  // before the quiet period
  once->tell("new", "x");
  EXPECT_EQ(once->remembered(), OnceLog::kToldMax);
  EXPECT_EQ(lines.size(), OnceLog::kToldMax + 1);
  once->tell("0", "x");
  EXPECT_EQ(lines.size(), OnceLog::kToldMax + 1);
  once->tell("1", "x");
  EXPECT_EQ(lines.size(), OnceLog::kToldMax + 2) << "the quietest was evicted and is logged again";
}

TEST_F(OnceLogTest, AnEvictedEntryIsSummedUpFirst) {
  once->tell("0", "x");
  once->tell("0", "x");
  for (std::size_t i = 1; i <= OnceLog::kToldMax; ++i)
    once->tell(std::to_string(i), "x");
  EXPECT_EQ(lines[OnceLog::kToldMax], "event=bad_input_goes_on from=0 cause=x repeated=1");
}

TEST_F(OnceLogTest, ManySumsAreSpreadOut) {
  for (unsigned i = 0; i < 2 * OnceLog::kSumsAtOnce; ++i) {
    once->tell(std::to_string(i), "x");
    once->tell(std::to_string(i), "x");
  }
  clock.advance(OnceLog::kSumInterval);
  const std::size_t before = lines.size();
  once->sum_up();
  EXPECT_EQ(lines.size(), before + OnceLog::kSumsAtOnce);
  once->sum_up();
  EXPECT_EQ(lines.size(), before + 2 * OnceLog::kSumsAtOnce);
}

class LimitedOnceLogTest : public OnceLogTest {
 protected:
  static constexpr unsigned kBurst = 10;
  LimitedOnceLogTest() : OnceLogTest(kBurst) {}
};

TEST_F(LimitedOnceLogTest, EachSourceGetsALineWithinTheSameSecond) {
  constexpr unsigned kClients = 30;
  for (unsigned i = 0; i < kClients; ++i)
    once->tell(std::to_string(i), "x");
  EXPECT_EQ(lines.size(), kBurst);
  once->tell("29", "x");  // while its line waits
  for (unsigned second = 0; second < 3; ++second) {
    clock.advance(1s);
    once->sum_up();
  }
  ASSERT_EQ(lines.size(), kClients);
  for (unsigned i = 0; i < kClients; ++i)
    EXPECT_EQ(std::ranges::count(lines, "event=bad_input from=" + std::to_string(i) + " cause=x"),
              1)
        << i;
  EXPECT_EQ(log->suppressed(), 0U);
  clock.advance(OnceLog::kSumInterval);
  once->sum_up();
  ASSERT_EQ(lines.size(), kClients + 1);
  EXPECT_EQ(lines.back(), "event=bad_input_goes_on from=29 cause=x repeated=1");
}

TEST_F(LimitedOnceLogTest, AFloodOfNamesIsCountedWithoutThem) {
  constexpr std::size_t kMore = 500;
  for (std::size_t i = 0; i < OnceLog::kToldMax + kMore; ++i)
    once->tell(std::to_string(i), "x");
  EXPECT_EQ(once->remembered(), OnceLog::kToldMax);
  EXPECT_EQ(lines.size(), kBurst);
  clock.advance(1s);
  log->drain();
  ASSERT_EQ(lines.size(), kBurst + 1);
  EXPECT_EQ(lines.back(), "event=bad_input repeated=" + std::to_string(kMore - kBurst));
}

}  // namespace
}  // namespace plnet::runtime
