// SPDX-License-Identifier: BSD-3-Clause
// Peers that are lost and return: log lines, and warnings of `status`.
#include "node/watch/reach_watch.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "lib/runtime/admin/system_clock.hpp"
#include "node/watch/refusal_watch.hpp"

namespace plnet::node::reach_watch_test {
namespace {

using lnet::Nid;
using std::chrono::seconds;

Nid nid(std::uint32_t host) {
  return Nid::of(lnet::NetType::kTcp, 0, 0x0a000000 + host);
}

class Reach : public testing::Test {
 protected:
  void SetUp() override {
    runtime::LogOptions options;
    options.descriptor = -1;
    options.capture = [this](std::string_view line) { lines.emplace_back(line); };
    auto opened = runtime::Log::open(options, clock, wall_clock);
    ASSERT_TRUE(opened);
    log = std::move(*opened);
    watch.step(now, unreachable, *log);
  }
  void lose(std::uint32_t host, std::optional<Duration> silent = seconds(12),
            Errc cause = Errc::kTimedOut) {
    watch.hear({.nid = nid(host), .ni = nid(1), .trouble = cause, .silent = silent}, now, explain,
               *log);
  }
  void find(std::uint32_t host) {
    watch.hear({.nid = nid(host), .ni = nid(1)}, now, explain, *log);
  }
  void pass(Duration time) {
    now += time;
    watch.step(now, unreachable, *log);
  }
  [[nodiscard]] std::size_t lines_with(std::string_view text) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        lines, [text](const std::string& line) { return line.contains(text); }));
  }

  runtime::SystemClock clock;
  runtime::SystemWallClock wall_clock;
  std::vector<std::string> lines;
  std::unique_ptr<runtime::Log> log;
  ReachWatch watch;
  Instant now{std::chrono::hours(1)};
  std::uint64_t unreachable = 0;
  const ReachWatch::Explain explain = [](const lnet::PeerNews& news) {
    return news.trouble == Errc::kTimedOut ? std::string("is port 988 filtered?") : std::string();
  };
};

TEST_F(Reach, LossAndReturnOfAPeerAreALineEach) {
  lose(2);
  lose(2, seconds(13), Errc::kRefused);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_NE(lines[0].find("event=peer_lost nid=10.0.0.2@tcp ni=10.0.0.1@tcp silent_s=12 "
                          "cause=\"timed out\" check=\"is port 988 filtered?\""),
            std::string::npos)
      << lines[0];
  pass(seconds(5));
  const runtime::Json warnings = watch.warnings(now, explain);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(warnings[0]["what"], "10.0.0.2@tcp cannot be reached");
  EXPECT_EQ(warnings[0]["why"], "no answer for 17 s: connection refused");
  EXPECT_EQ(warnings[0]["fix"], "lnetctl route explain '*' 10.0.0.2@tcp");
  find(2);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_NE(lines[1].find("event=peer_back nid=10.0.0.2@tcp ni=10.0.0.1@tcp after_s=5"),
            std::string::npos)
      << lines[1];
  EXPECT_TRUE(watch.warnings(now, explain).empty());
}

TEST_F(Reach, APeerThatNeverAnsweredIsDistinguished) {
  lose(2, std::nullopt, Errc::kNoRoute);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_NE(lines[0].find("event=peer_unreachable nid=10.0.0.2@tcp"), std::string::npos);
  EXPECT_EQ(watch.warnings(now, explain)[0]["why"], "it never answered: no route to the peer");
}

TEST_F(Reach, ManyAtATimeShareALine) {
  for (std::uint32_t host = 2; host < 302; ++host)
    lose(host);
  EXPECT_EQ(lines.size(), ReachWatch::kLines);
  unreachable = 300;
  pass(ReachWatch::kWindow);
  ASSERT_EQ(lines.size(), ReachWatch::kLines + 1);
  EXPECT_NE(lines.back().find("event=peers_lost peers=292 such_as=\"10.0.0.10@tcp, "),
            std::string::npos)
      << lines.back();
  const runtime::Json warnings = watch.warnings(now, explain);
  ASSERT_EQ(warnings.size(), 5U);
  EXPECT_EQ(warnings[4]["what"], "296 more peers cannot be reached");
  for (std::uint32_t host = 2; host < 302; ++host)
    find(host);
  pass(ReachWatch::kWindow);
  EXPECT_EQ(lines_with("event=peer_back "), ReachWatch::kLines);
  EXPECT_EQ(lines_with("event=peers_back peers=292"), 1U);
}

TEST_F(Reach, APeerThatComesAndGoesHasALineAMinute) {
  for (unsigned turn = 0; turn < 30; ++turn) {
    lose(2);
    find(2);
    pass(seconds(2));
  }
  EXPECT_EQ(lines_with("event=peer_lost "), 1U);
  EXPECT_GE(lines_with("event=peers_lost peers="), 5U);
  lose(2);
  EXPECT_EQ(lines_with("event=peer_lost "), 2U) << "a minute is over";
}

