// SPDX-License-Identifier: BSD-3-Clause
#include "node/watch/recovery_log.hpp"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lib/base/clock.hpp"
#include "lib/runtime/admin/system_clock.hpp"

namespace plnet::node::recovery_log_test {
namespace {

using lnet::Nid;
using std::chrono::seconds;

class RecoveryLogTest : public testing::Test {
 protected:
  RecoveryLogTest() {
    runtime::LogOptions options;
    options.descriptor = -1;
    options.capture = [this](std::string_view line) { lines_.emplace_back(line); };
    log_ = std::move(runtime::Log::open(options, clock_, wall_clock_)).value();
    recovery_ = std::make_unique<RecoveryLog>(*log_);
  }
  static std::vector<Nid> nids(std::uint32_t count) {
    std::vector<Nid> all;
    for (std::uint32_t i = 1; i <= count; ++i)
      all.push_back(Nid::of(lnet::NetType::kTcp, 0, 0x0a000000 + i));
    return all;
  }
  // Advances by one second each; returns the seconds with a log line.
  std::vector<int> pass(int count, const lnet::RecoveryReport& report) {
    std::vector<int> spoken;
    for (int i = 0; i < count; ++i) {
      const std::size_t before = lines_.size();
      recovery_->say(report, now_);
      if (lines_.size() > before) spoken.push_back(i);
      now_ += seconds(1);
    }
    return spoken;
  }
  [[nodiscard]] bool said(std::string_view words) const {
    return !lines_.empty() && lines_.back().find(words) != std::string::npos;
  }

  runtime::SystemClock clock_;
  runtime::SystemWallClock wall_clock_;
  std::vector<std::string> lines_;
  std::unique_ptr<runtime::Log> log_;
  std::unique_ptr<RecoveryLog> recovery_;
  Instant now_ = Instant{} + seconds(1000);
};

TEST_F(RecoveryLogTest, HasTheKernelsWords) {
  (void)pass(1, {.local = {}, .peers = nids(2)});
  EXPECT_TRUE(
      said("event=recovery what=\"2 peer NIs in recovery (showing 2): 10.0.0.1@tcp, "
           "10.0.0.2@tcp\""))
      << lines_.back();
  (void)pass(1, {.local = nids(1), .peers = {}});
  EXPECT_TRUE(said("\"1 local NIs in recovery (showing 1): 10.0.0.1@tcp\"")) << lines_.back();
}

TEST_F(RecoveryLogTest, SpeaksLessAndLessOften) {
  EXPECT_TRUE(pass(100, {}).empty());
  EXPECT_EQ(pass(1600, {.local = {}, .peers = nids(1)}),
            (std::vector{0, 60, 180, 360, 600, 900, 1200, 1500}));
  EXPECT_TRUE(pass(250, {}).empty());
  EXPECT_EQ(pass(70, {.local = {}, .peers = nids(1)}), (std::vector{0, 60})) << "as at first";
  EXPECT_EQ(pass(1, {.local = nids(1), .peers = nids(1)}), std::vector{0}) << "both count alone";
}

// An NI that flaps is not logged each time.
TEST_F(RecoveryLogTest, DoesNotRepeatFlaps) {
  std::size_t lines = 0;
  for (int i = 0; i < 29; ++i)
    lines += pass(1, {.local = {}, .peers = nids(1)}).size() + pass(1, {}).size();
  EXPECT_EQ(lines, 1U);
}

TEST_F(RecoveryLogTest, ShowsTwentyOfMany) {
  (void)pass(1, {.local = {}, .peers = nids(20)});
  EXPECT_TRUE(said("20 peer NIs in recovery (showing 20): "));
  EXPECT_FALSE(said("full_list="));
  EXPECT_EQ(pass(60, {.local = {}, .peers = nids(21)}), std::vector{59});
  EXPECT_TRUE(said("21 peer NIs in recovery (showing 20): "));
  EXPECT_TRUE(said("10.0.0.20@tcp\" full_list=\"lnetctl debug recovery -p\"")) << lines_.back();
}

}  // namespace
}  // namespace plnet::node::recovery_log_test
