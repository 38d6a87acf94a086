// SPDX-License-Identifier: BSD-3-Clause
#include "node/net/o2ib/verbs_ports.hpp"

#include <gtest/gtest.h>

#include "tests/unit/node/net/o2ib/fake_sysfs.hpp"

namespace plnet::node::o2ib_verbs_ports_test {
namespace {

using Names = std::vector<std::string>;

TEST(VerbsPorts, InfiniBandPortsBelongToTheirInterfaces) {
  const FakeSysfs system;
  system.add_port("mlx5_0", "1", "InfiniBand", "100 Gb/sec (4X EDR)");
  system.add_port("mlx5_0", "2", "InfiniBand", "100 Gb/sec (4X EDR)");
  system.write("class/infiniband/mlx5_0/ports/2/state", "1: DOWN");
  system.write("class/infiniband/mlx5_0/device/numa_node", "1");
  system.add_interface("mlx5_0", "ib0", "0");
  system.add_interface("mlx5_0", "ib1", "1");
  const auto ports = verbs_ports(system.root());
  const VerbsPort first{.device = "mlx5_0",
                        .port = 1,
                        .is_infiniband = true,
                        .active = true,
                        .mbps = 100'000,
                        .numa_node = 1,
                        .interfaces = {"ib0"}};
  ASSERT_EQ(ports.size(), 2U);
  EXPECT_EQ(ports[0], first);
  EXPECT_FALSE(ports[1].active);
  EXPECT_EQ(port_behind(ports, "ib1"), &ports[1]);
  EXPECT_EQ(port_behind(ports, "ib0:1"), &ports[0]) << "an alias of an address";
  EXPECT_EQ(port_behind(ports, "eth0"), nullptr);
}

TEST(VerbsPorts, RocePortsBelongToTheInterfacesOfTheirGids) {
  const FakeSysfs system;
  system.add_port("mlx5_1", "1", "Ethernet", "25 Gb/sec (1X EDR)");
  system.add_interface("mlx5_1", "eth0", "0");
  const std::string owners = "class/infiniband/mlx5_1/ports/1/gid_attrs/ndevs/";
  for (const char* const index : {"0", "1"})
    system.write(owners + index, "eth0");
  system.write(owners + "2", "eth0.7");
  system.write(owners + "3", "");
  const auto ports = verbs_ports(system.root());
  ASSERT_EQ(ports.size(), 1U);
  EXPECT_EQ(ports[0].interfaces, (Names{"eth0", "eth0.7"}));
  EXPECT_EQ(ports[0].numa_node, kAnyNumaNode);
}

TEST(VerbsPorts, SoftwareRocePortsBelongToTheirParent) {
  const FakeSysfs system;
  system.add_rxe("rxe0", "eth1");
  const auto ports = verbs_ports(system.root());
  ASSERT_EQ(ports.size(), 1U);
  EXPECT_EQ(ports[0].mbps, 2500U);
  EXPECT_EQ(port_behind(ports, "eth1"), &ports[0]);
}

TEST(VerbsPorts, MissingPortsAreNone) {
  EXPECT_TRUE(verbs_ports(FakeSysfs().root()).empty());
}

TEST(VerbsPorts, AMissingPortIsReportedWithTheNextStep) {
  const FakeSysfs system;
  EXPECT_NE(no_verbs_device("eth0", {}).find("rdma link add rxe0 type rxe netdev eth0"),
            std::string::npos);
  VerbsPort port{.device = "mlx5_0"};
  EXPECT_NE(no_verbs_device("eth0", {port}).find("ib_ipoib"), std::string::npos);
  port.interfaces = {"ib0"};
  const std::string what = no_verbs_device("eth0", {port});
  EXPECT_TRUE(what.starts_with("no verbs device on interface eth0; ")) << what;
  EXPECT_NE(what.find("ib0 (mlx5_0 port 1)"), std::string::npos);
  EXPECT_NE(what.find("`--if ib0`"), std::string::npos);
}

}  // namespace
}  // namespace plnet::node::o2ib_verbs_ports_test
