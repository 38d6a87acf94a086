// SPDX-License-Identifier: BSD-3-Clause
// Two processes in two network namespaces, each on a packet socket of its end of a veth, as on any
// NIC that the kernel drives.
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/drivers/cassini/link/bad_veth.hpp"
#include "tests/unit/drivers/cassini/link/node_process.hpp"

namespace plnet::cassini::soft::wire_af_packet_test {
namespace {

constexpr const char* kVdev =
    "vdev=net_af_packet0,iface=eth0,framesz=2048,blocksz=4096,framecnt=512";

class AfPacket : public testing::Test {
 protected:
  void SetUp() override {
    if (!wire_.is_laid()) GTEST_SKIP() << "no network namespaces, veth or packet sockets here";
  }
  [[nodiscard]] std::unique_ptr<NodeProcess> echo() const {
    return std::make_unique<NodeProcess>(
        wire_.inside(1, {PLNET_ETHDEV_NODE, kVdev, "address=2", "role=echo", "seconds=40"}));
  }
  [[nodiscard]] std::unique_ptr<NodeProcess> sender(const std::string& role,
                                                    const std::string& count,
                                                    const std::string& bytes = "100") const {
    return std::make_unique<NodeProcess>(
        wire_.inside(0, {PLNET_ETHDEV_NODE, kVdev, "address=1", "peer=2", "role=" + role,
                         "count=" + count, "bytes=" + bytes, "seconds=30"}));
  }
  // Forwards frames until the node exits; returns its exit code.
  int carry_until_over(NodeProcess& node) {
    while (!node.is_over())
      wire_.carry();
    return node.wait();
  }
  // False: the process ended first.
  bool carry_until(NodeProcess& node, const std::string& word) {
    while (node.text.find(word) == std::string::npos) {
      if (node.is_over()) return node.text.find(word) != std::string::npos;
      wire_.carry();
    }
    return true;
  }

  BadVeth wire_{20261122};
};

TEST_F(AfPacket, AllComesBackInTurn) {
  const auto peer = echo();
  const auto node = sender("stream", "3000", "1452");
  const int code = carry_until_over(*node);
  if (has_no_eal(node->text)) GTEST_SKIP() << node->text;
  EXPECT_EQ(code, 0) << node->text;
  EXPECT_GT(wire_.carried, 3000U);
}

TEST_F(AfPacket, LossDuplicationOvertakingAndDamageChangeNothing) {
  wire_.faults = {.loss = 0.02, .duplication = 0.02, .damage = 0.02, .overtaking = 0.05};
  const auto peer = echo();
  const auto node = sender("stream", "3000");
  const int code = carry_until_over(*node);
  if (has_no_eal(node->text)) GTEST_SKIP() << node->text;
  EXPECT_EQ(code, 0) << node->text;
  EXPECT_NE(node->text.find("all count=3000 damaged=0"), std::string::npos) << node->text;
  EXPECT_EQ(node->text.find(" bad_checksum=0 "), std::string::npos) << node->text;
  EXPECT_EQ(node->text.find(" resent=0 "), std::string::npos) << node->text;
  EXPECT_GT(wire_.lost, 0U);
}

TEST_F(AfPacket, TheCableIsPulledAndPutBack) {
  const auto peer = echo();
  const auto node = sender("ping", "2000");
  const bool is_half = carry_until(*node, "half");
  if (has_no_eal(node->text)) GTEST_SKIP() << node->text;
  ASSERT_TRUE(is_half) << node->text;
  wire_.set_link(1, false);
  for (int i = 0; i < 300; ++i)
    wire_.carry();
  wire_.set_link(1, true);
  EXPECT_EQ(carry_until_over(*node), 0) << node->text;
}

TEST_F(AfPacket, ThePeerRestartsUnderAnotherMac) {
  auto peer = echo();
  const auto node = sender("ping", "2000");
  const bool is_half = carry_until(*node, "half");
  if (has_no_eal(node->text)) GTEST_SKIP() << node->text;
  ASSERT_TRUE(is_half) << node->text;
  peer->kill();
  ASSERT_TRUE(wire_.set_mac(1, "02:00:00:00:47:11"));
  peer = echo();
  EXPECT_EQ(carry_until_over(*node), 0) << node->text;
}

// The default address of a NIC is the end of its MAC.
TEST_F(AfPacket, AnAddressComesFromTheMac) {
  ASSERT_TRUE(wire_.set_mac(1, "02:00:00:f3:45:67"));
  NodeProcess peer(wire_.inside(1, {PLNET_ETHDEV_NODE, kVdev, "role=echo", "seconds=40"}));
  const bool is_up = carry_until(peer, "up");
  if (has_no_eal(peer.text)) GTEST_SKIP() << peer.text;
  ASSERT_TRUE(is_up) << peer.text;
  EXPECT_NE(peer.text.find("address=" + std::to_string(0x34567)), std::string::npos) << peer.text;
}

}  // namespace
}  // namespace plnet::cassini::soft::wire_af_packet_test
