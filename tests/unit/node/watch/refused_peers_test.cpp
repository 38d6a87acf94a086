// SPDX-License-Identifier: BSD-3-Clause
// Peers that access rules refuse: log lines, and warnings of `status`.
#include "node/watch/refused_peers.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "lib/runtime/admin/system_clock.hpp"

namespace plnet::node::refused_peers_test {
namespace {

using lnet::Nid;
using std::chrono::seconds;

constexpr runtime::LogSite kFirst{runtime::LogLevel::kWarning, "peer_refused", {"nid", "why"}};
constexpr runtime::LogSite kGoesOn{
    runtime::LogLevel::kWarning, "peer_refused_goes_on", {"nid", "why", "repeated"}};

Nid nid(std::uint32_t host) {
  return Nid::of(lnet::NetType::kTcp, 0, 0x0a000000 + host);
}

class Refused : public testing::Test {
 protected:
  void SetUp() override {
    runtime::LogOptions options;
    options.descriptor = -1;
    options.burst = 1'000'000;
    options.capture = [this](std::string_view line) { lines.emplace_back(line); };
    auto opened = runtime::Log::open(options, clock, wall_clock);
    ASSERT_TRUE(opened);
    log = std::move(*opened);
    once =
        std::make_unique<runtime::OnceLog>(*log, runtime::OnceLog::Sites{kFirst, kGoesOn}, clock);
  }
  void refuse(std::uint32_t host, std::size_t rule = 0) {
    watch.hear({.peer = nid(host), .ours = nid(1), .rule = rule}, now, *once);
  }

  ManualClock clock;
  runtime::SystemWallClock wall_clock;
  std::vector<std::string> lines;
  std::unique_ptr<runtime::Log> log;
  std::unique_ptr<runtime::OnceLog> once;
  RefusedPeers watch;
  Instant now{std::chrono::hours(1)};
};

TEST_F(Refused, APeerHasOneLineAndAWarningWithItsAttempts) {
  for (unsigned attempt = 0; attempt < 5; ++attempt) {
    refuse(2);
    now += seconds(3);
  }
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_TRUE(
      lines[0].contains("event=peer_refused nid=10.0.0.2@tcp why=\"access rule 0 forbids "
                        "it to connect to 10.0.0.1@tcp (lnetctl access show)\""))
      << lines[0];
  EXPECT_EQ(watch.count(now), 1U);
  const runtime::Json warnings = watch.warnings(now);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(warnings[0]["what"], "10.0.0.2@tcp is refused: access rule 0 forbids it to connect");
  EXPECT_EQ(warnings[0]["why"], "5 attempts in 15 s, the last one 3 s ago");
  EXPECT_EQ(warnings[0]["fix"], "lnetctl access show");
}

TEST_F(Refused, TheWarningEndsWithTheAttemptsOrTheRule) {
  refuse(2);
  now += RefusedPeers::kKept;
  EXPECT_EQ(watch.count(now), 0U);
  EXPECT_TRUE(watch.warnings(now).empty());
  refuse(2);
  EXPECT_EQ(watch.warnings(now)[0]["why"], "1 attempt in 0 s, the last one 0 s ago");
  const std::vector<lnet::AccessRule> rules(1);
  EXPECT_TRUE(watch.judge_by(rules));
  EXPECT_TRUE(watch.warnings(now).empty());
  refuse(2);
  EXPECT_FALSE(watch.judge_by(rules));
  EXPECT_EQ(watch.count(now), 1U);
}

TEST_F(Refused, OfManyPeersTheLatestAreNamed) {
  for (std::uint32_t host = 2; host < 202; ++host) {
    refuse(host);
    now += std::chrono::milliseconds(1);
  }
  EXPECT_EQ(watch.count(now), RefusedPeers::kKnownMax);
  const runtime::Json warnings = watch.warnings(now);
  ASSERT_EQ(warnings.size(), 4U);
  EXPECT_TRUE(warnings[0]["what"].get<std::string>().starts_with("10.0.0.65@tcp is refused"));
  EXPECT_EQ(warnings[3]["what"], "61 more peers are refused by access rules");
}

}  // namespace
}  // namespace plnet::node::refused_peers_test
