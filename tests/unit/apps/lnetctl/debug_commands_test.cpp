// SPDX-License-Identifier: BSD-3-Clause
// debug recovery, cpt-of-nid and service-id match the kernel's lnetctl.
#include <gtest/gtest.h>

#include "tests/unit/apps/lnetctl/lnet_commands_fixture.hpp"

namespace plnet::apps::debug_commands_test {
namespace {

class DebugCommands : public LnetCommands {};

TEST_F(DebugCommands, RecoveryQueues) {
  EXPECT_EQ(run("debug recovery -l"), 0) << err;
  EXPECT_EQ(out, "") << "it is empty";
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
  EXPECT_TRUE(err.contains("unknown command 'debug stats'; expected one of: recovery, messages"))
      << err;
  EXPECT_EQ(run("debu recovery -l"), 0) << err;
  EXPECT_EQ(run("debugf stats"), kInvalidStatus);
  EXPECT_EQ(run("debugfs lnet_lnd_timeout"), 0) << err;
}

TEST_F(DebugCommands, WaitsOfMessages) {
  EXPECT_EQ(run("debug messages"), 0) << err;
  lnet::MessagesReport& report = lnet_.standing;
  report.waits[static_cast<std::size_t>(lnet::Wait::kBuffer)] = {
      .waiting = 2, .waited = 4, .time_us = 1000, .longest_us = 700};
  report.arriving[static_cast<std::size_t>(lnet::ReceiveState::kBufferWait)] = 2;
  report.leaving[static_cast<std::size_t>(lnet::SendState::kWithLnd)] = 1;
  report.longest = {{.source = nid("10.0.0.7@tcp"),
                     .destination = nid("9@kfi"),
                     .bytes = 4096,
                     .state = name_of(lnet::ReceiveState::kBufferWait),
                     .age = std::chrono::milliseconds(12),
                     .hop = nid("9@kfi"),
                     .shard = 1},
                    {.source = nid("10.0.0.8@tcp"), .destination = nid("9@kfi")}};
  EXPECT_EQ(run("debug messages --rows 1"), 0) << err;
  EXPECT_EQ(out,
            "messages:\n    waits:\n        - for: buffer\n          waiting: 2\n"
            "          waited: 4\n          mean usec: 250\n          max usec: 700\n"
            "    arriving:\n        buffer: 2\n    leaving:\n        with_lnd: 1\n"
            "    longest:\n        - source: 10.0.0.7@tcp\n          destination: 9@kfi\n"
            "          type: PUT\n          bytes: 4096\n          state: buffer\n"
            "          usec: 12000\n          next hop: 9@kfi\n          shard: 1\n");
  EXPECT_EQ(run("debug messages --rows 65"), 256 - ERANGE);
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

TEST_F(DebugCommands, ALineAboutAPeer) {
  lnet::PeerNiReport wanted{.nid = nid("10.0.0.7@tcp")};
  wanted.max_ni_tx_credits = 8;
  wanted.available_tx_credits = 6;
  wanted.min_tx_credits = -12;
  wanted.tx_q_num_of_buf = 4321;
  wanted.available_rtr_credits = 7;
  wanted.min_rtr_credits = 5;
  wanted.refcount = 3;
  lnet_.peer_nis = {wanted};
  lnet_.node.peers = {
      {.primary = nid("10.0.0.6@tcp"), .nids = {nid("10.0.0.6@tcp"), nid("10.0.0.7@tcp")}}};
  EXPECT_EQ(run("debug peer --nid 10.0.0.7@tcp"), 0) << err;
  EXPECT_EQ(out,
            "nid                      refs state   max   rtr   min    tx   min queue\n"
            "10.0.0.7@tcp                3    NA     8     7     5     6   -12 4321\n");
  EXPECT_EQ(run("--json debug peer -k 10.0.0.7@tcp"), 0) << err;
  EXPECT_TRUE(out.contains("\"tx_q_num_of_buf\":4321")) << out;
  EXPECT_EQ(run("debug peer --nid 10.0.0.8@tcp"), 256 - ENOENT) << out;
  EXPECT_TRUE(err.contains("10.0.0.8@tcp")) << err;
  EXPECT_EQ(run("debug peer"), kInvalidStatus);
  EXPECT_TRUE(err.contains("expected --nid NID")) << err;
  EXPECT_EQ(run("debug peer --nid 10.0.0@tcp"), kInvalidStatus);
  EXPECT_TRUE(err.contains("expected an IPv4 or IPv6 address")) << err;
}

TEST_F(DebugCommands, ListsOfNids) {
  EXPECT_EQ(run("debug nidlist 10.0.0.[1-8/2]@tcp,*@o2ib1"), 0) << err;
  EXPECT_EQ(out, "nidlist parsed to: 10.0.0.[1-8/2]@tcp *@o2ib1\n");
  EXPECT_EQ(run("debug nidlist 10.0.0.[1-8/2]@tcp 10.0.0.3@tcp"), 0) << err;
  EXPECT_TRUE(out.contains("\n10.0.0.3@tcp matches nidlist 10.0.0.[1-8/2]@tcp\n")) << out;
  EXPECT_EQ(run("debug nidlist 10.0.0.[1-8/2]@tcp 10.0.0.4@tcp"), 0) << err;
  EXPECT_TRUE(out.contains("\n10.0.0.4@tcp does not match nidlist")) << out;
  EXPECT_EQ(run("debug nidlist 10.0.0.[8-1]@tcp"), kInvalidStatus);
  EXPECT_TRUE(err.contains("debug nidlist: ")) << err;
  EXPECT_EQ(run("debug nidlist *@tcp nobody"), kInvalidStatus);
  EXPECT_EQ(run("debug nidlist"), kInvalidStatus);
}

TEST_F(DebugCommands, CommandsForTheLinuxKernelAreIgnored) {
  EXPECT_EQ(run("setup-mrrouting"), 0);
  EXPECT_EQ(out, "");
  EXPECT_TRUE(err.starts_with("setup-mrrouting: nothing is changed: ")) << err;
  EXPECT_EQ(run("setup-sysctl"), 0);
  EXPECT_TRUE(err.starts_with("setup-sysctl: nothing is changed: ")) << err;
}

}  // namespace
}  // namespace plnet::apps::debug_commands_test
