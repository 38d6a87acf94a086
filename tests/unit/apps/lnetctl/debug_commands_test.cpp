// SPDX-License-Identifier: BSD-3-Clause
// debug recovery, cpt-of-nid, service-id: as the kernel's lnetctl has them.
#include <gtest/gtest.h>

#include "tests/unit/apps/lnetctl/lnet_commands_fixture.hpp"

namespace plnet::apps {
namespace {

class DebugCommands : public LnetCommands {};

TEST_F(DebugCommands, RecoveryQueues) {
  EXPECT_EQ(run("debug recovery -l"), 0) << err;
  EXPECT_EQ(out, "") << "nobody is in it";
  lnet_.recovering.local = {nid("10.0.0.1@tcp")};
  lnet_.recovering.peers = {nid("10.0.0.7@tcp"), nid("9@kfi")};
  EXPECT_EQ(run("debug recovery --local"), 0) << err;
  EXPECT_EQ(out, "Local NI recovery:\n    nid-0: 10.0.0.1@tcp\n");
  EXPECT_EQ(run("debug rec -p"), 0) << err;
  EXPECT_EQ(out, "Peer NI recovery:\n    nid-0: 10.0.0.7@tcp\n    nid-1: 9@kfi\n");
  EXPECT_EQ(run("debug recovery"), kInvalidStatus);
  EXPECT_TRUE(err.contains("expected --local or --peer")) << err;
}

TEST_F(DebugCommands, DebugIsNotDebugfs) {
  EXPECT_EQ(run("debug stats"), kInvalidStatus);
  EXPECT_TRUE(err.contains("unknown command 'debug stats'; expected one of: recovery")) << err;
  EXPECT_EQ(run("debu recovery -l"), 0) << err;
  EXPECT_EQ(run("debugf stats"), kInvalidStatus);
  EXPECT_EQ(run("debugfs lnet_lnd_timeout"), 0) << err;
}

TEST_F(DebugCommands, CptsOfNids) {
  lnet_.cpt_of = [](const lnet::Nid& of) { return static_cast<std::uint16_t>(of.address32() % 4); };
  EXPECT_EQ(run("cpt-of-nid 10.0.0.1@tcp 10.0.0.6@o2ib"), 0) << err;
  EXPECT_EQ(out,
            "cpt-of-nid:\n    - nid: 10.0.0.1@tcp\n      cpt: 1\n"
            "    - nid: 10.0.0.6@o2ib\n      cpt: 2\n");
  EXPECT_EQ(run("cpt-of-nid"), kInvalidStatus);
  EXPECT_EQ(run("cpt-of-nid 300.0.0.1@tcp"), kInvalidStatus);
  EXPECT_TRUE(err.contains("cannot parse NID '300.0.0.1@tcp'")) << err;
  lnet_.cpt_of = nullptr;
  EXPECT_EQ(run("cpt-of-nid 10.0.0.1@tcp"), 256 - ENOENT);
  EXPECT_TRUE(err.contains("10.0.0.1@tcp: no such peer yet")) << err;
}

TEST_F(DebugCommands, ServiceIdOfO2iblnd) {
  EXPECT_EQ(run("service-id"), 0) << err;
  EXPECT_EQ(out, "service_id:\n    value: 0xdb03060100000000\n");
  lnet_.node.module_options = {{"ko2iblnd", "service", "1024"}};
  EXPECT_EQ(run("service-id"), 0) << err;
  EXPECT_EQ(out, "service_id:\n    value: 0x4060100000000\n");
}

}  // namespace
}  // namespace plnet::apps
