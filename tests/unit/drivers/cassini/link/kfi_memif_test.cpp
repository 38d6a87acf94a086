// SPDX-License-Identifier: BSD-3-Clause
// Endpoints of two processes on a memif: messages, bulk both ways with verified content, a bad
// cable, and a killed peer. Every operation ends once.
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/drivers/cassini/link/node_process.hpp"

namespace plnet::cassini::soft::kfi_memif_test {
namespace {

class KfiMemif : public testing::Test {
 public:
  KfiMemif() {
    std::string pattern = (std::filesystem::temp_directory_path() / "plnet-kfi-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data()) != nullptr ? pattern : "";
  }
  ~KfiMemif() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

 protected:
  using Words = std::vector<std::string>;
  [[nodiscard]] Words words(bool server, Words more) const {
    Words all{PLNET_KFI_PROCESS,
              "vdev=net_memif0,mac=02:00:00:00:00:0" + std::string(server ? "2" : "1") +
                  ",role=" + (server ? "server" : "client") +
                  ",id=0,socket-abstract=no,bsize=9216,socket=" + folder_ + "/memif.sock",
              server ? "address=2" : "address=1", server ? "role=serve" : "role=drive"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  [[nodiscard]] std::unique_ptr<NodeProcess> server(const Words& more = {}) const {
    return std::make_unique<NodeProcess>(words(true, more));
  }
  // Runs the driving side until it exits; false: skipped.
  void drive(const Words& more, const std::string& expected) {
    NodeProcess node(words(false, more));
    const int code = node.wait();
    if (has_no_eal(node.text)) GTEST_SKIP() << node.text;
    EXPECT_EQ(code, 0) << node.text;
    EXPECT_NE(node.text.find(expected), std::string::npos) << node.text;
    said_ = node.text;
  }

  // Options for sides that must not lose their peer: a process may lack a CPU for seconds.
  static Words patient(Words more) {
    more.insert(more.end(), {"divisor=1", "patience=60"});
    return more;
  }

  std::string folder_;
  std::string said_;
};

TEST_F(KfiMemif, MessagesAndBulkBothWays) {
  const auto peer = server({"divisor=1"});
  drive(patient({"count=600"}), "done good=600 failed=0 twice=0 damaged=0 left=0");
}

TEST_F(KfiMemif, PacketsAreAsLongAsTheMtu) {
  const auto peer = server({"mtu=9000", "divisor=1"});
  drive(patient({"count=600", "mtu=9000"}), "done good=600 failed=0 twice=0 damaged=0 left=0");
  if (IsSkipped()) return;
  EXPECT_NE(said_.find("mtu=9000"), std::string::npos) << said_;
}

TEST_F(KfiMemif, PortsOfDifferentMtus) {
  for (const bool is_server_wide : {true, false}) {
    std::filesystem::remove(folder_ + "/memif.sock");  // left by the previous server, which was
                                                       // killed
    const auto peer = server({is_server_wide ? "mtu=9000" : "mtu=1500", "divisor=1"});
    drive(patient({"count=300", is_server_wide ? "mtu=1500" : "mtu=9000"}),
          "done good=300 failed=0 twice=0 damaged=0 left=0");
    if (IsSkipped()) return;
  }
}

TEST_F(KfiMemif, LossChangesNothing) {
  const auto peer = server({"per_mille=10", "divisor=1"});
  drive(patient({"count=600", "per_mille=10"}), "done good=600 failed=0 twice=0 damaged=0 left=0");
  if (IsSkipped()) return;
  EXPECT_EQ(said_.find(" dropped=0 "), std::string::npos) << said_;
  EXPECT_EQ(said_.find(" resent=0 "), std::string::npos) << said_;
}

TEST_F(KfiMemif, DuplicatesDamageAndOvertakingChangeNothing) {
  const auto peer = server({"per_mille=10", "more=1", "divisor=1"});
  drive(patient({"count=600", "per_mille=10", "more=1"}),
        "done good=600 failed=0 twice=0 damaged=0 left=0");
  if (IsSkipped()) return;
  for (const char* none : {" duplicated=0 ", " late=0 ", " spoilt=0 "})
    EXPECT_EQ(said_.find(none), std::string::npos) << said_;
}

TEST_F(KfiMemif, ThePeerIsKilledAndComesBack) {
  auto peer = server();
  NodeProcess node(words(false, {"count=2000", "divisor=200"}));
  const bool is_half = node.wait_for("half");
  if (has_no_eal(node.text)) GTEST_SKIP() << node.text;
  ASSERT_TRUE(is_half) << node.text << peer->text;
  peer->kill();
  std::filesystem::remove(folder_ + "/memif.sock");
  peer = server();
  EXPECT_EQ(node.wait(), 0) << node.text;
  EXPECT_NE(node.text.find("done good=2000"), std::string::npos) << node.text;
  EXPECT_NE(node.text.find("twice=0 damaged=0 left=0"), std::string::npos) << node.text;
}

TEST_F(KfiMemif, ThePeerGetsAnotherAddress) {
  const auto peer = server({"moves_to=7", "moves_after=200", "divisor=200"});
  drive({"count=600", "other=7", "divisor=200"}, "done good=600");
  if (IsSkipped()) return;
  EXPECT_NE(said_.find("twice=0 damaged=0 left=0"), std::string::npos) << said_;
}

}  // namespace
}  // namespace plnet::cassini::soft::kfi_memif_test