TEST_F(Reach, ForgottenPeersAreNoWarning) {
  lose(2);
  watch.hear({.nid = nid(2), .forgotten = true}, now, explain, *log);
  EXPECT_TRUE(watch.warnings(now, explain).empty());
  lose(3);
  watch.clear();
  EXPECT_TRUE(watch.warnings(now, explain).empty());
}

TEST_F(Reach, ALossWithoutReportedEndExpires) {
  unreachable = 1;
  lose(2);
  pass(ReachWatch::kWindow);
  EXPECT_EQ(watch.warnings(now, explain).size(), 1U) << "the node counts it";
  unreachable = 0;
  pass(ReachWatch::kWindow);
  EXPECT_TRUE(watch.warnings(now, explain).empty());
}

TEST_F(Reach, PeersBeyondTheTableAreCounted) {
  for (std::uint32_t host = 0; host < ReachWatch::kKnownMax + 10; ++host)
    lose(host);
  unreachable = ReachWatch::kKnownMax + 10;
  pass(ReachWatch::kWindow);
  EXPECT_EQ(lines_with("event=peers_lost peers=4098"), 1U) << lines.back();
  EXPECT_EQ(watch.counters().value(0), unreachable);
  EXPECT_EQ(watch.warnings(now, explain)[4]["what"], "4102 more peers cannot be reached");
}

TEST_F(Reach, MessagesWithoutARouteAreNamedOnceAMinute) {
  RefusalWatch refusals;
  const Nid far = Nid::of(lnet::NetType::kTcp, 7, 0x0a010002);
  for (unsigned second = 0; second < 59; ++second)
    refusals.hear({lnet::Cause::kDroppedForwardNoPath, nid(2), far}, now + seconds(second), *log);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_NE(lines[0].find("event=messages_dropped why=\"no route to tcp7 can be used\" net=tcp7 "
                          "such_as_from=10.0.0.2@tcp to=10.1.0.2@tcp7"),
            std::string::npos)
      << lines[0];
  now += seconds(58);
  ASSERT_EQ(refusals.warnings(now, {}).size(), 1U);
  EXPECT_EQ(refusals.warnings(now, {})[0]["what"],
            "messages to tcp7 are dropped: no route to tcp7 can be used");
  EXPECT_TRUE(refusals.warnings(now + RefusalWatch::kAgain, {}).empty());
  refusals.hear({lnet::Cause::kDroppedNotRouting, nid(2), far}, now, *log);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_NE(lines[1].find("fix=\"lnetctl set routing 1;"), std::string::npos) << lines[1];
}

TEST_F(Reach, NetworksThatAreDroppedAreBounded) {
  RefusalWatch refusals;
  for (std::uint16_t number = 0; number < 1000; ++number) {
    refusals.hear({lnet::Cause::kTxNoPath, nid(2), Nid::of(lnet::NetType::kTcp, number, 1)}, now,
                  *log);
  }
  EXPECT_EQ(refusals.warnings(now, {}).size(), RefusalWatch::kKnownMax);
}

TEST_F(Reach, MessagesForOthersAreOneWarningWithCountAndSenders) {
  RefusalWatch refusals;
  const std::vector<GrowingCause> drops{
      {.cause = lnet::Cause::kDroppedNotRouting, .lately = 12, .ever = 99}};
  for (std::uint16_t number = 0; number < 5; ++number) {
    refusals.hear({lnet::Cause::kDroppedNotRouting, nid(2 + number % 2U),
                   Nid::of(lnet::NetType::kTcp, number, 1)},
                  now, *log);
  }
  EXPECT_EQ(lines.size(), 1U);
  const runtime::Json warnings = refusals.warnings(now, drops);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(warnings[0]["what"], "messages for other nodes are dropped: routing is off");
  EXPECT_EQ(warnings[0]["why"],
            "12 in the last minute; senders: 10.0.0.2@tcp, 10.0.0.3@tcp; the last one: from "
            "10.0.0.2@tcp to 0.0.0.1@tcp4");
  EXPECT_EQ(warnings[0]["fix"],
            "lnetctl set routing 1; or remove the routes by this node from other nodes");
}

TEST_F(Reach, MessagesThatAnAccessRuleForbidsAreAWarning) {
  RefusalWatch refusals;
  const Nid far = Nid::of(lnet::NetType::kTcp, 7, 0x0a010002);
  refusals.hear({lnet::Cause::kDroppedAccess, nid(2), far}, now, *log);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_TRUE(lines[0].contains("why=\"an access rule forbids to forward them\"")) << lines[0];
  const runtime::Json warnings = refusals.warnings(now, {});
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(warnings[0]["what"],
            "messages for other nodes are dropped: an access rule forbids to forward them");
  EXPECT_EQ(warnings[0]["why"], "the last one: from 10.0.0.2@tcp to 10.1.0.2@tcp7");
  EXPECT_EQ(warnings[0]["fix"],
            "lnetctl access show; lnetctl route explain 10.0.0.2@tcp 10.1.0.2@tcp7 names the rule");
  refusals.forget_access();
  EXPECT_TRUE(refusals.warnings(now, {}).empty());
}

}  // namespace
}  // namespace plnet::node::reach_watch_test
