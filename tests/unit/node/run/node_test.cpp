// SPDX-License-Identifier: BSD-3-Clause
#include "node/run/node.hpp"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lib/base/clock.hpp"
#include "lib/lnet/control/node_standing.hpp"
#include "node/watch/drain_log.hpp"

namespace plnet::node::node_test {
namespace {

using lnet::DrainPhase;
using lnet::RoutingState;
using lnet::StandingReport;

StandingReport under_way() {
  return {.state = RoutingState::kStopping,
          .phase = DrainPhase::kNoticing,
          .told = {.pushed = 3, .acknowledged = 1, .by_ping = 1, .counted = true},
          .load = {.held = 7}};
}

StandingReport drained() {
  return {.state = RoutingState::kDisabled,
          .phase = DrainPhase::kDrained,
          .told = {.pushed = 3, .acknowledged = 3, .counted = true},
          .unsent_known = true};
}

class DrainLogs : public ::testing::Test {
 protected:
  void SetUp() override {
    runtime::LogOptions options;
    options.descriptor = -1;
    options.capture = [this](std::string_view line) {
      lines_.emplace_back(line.substr(line.find("event=")));
      lines_.back().pop_back();
    };
    auto log = runtime::Log::open(options, clock_, wall_clock_);
    ASSERT_TRUE(log.has_value());
    log_ = std::move(*log);
    drain_.emplace(*log_, clock_);
  }

  ManualClock clock_;
  const runtime::SystemWallClock wall_clock_;
  std::vector<std::string> lines_;
  std::unique_ptr<runtime::Log> log_;
  std::optional<DrainLog> drain_;
};

TEST_F(DrainLogs, ADrainLogsALineEachSecondAndAtItsEnd) {
  for (int i = 0; i < 11; ++i) {
    drain_->say(under_way());
    clock_.advance(std::chrono::milliseconds(100));
  }
  EXPECT_TRUE(drain_->end(drained()));
  ASSERT_EQ(lines_.size(), 3U);
  EXPECT_EQ(
      lines_[0],
      "event=draining phase=\"peers notice\" acknowledged=1 peers=3 by_ping=1 held=7 unsent=0 "
      "seconds_left=0");
  EXPECT_EQ(lines_[2], "event=drained cut_off=0 not_acknowledged=0 unsent=0");
}

TEST_F(DrainLogs, ASignalEndsADrainOnce) {
  drain_->say(under_way());
  lines_.clear();
  drain_->break_off();
  drain_->break_off();
  drain_->say(under_way());
  EXPECT_FALSE(drain_->end(drained())) << "the process ends already";
  EXPECT_EQ(lines_, std::vector<std::string>{"event=drain_broken_off held=7 not_acknowledged=3"});
}

TEST_F(DrainLogs, ASignalAfterADrainHasBrokenNothingOff) {
  drain_->say(under_way());
  EXPECT_TRUE(drain_->end(drained()));
  lines_.clear();
  drain_->break_off();
  EXPECT_TRUE(lines_.empty()) << lines_[0];
}

TEST_F(DrainLogs, MissingCountsAreLoggedAsUnknown) {
  StandingReport report = under_way();
  report.told = {};
  drain_->say(report);
  report.cut_off = 7;
  EXPECT_TRUE(drain_->end(report));
  EXPECT_EQ(lines_.back(), "event=drained cut_off=7 not_acknowledged=unknown unsent=unknown");
}

TEST_F(DrainLogs, ANodeWithoutRoutingLogsNothing) {
  EXPECT_TRUE(drain_->end({}));
  EXPECT_TRUE(lines_.empty());
}

}  // namespace
}  // namespace plnet::node::node_test
