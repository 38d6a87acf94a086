// SPDX-License-Identifier: BSD-3-Clause
// udsp matches the kernel's lnetctl.
#include <gtest/gtest.h>

#include "tests/unit/apps/lnetctl/lnet_commands_fixture.hpp"

namespace plnet::apps::udsp_commands_test {
namespace {

class UdspCommands : public LnetCommands {};

TEST_F(UdspCommands, PoliciesComeInOrderAndAreShownByIndex) {
  EXPECT_EQ(run("udsp show"), 0) << err;
  EXPECT_EQ(out + err, "") << "there are none";
  EXPECT_EQ(run("udsp add --dst 192.168.1.20@tcp"), 0) << err;
  EXPECT_EQ(run("udsp add --src tcp --priority 2"), 0) << err;
  EXPECT_EQ(run("udsp add --src 10.0.0.[1-3]@tcp --dst *@tcp --idx 1"), 0) << err;
  EXPECT_EQ(run("udsp add --dst o2ib[1-3] --rte 9@kfi --idx 77"), 0) << err;
  EXPECT_EQ(run("udsp show"), 0);
  EXPECT_EQ(out,
            "udsp:\n"
            "    - idx: 0\n"
            "      dst: 192.168.1.20@tcp\n"
            "      action:\n"
            "          priority: 0\n"
            "    - idx: 1\n"
            "      src: 10.0.0.[1-3]@tcp\n"
            "      dst: \"*@tcp\"\n"
            "    - idx: 2\n"
            "      src: tcp\n"
            "      action:\n"
            "          priority: 2\n"
            "    - idx: 3\n"
            "      dst: o2ib[1-3]\n"
            "      rte: 9@kfi\n");
  EXPECT_EQ(run("udsp show --idx 2"), 0);
  EXPECT_EQ(out,
            "udsp:\n"
            "    - idx: 2\n"
            "      src: tcp\n"
            "      action:\n"
            "          priority: 2\n");
  EXPECT_EQ(run("udsp show --idx 4"), 0);
  EXPECT_EQ(out + err, "");
}

TEST_F(UdspCommands, TheSameAgainIsRefusedAndAnotherPriorityTaken) {
  EXPECT_EQ(run("udsp add --src tcp --priority 2"), 0) << err;
  EXPECT_EQ(run("udsp add --src tcp --priority 2"), 256 - EEXIST);
  EXPECT_TRUE(err.contains("policy 0 is the same")) << err;
  EXPECT_EQ(run("udsp add --src tcp --priority 3 --idx 0"), 0) << err;
  ASSERT_EQ(lnet_.node.udsps.size(), 1U);
  EXPECT_EQ(lnet_.node.udsps[0].priority, 3U);
}

TEST_F(UdspCommands, PoliciesGoOneByOneOrAllTogether) {
  for (const char* const line :
       {"udsp add --src tcp", "udsp add --src tcp1", "udsp add --src tcp2"})
    EXPECT_EQ(run(line), 0) << err;
  EXPECT_EQ(run("udsp del --idx 1"), 0) << err;
  ASSERT_EQ(lnet_.node.udsps.size(), 2U);
  EXPECT_EQ(lnet_.node.udsps[1].source->text(), "tcp2");
  EXPECT_EQ(run("udsp del --idx 2"), 256 - ENOENT);
  EXPECT_TRUE(err.contains("no policy 2: there are 2, counted from 0")) << err;
  EXPECT_EQ(run("udsp del"), kMissingStatus);
  EXPECT_EQ(run("udsp del --all --idx 0"), kMissingStatus);
  EXPECT_EQ(lnet_.node.udsps.size(), 2U);
  EXPECT_EQ(run("udsp del --all"), 0) << err;
  EXPECT_TRUE(lnet_.node.udsps.empty());
}

TEST_F(UdspCommands, ImpossiblePoliciesAreRefused) {
  EXPECT_EQ(run("udsp add"), kMissingStatus);
  EXPECT_TRUE(err.starts_with("add:\n    - udsp:\n          errno: -14\n")) << err;
  EXPECT_EQ(run("udsp add --src tcp --rte tcp1"), kInvalidStatus);
  EXPECT_TRUE(err.contains("expected dst with one of them")) << err;
  EXPECT_EQ(run("udsp add --src tcp --dst tcp1 --priority 1"), kInvalidStatus);
  EXPECT_TRUE(err.contains("expected it with src or dst alone")) << err;
  EXPECT_EQ(run("udsp add --rte 1@kfi"), kInvalidStatus);
  EXPECT_EQ(run("udsp add --src 10.0.0@tcp"), kInvalidStatus);
  EXPECT_EQ(run("udsp add --dst tpc"), kInvalidStatus);
  EXPECT_TRUE(err.contains("dst: column 1 of")) << err;
  EXPECT_EQ(run("udsp add --dst tcp --priority -1"), 256 - ERANGE);
  EXPECT_TRUE(lnet_.node.udsps.empty());
}

}  // namespace
}  // namespace plnet::apps::udsp_commands_test
