// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/cpt/topology.hpp"

#include <algorithm>
#include <fstream>

#include "tests/unit/lib/runtime/cpt/machines.hpp"

namespace plnet::runtime::topology_test {
namespace {

using machines::asymmetric_machine;
using machines::machine;

TEST(Topology, OneCpu) {
  const Topology one = machine("pu:1");
  ASSERT_EQ(one.threads.size(), 1U);
  EXPECT_EQ(one.cores, 1U);
  EXPECT_EQ(one.packages, 1U);
  EXPECT_EQ(one.nodes.size(), 1U);
  EXPECT_EQ(one.threads[0].l3, -1);
  EXPECT_FALSE(one.live);
}

TEST(Topology, LevelsOfTwoPackages) {
  const Topology two = machine(machines::kTwoPackages);
  EXPECT_EQ(two.threads.size(), 16U);
  EXPECT_EQ(two.cores, 8U);
  EXPECT_EQ(two.packages, 2U);
  EXPECT_EQ(two.cpu_list(), "0-15");
  EXPECT_EQ(two.node_list(), "0-1");
  const HardwareThread* last = two.find_cpu(15);
  ASSERT_NE(last, nullptr);
  EXPECT_EQ(*last, (HardwareThread{
                       .cpu = 15, .core = 7, .smt = 1, .package = 1, .l3 = 3, .numa_node = 1}));
  EXPECT_EQ(two.find_cpu(16), nullptr);
  EXPECT_EQ(two.find_sibling(7, 1), last);
  EXPECT_EQ(two.find_sibling(7, 2), nullptr);
}

TEST(Topology, DistancesFallBackToLinuxDefaults) {
  const Topology two = machine(machines::kTwoPackages);
  EXPECT_FALSE(two.distances_known);
  EXPECT_EQ(two.distance_between(0, 0), kLocalDistance);
  EXPECT_EQ(two.distance_between(0, 1), kRemoteDistance);
  EXPECT_EQ(two.distance_between(0, 7), kRemoteDistance);
}

TEST(Topology, CoreNumbersAreUniqueOnTheMachine) {
  const Topology mixed = machine(machines::kInterleaved);
  ASSERT_EQ(mixed.threads.size(), 16U);
  const HardwareThread* zero = mixed.find_cpu(0);
  ASSERT_NE(zero, nullptr);
  const HardwareThread* sibling = mixed.find_sibling(zero->core, 1);
  ASSERT_NE(sibling, nullptr);
  EXPECT_EQ(sibling->cpu, 8U);
  EXPECT_EQ(mixed.find_cpu(1)->package, 1U);
}

TEST(Topology, MemoryOnlyNodesHaveNoCpus) {
  const Topology extra = machine("pack:2 [numa(memory=4GB)] [numa(memory=8GB)] core:2 pu:1");
  ASSERT_EQ(extra.nodes.size(), 4U);
  EXPECT_EQ(extra.find_node(0)->cpu_count, 2U);
  EXPECT_EQ(extra.find_node(1)->cpu_count, 0U);
  EXPECT_EQ(extra.find_cpu(3)->numa_node, 2);
}

TEST(Topology, FileOfAnAsymmetricMachine) {
  const Topology odd = asymmetric_machine();
  ASSERT_EQ(odd.threads.size(), 6U);
  EXPECT_EQ(odd.cores, 4U);
  EXPECT_EQ(odd.siblings_of(0), 2U);
  EXPECT_EQ(odd.siblings_of(3), 1U);
  EXPECT_EQ(odd.offline_cpus, (machines::Numbers{6}));
  EXPECT_TRUE(odd.find_cpu(4)->allowed());
  EXPECT_FALSE(odd.find_cpu(5)->allowed());
  EXPECT_FALSE(odd.find_cpu(5)->in_cgroup);
  EXPECT_GT(odd.find_cpu(0)->efficiency, odd.find_cpu(4)->efficiency);
  EXPECT_TRUE(odd.distances_known);
  EXPECT_EQ(odd.distance_between(0, 1), 17U);
  EXPECT_EQ(odd.find_node(1)->cpu_count, 0U);
  EXPECT_EQ(odd.find_node(1)->memory_bytes, 8589934592U);
}

TEST(Topology, KnowsTheNodesOfAdapters) {
  const auto read = read_topology_xml(machines::kAdapterXml, "two");
  ASSERT_TRUE(read) << read.error().what;
  const std::vector<AdapterPlace> expected{{.name = "ib0", .numa_node = 1},
                                           {.name = "mlx5_0", .rdma = true, .numa_node = 1}};
  EXPECT_EQ(read->adapters, expected);
}

TEST(Topology, ReadsAFileByItsPath) {
  const std::string path = ::testing::TempDir() + "plnet_topology_test.xml";
  std::ofstream(path) << machines::kAsymmetricXml;
  const auto read = read_topology({.xml_path = path});
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(read->threads.size(), 6U);
  EXPECT_EQ(read->name, path);
}

TEST(Topology, ThisMachineHasCpusThatWeMayUse) {
  const auto here = read_topology({});
  ASSERT_TRUE(here) << here.error().what;
  EXPECT_TRUE(std::ranges::any_of(here->threads, &HardwareThread::allowed));
  EXPECT_FALSE(here->nodes.empty());
}

TEST(Topology, RefusalsNameTheExpectation) {
  const auto refusal = [](const MachineSource& source) {
    const auto read = read_topology(source);
    return read ? std::string("accepted") : read.error().what;
  };
  EXPECT_EQ(refusal({.synthetic = "bogus"}),
            "machine description \"bogus\": hwloc does not understand it; expected levels from the "
            "outside in, such as \"pack:2 [numa] l3:2 core:4 pu:2\"");
  for (const char* text : {"pu:", "pack:2 core", "pu:0", "[numa pu:1", "pu:2 core:2", " "}) {
    EXPECT_NE(refusal({.synthetic = text}).find("hwloc does not understand"), std::string::npos)
        << text << ": " << refusal({.synthetic = text});
  }
  EXPECT_EQ(refusal({.synthetic = "pack:4000 pu:4000"}),
            "machine description \"pack:4000 pu:4000\": more than 8192 CPUs or 1024 NUMA nodes");
  EXPECT_EQ(
      refusal({.synthetic = "pack:2000 [numa] pu:1"}),
      "machine description \"pack:2000 [numa] pu:1\": more than 8192 CPUs or 1024 NUMA nodes");
  EXPECT_NE(refusal({.synthetic = std::string(kMaxSyntheticLength + 1, ' ')}).find("over 1024"),
            std::string::npos);
  EXPECT_EQ(refusal({.synthetic = "pu:1", .xml_path = "x"}),
            "machine: give either a description or a file, not both");
  EXPECT_EQ(refusal({.xml_path = "/nonexistent.xml"}),
            "machine file \"/nonexistent.xml\": No such file or directory");
  const auto empty = read_topology_xml("", "empty.xml");
  ASSERT_FALSE(empty);
  EXPECT_NE(empty.error().what.find("machine file \"empty.xml\": hwloc cannot read it"),
            std::string::npos);
}

}  // namespace
}  // namespace plnet::runtime::topology_test
