// SPDX-License-Identifier: BSD-3-Clause
// Two processes on a memif: rings in shared memory, as between containers of one host.
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/drivers/cassini/link/node_process.hpp"

namespace plnet::cassini::soft::wire_memif_test {
namespace {

class Memif : public testing::Test {
 public:
  Memif() {
    std::string pattern = (std::filesystem::temp_directory_path() / "plnet-memif-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data()) != nullptr ? pattern : "";
  }
  ~Memif() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

 protected:
  [[nodiscard]] std::string vdev(const std::string& role, unsigned bsize = 2048) const {
    return "vdev=net_memif0,role=" + role + ",id=0,socket-abstract=no,socket=" + folder_ +
           "/memif.sock,bsize=" + std::to_string(bsize);
  }

  std::string folder_;
};

TEST_F(Memif, AllComesBackInTurn) {
  const NodeProcess echo({PLNET_ETHDEV_NODE, vdev("server"), "address=2", "role=echo"});
  NodeProcess sender(
      {PLNET_ETHDEV_NODE, vdev("client"), "address=1", "peer=2", "role=stream", "count=20000"});
  const int code = sender.wait();
  if (has_no_eal(sender.text)) GTEST_SKIP() << sender.text << echo.text;
  EXPECT_EQ(code, 0) << sender.text;
  EXPECT_NE(sender.text.find("all count=20000 damaged=0"), std::string::npos) << sender.text;
}

TEST_F(Memif, LargeFrames) {
  const NodeProcess echo(
      {PLNET_ETHDEV_NODE, vdev("server", 9216), "address=2", "role=echo", "mtu=9000"});
  NodeProcess sender({PLNET_ETHDEV_NODE, vdev("client", 9216), "address=1", "peer=2", "role=stream",
                      "count=3000", "bytes=8952", "mtu=9000"});
  const int code = sender.wait();
  if (has_no_eal(sender.text)) GTEST_SKIP() << sender.text << echo.text;
  EXPECT_EQ(code, 0) << sender.text;
  EXPECT_NE(sender.text.find("mtu=9000"), std::string::npos) << sender.text;
}

TEST_F(Memif, ThePeerIsKilledAndComesBack) {
  auto echo = std::make_unique<NodeProcess>(
      std::vector<std::string>{PLNET_ETHDEV_NODE, vdev("server"), "address=2", "role=echo"});
  NodeProcess sender(
      {PLNET_ETHDEV_NODE, vdev("client"), "address=1", "peer=2", "role=ping", "count=20000"});
  const bool is_half = sender.wait_for("half");
  if (has_no_eal(sender.text)) GTEST_SKIP() << sender.text;
  ASSERT_TRUE(is_half) << sender.text << echo->text;
  echo->kill();
  // Left by a killed process; without removal the next one could not listen there.
  std::filesystem::remove(folder_ + "/memif.sock");
  echo = std::make_unique<NodeProcess>(
      std::vector<std::string>{PLNET_ETHDEV_NODE, vdev("server"), "address=2", "role=echo"});
  EXPECT_EQ(sender.wait(), 0) << sender.text;
  EXPECT_NE(sender.text.find("links_up=2"), std::string::npos) << sender.text;
}

// The test uses a port without a thread behind it: DPDK 22.11 may panic ("Error adding fd 0") when
// a memif is closed right after its creation.
TEST(WireEthdev, AnMtuThatCannotBeIsRefusedInWords) {
  NodeProcess node({PLNET_ETHDEV_NODE, "vdev=net_null0", "address=2", "role=echo", "mtu=100"});
  EXPECT_EQ(node.wait(), kNodeCannotRun);
  if (has_no_eal(node.text)) GTEST_SKIP() << node.text;
  EXPECT_NE(node.text.find("mtu 100; expected 256 to 9600"), std::string::npos) << node.text;
}

}  // namespace
}  // namespace plnet::cassini::soft::wire_memif_test
