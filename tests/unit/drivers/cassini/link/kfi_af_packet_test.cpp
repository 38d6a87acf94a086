// SPDX-License-Identifier: BSD-3-Clause
// Endpoints in two network namespaces, each on a packet socket of its end of a bad veth.
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/drivers/cassini/link/bad_veth.hpp"
#include "tests/unit/drivers/cassini/link/node_process.hpp"

namespace plnet::cassini::soft::kfi_af_packet_test {
namespace {

class KfiAfPacket : public testing::Test {
 protected:
  void SetUp() override {
    if (!wire_.is_laid()) GTEST_SKIP() << "no network namespaces, veth or packet sockets here";
  }
  [[nodiscard]] std::unique_ptr<NodeProcess> node(std::size_t end,
                                                  const std::vector<std::string>& more) const {
    std::vector<std::string> words{
        PLNET_KFI_PROCESS, "vdev=net_af_packet0,iface=eth0,framesz=2048,blocksz=4096,framecnt=512",
        end == 1 ? "address=2" : "address=1", end == 1 ? "role=serve" : "role=drive"};
    words.insert(words.end(), more.begin(), more.end());
    return std::make_unique<NodeProcess>(wire_.inside(end, words));
  }
  int carry_until_over(NodeProcess& one) {
    while (!one.is_over())
      wire_.carry();
    return one.wait();
  }
  // False: the process ended first.
  bool carry_until(NodeProcess& one, const std::string& word) {
    while (one.text.find(word) == std::string::npos) {
      if (one.is_over()) return one.text.find(word) != std::string::npos;
      wire_.carry();
    }
    return true;
  }

  BadVeth wire_{20261123};
};

TEST_F(KfiAfPacket, ABadCableChangesNothing) {
  // A process may lack a CPU for seconds, and this process carries the frames.
  wire_.faults = {.loss = 0.01, .duplication = 0.01, .damage = 0.01, .overtaking = 0.02};
  const auto peer = node(1, {"divisor=1"});
  const auto driver = node(0, {"count=150", "divisor=1", "patience=60"});
  const int code = carry_until_over(*driver);
  if (has_no_eal(driver->text)) GTEST_SKIP() << driver->text;
  EXPECT_EQ(code, 0) << driver->text;
  EXPECT_NE(driver->text.find("done good=150 failed=0 twice=0 damaged=0 left=0"), std::string::npos)
      << driver->text;
  EXPECT_GT(wire_.lost, 0U);
}

TEST_F(KfiAfPacket, TheCableIsPulledAndPutBack) {
  const auto peer = node(1, {"divisor=50"});
  const auto driver = node(0, {"count=300", "divisor=50"});
  const bool is_half = carry_until(*driver, "half");
  if (has_no_eal(driver->text)) GTEST_SKIP() << driver->text;
  ASSERT_TRUE(is_half) << driver->text;
  wire_.set_link(1, false);
  for (int i = 0; i < 300; ++i)
    wire_.carry();
  wire_.set_link(1, true);
  EXPECT_EQ(carry_until_over(*driver), 0) << driver->text;
  EXPECT_NE(driver->text.find("twice=0 damaged=0 left=0"), std::string::npos) << driver->text;
}

TEST_F(KfiAfPacket, ThePeerRestartsUnderAnotherMac) {
  auto peer = node(1, {"divisor=50"});
  const auto driver = node(0, {"count=300", "divisor=50"});
  const bool is_half = carry_until(*driver, "half");
  if (has_no_eal(driver->text)) GTEST_SKIP() << driver->text;
  ASSERT_TRUE(is_half) << driver->text;
  peer->kill();
  ASSERT_TRUE(wire_.set_mac(1, "02:00:00:00:47:11"));
  peer = node(1, {"divisor=50"});
  EXPECT_EQ(carry_until_over(*driver), 0) << driver->text;
  EXPECT_NE(driver->text.find("twice=0 damaged=0 left=0"), std::string::npos) << driver->text;
}

}  // namespace
}  // namespace plnet::cassini::soft::kfi_af_packet_test
