// SPDX-License-Identifier: BSD-3-Clause
// Fault rules in the notations of lnetctl and lctl.
#include <gtest/gtest.h>

#include "tests/unit/apps/lnetctl/lnet_commands_fixture.hpp"

namespace plnet::apps::fault_commands_test {
namespace {

class FaultCommands : public LnetCommands {};

TEST_F(FaultCommands, DropAddTakesEveryOption) {
  EXPECT_EQ(run("fault drop add -s *@tcp -d 10.0.0.7@tcp -r 4 -p 1 -p 0x1a -m put --message GET "
                "-e local_timeout -e remote_dropped -t drop"),
            0)
      << err;
  EXPECT_EQ(out, "") << "silent, as all that adds";
  const lnet::FaultSpec expected{.source = lnet::parse_nid_or_any("*@tcp").value(),
                                 .destination = nid("10.0.0.7@tcp"),
                                 .portals = 1ULL << 1 | 1ULL << 26,
                                 .types = 0b0110,
                                 .rate = 4,
                                 .health_errors = 1U << 6 | 1U << 8};
  EXPECT_EQ(lnet_.node.faults, std::vector{expected});
  EXPECT_EQ(run("fault drop add --source * --dest * --interval 3 --random --drop_all"), 0) << err;
  EXPECT_TRUE(lnet_.node.faults[1].random && lnet_.node.faults[1].all);
  EXPECT_EQ(run("fault drop add -s * -d * -r 4 -o 10.0.0.1@tcp"), 0) << err;
  EXPECT_EQ(lnet_.node.faults[2].local, nid("10.0.0.1@tcp"));
  EXPECT_EQ(run("fault delay add -s * -d * -i 2 -l 5 -m REPLY"), 0) << err;
  EXPECT_EQ(lnet_.node.faults[3].kind, lnet::FaultKind::kDelay);
  EXPECT_EQ(lnet_.node.faults[3].latency_s, 5U);
}

TEST_F(FaultCommands, AddReportsErrors) {
  EXPECT_EQ(run("fault drop add -s * -r 1"), kMissingStatus);
  EXPECT_TRUE(err.contains("a rule needs both source and dest")) << err;
  EXPECT_EQ(run("fault delay add -s * -d * -r 1 -l 1 -o 10.0.0.1@tcp"), kInvalidStatus);
  EXPECT_TRUE(err.contains("only a drop of what arrives has a local NID")) << err;
  EXPECT_EQ(run("fault drop add -s * -d *"), kInvalidStatus);
  EXPECT_TRUE(err.starts_with("add:\n    - fault:\n          errno: -22\n")) << err;
  EXPECT_TRUE(err.contains("a rate or an interval, not both")) << err;
  EXPECT_EQ(run("fault drop add -s * -d * -r 1 -i 1"), kInvalidStatus);
  EXPECT_EQ(run("fault drop add -s * -d * -r -1"), 256 - ERANGE);
  EXPECT_EQ(run("fault drop add -s here -d * -r 1"), kInvalidStatus);
  EXPECT_EQ(run("fault drop add -s * -d * -r 1 -m PING"), kInvalidStatus);
  EXPECT_TRUE(err.contains("expected PUT, ACK, GET or REPLY")) << err;
  EXPECT_EQ(run("fault drop add -s * -d * -r 1 -p 64"), kInvalidStatus);
  EXPECT_EQ(run("fault drop add -s * -d * -r 1 -e bad_luck"), kInvalidStatus);
  EXPECT_EQ(run("fault drop add -s * -d * -r 1 -t delay"), kInvalidStatus);
  EXPECT_EQ(run("fault delay add -s * -d * -r 1"), kInvalidStatus);
  EXPECT_TRUE(err.contains("a delay needs a latency")) << err;
  EXPECT_EQ(run("fault delay add -s * -d * -r 1 -l 1 -n"), kInvalidStatus) << "no option of delays";
  EXPECT_TRUE(lnet_.node.faults.empty());
}

TEST_F(FaultCommands, DelTakesSourceAndDestOrAll) {
  for (const char* const dest : {"1.1.1.1@tcp", "1.1.1.2@tcp"})
    ASSERT_EQ(run(std::string("fault drop add -s * -r 1 -d ") + dest), 0);
  ASSERT_EQ(run("fault delay add -s * -d * -r 1 -l 1"), 0);
  EXPECT_EQ(run("fault drop del -s *"), kMissingStatus);
  EXPECT_EQ(run("fault drop del -a -s *"), kInvalidStatus);
  EXPECT_EQ(run("fault drop del -s * -d 1.1.1.1@tcp"), 0);
  EXPECT_EQ(out, "fault:\n    removed: 1\n");
  EXPECT_EQ(run("fault drop del --all"), 0);
  EXPECT_EQ(out, "fault:\n    removed: 1\n");
  EXPECT_EQ(lnet_.node.faults.size(), 1U) << "the delay is of another kind";
  EXPECT_EQ(run("fault delay reset"), 0);
  EXPECT_EQ(lnet_.faults_reset, lnet::FaultKind::kDelay);
}

TEST_F(FaultCommands, ShowHasTheKeysOfTheKernelInItsOrder) {
  EXPECT_EQ(run("fault drop show"), 0);
  EXPECT_EQ(out, "");
  lnet_.fault_counts = {.matched = 10, .put = 1, .ack = 2, .get = 3, .reply = 4, .struck = 5};
  ASSERT_EQ(run("fault drop add -s *@tcp -d 10.0.0.7@tcp -r 2"), 0);
  ASSERT_EQ(run("fault delay add -s *@tcp -d 10.0.0.7@tcp -i 2 -l 3"), 0);
  EXPECT_EQ(run("fault drop show"), 0);
  EXPECT_EQ(out,
            "fault:\n    - rule_type: drop\n      fa_src: 255.255.255.255@tcp\n"
            "      fa_dst: 10.0.0.7@tcp\n      fa_ptl_mask: 0\n      fa_msg_mask: 15\n"
            "      da_rate: 2\n      da_interval: 0\n      ds_dropped: 5\n      fs_count: 10\n"
            "      fs_put: 1\n      fs_ack: 2\n      fs_get: 3\n      fs_reply: 4\n");
  EXPECT_EQ(run("fault delay show"), 0);
  EXPECT_TRUE(
      out.contains("      la_rate: 0\n      la_interval: 2\n      la_latency: 3\n"
                   "      ls_delayed: 5\n      fs_count: 10\n"))
      << out;
}

TEST_F(FaultCommands, AreThereUnderTheNamesOfLctl) {
  EXPECT_EQ(run("net_drop_add -s 1.1.1.1@tcp -d *@tcp -r 3"), 0) << err;
  EXPECT_EQ(out, "Added drop rule 1.1.1.1@tcp->*@tcp (1/3)\n");
  EXPECT_EQ(run("net_delay_add -s * -d * -i 4 -l 2"), 0) << err;
  EXPECT_EQ(run("net_drop_list"), 0);
  EXPECT_EQ(out,
            "LNet drop rules:\n1.1.1.1@tcp->255.255.255.255@tcp (1/3 | 0) ptl 0, msg f, 0/0, "
            "PUT 0, ACK 0, GET 0, REP 0\nfound total 1\n");
  EXPECT_EQ(run("net_delay_list"), 0);
  EXPECT_TRUE(out.contains("(1/0 | 4, latency 2) ptl")) << out;
  EXPECT_EQ(run("net_drop_del -a"), 0);
  EXPECT_EQ(out, "Removed 1 drop rules\n");
  EXPECT_EQ(run("net_delay_reset"), 0);
  EXPECT_EQ(run("net_drop_list"), 0);
  EXPECT_EQ(out, "LNet drop rules:\nfound total 0\n");
}

TEST_F(FaultCommands, NamesOfLctlMakeNoBeginningAmbiguous) {
  EXPECT_EQ(run("ne show"), 0) << err;
  EXPECT_TRUE(out.starts_with("net:")) << out;
  EXPECT_EQ(run("net_drop_li"), kInvalidStatus) << "only the whole name";
}

}  // namespace
}  // namespace plnet::apps::fault_commands_test
