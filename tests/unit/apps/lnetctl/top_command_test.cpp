// SPDX-License-Identifier: BSD-3-Clause
#include <cerrno>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/apps/lnetctl/lnet_commands_fixture.hpp"

namespace plnet::apps::top_command_test {
namespace {

class TopCommand : public LnetCommands {
 protected:
  TopCommand() {
    lnet_.tallied.covered = std::chrono::seconds(12);
    lnet_.tallied.nids = {{.key = nid("10.0.0.1@tcp"), .messages = 120, .bytes = 1200},
                          {.key = nid("10.0.0.2@tcp"), .messages = 240, .error = 24}};
    lnet::Talker<lnet::Nid, lnet::HopTimes> hop{.key = nid("10.1.0.9@o2ib"), .messages = 24};
    hop.more.record(std::chrono::microseconds(70));
    lnet_.tallied.hops = {hop};
  }
};

TEST_F(TopCommand, ShowsTheSourcesOfTheLoad) {
  EXPECT_EQ(run("top"), 0) << err;
  EXPECT_EQ(out,
            "top:\n    by: nid\n    of the last sec: 12\n    load:\n"
            "        - nid: 10.0.0.2@tcp\n          messages per sec: 20\n"
            "          bytes per sec: 0\n          perhaps of others: 2\n"
            "        - nid: 10.0.0.1@tcp\n          messages per sec: 10\n"
            "          bytes per sec: 100\n");
  EXPECT_TRUE(paused.empty());
  EXPECT_EQ(run("top --by nid --rows 1"), 0) << err;
  EXPECT_FALSE(out.contains("10.0.0.1@tcp")) << out;
}

TEST_F(TopCommand, ShowsTheTimesOfNextHops) {
  EXPECT_EQ(run("top --by hop"), 0) << err;
  EXPECT_TRUE(out.contains("- hop: 10.1.0.9@o2ib\n")) << out;
  for (const char* const what : {"p50", "p90", "p99", "max"})
    EXPECT_TRUE(out.contains(std::string(what) + " usec: 96\n")) << out;
  for (const char* const by : {"net", "portal"})
    EXPECT_EQ(run(std::string("top --by ") + by), 0) << err;
}

TEST_F(TopCommand, RepeatsPeriodically) {
  using std::chrono::seconds;
  EXPECT_EQ(run("top --interval 5 --count 3"), 0) << err;
  EXPECT_EQ(paused, (std::vector{seconds(5), seconds(5)}));
  paused.clear();
  EXPECT_EQ(run("top --count 2"), 0) << err;
  EXPECT_EQ(paused, std::vector{seconds(1)});
}

TEST_F(TopCommand, IsAScreenOnATerminal) {
  live_screen_rounds = 2;
  EXPECT_EQ(run("top --interval 3"), 256 - ECONNRESET);
  EXPECT_TRUE(
      out.starts_with("\033[H\033[2Jlnetctl top: load by nid, of the last 12 s, renewed "
                      "every 3 s; Ctrl-C ends\n\nnid "))
      << out;
  EXPECT_TRUE(
      out.contains("10.0.0.2@tcp                           20          0 B "
                   "         -          -          -\n"))
      << out;
  EXPECT_EQ(paused, (std::vector{std::chrono::seconds(3), std::chrono::seconds(3)}));
  EXPECT_EQ(run("top --count 1"), 0);
  EXPECT_FALSE(out.contains('\033')) << out;
}

TEST_F(TopCommand, ReportsErrors) {
  EXPECT_EQ(run("top --by peer"), kInvalidStatus);
  EXPECT_TRUE(err.contains("by: 'peer', expected nid, net, portal or hop")) << err;
  EXPECT_NE(run("top --rows 0"), 0);
  EXPECT_EQ(run("top --interval 0"), kInvalidStatus);
  EXPECT_TRUE(err.contains("interval: 0, expected 1 to 86400")) << err;
  EXPECT_EQ(run("top --count 0"), kInvalidStatus);
}

}  // namespace
}  // namespace plnet::apps::top_command_test
