// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-selftest/run/environment.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

namespace plnet::run::environment_test {
namespace {

namespace fs = std::filesystem;

// /proc and /sys of a machine with a network card of two queues.
class SelftestEnvironment : public ::testing::Test {
 protected:
  SelftestEnvironment() {
    file("proc/interrupts",
         "           CPU0       CPU1\n"
         "  1:         9          0   IO-APIC   1-edge      i8042\n"
         " 45:        10         20   PCI-MSI 524288-edge      eth9-rx-0\n"
         " 46:        10         20   PCI-MSI 524289-edge      eth9-tx-0\n"
         " 50:         1          1   PCI-MSI 600000-edge      mlx5_comp0\n");
    file("proc/irq/45/effective_affinity_list", "0\n");
    file("proc/irq/46/effective_affinity_list", "1\n");
    file("sys/class/net/eth9/mtu", "9000\n");
    file("sys/class/net/eth9/device/msi_irqs/45", "msix\n");
    file("sys/class/net/eth9/device/msi_irqs/46", "msix\n");
  }
  ~SelftestEnvironment() override { fs::remove_all(root_); }

  void file(const std::string& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }

  const fs::path root_ = fs::path(::testing::TempDir()) /
                         ("environment-" + std::to_string(reinterpret_cast<std::uintptr_t>(this)));
};

TEST_F(SelftestEnvironment, InterruptsAreOfTheDevicesOfNis) {
  const auto json = environment_of({.version = "v",
                                    .date = "d",
                                    .interfaces = {{"eth9", {"10.0.0.5", "fe80::1"}}},
                                    .nids = {"10.0.0.5@tcp", "10.0.0.5@tcp1", "10.0.0.6@tcp"},
                                    .root = root_.string()});
  const auto& interface = json["interfaces"][0];
  EXPECT_EQ(interface["mtu"], "9000");
  EXPECT_EQ(interface["nis"], (std::vector<std::string>{"10.0.0.5@tcp", "10.0.0.5@tcp1"}));
  EXPECT_EQ(interface["interrupts"],
            (std::vector<std::string>{"45 eth9-rx-0 on CPUs 0", "46 eth9-tx-0 on CPUs 1"}));
  // Cards without an interface are included.
  ASSERT_EQ(json["interrupts"].size(), 3U);
  EXPECT_EQ(json["interrupts"][2], "50 mlx5_comp0 on CPUs unknown");
  EXPECT_EQ(json["governor"], "unknown");
}

}  // namespace
}  // namespace plnet::run::environment_test
