// SPDX-License-Identifier: BSD-3-Clause
// Machines for the tests in this folder.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lib/runtime/cpt/topology.hpp"

namespace plnet::runtime::machines {

inline constexpr const char* kTwoPackages =
    "pack:2 [numa] l3:2 core:2 pu:2";  // 16 CPUs, siblings adjacent
// Numbered as on most x86 machines: siblings are 8 apart, packages alternate.
inline constexpr const char* kInterleaved = "pack:2 [numa] l3:1 core:4 pu:2(indexes=8*2:2*4:1*2)";
inline constexpr const char* kMilanNps4 = "pack:2 numa:4 l3:2 core:8 pu:1";  // 128 CPUs, 8 nodes
inline constexpr const char* kSmt4 = "pack:1 [numa] core:4 pu:4";

// Two cores with two hardware threads, two with one (a hybrid machine); node 1 has memory only; the
// cgroup allows CPUs 0 to 4 only; CPU 6 is offline.
inline constexpr const char* kAsymmetricXml = R"(<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
  <object type="Machine" os_index="0" cpuset="0x3f" complete_cpuset="0x7f" allowed_cpuset="0x1f"
      nodeset="0x3" complete_nodeset="0x3" allowed_nodeset="0x3" gp_index="1">
    <object type="NUMANode" os_index="0" cpuset="0x3f" complete_cpuset="0x7f" nodeset="0x1"
        complete_nodeset="0x1" gp_index="2" local_memory="4294967296"/>
    <object type="NUMANode" os_index="1" cpuset="0x3f" complete_cpuset="0x7f" nodeset="0x2"
        complete_nodeset="0x2" gp_index="3" local_memory="8589934592"/>
    <object type="Package" os_index="0" cpuset="0x3f" complete_cpuset="0x7f" nodeset="0x3"
        complete_nodeset="0x3" gp_index="4">
      <object type="Core" os_index="0" cpuset="0x3" complete_cpuset="0x3" nodeset="0x3"
          complete_nodeset="0x3" gp_index="5">
        <object type="PU" os_index="0" cpuset="0x1" complete_cpuset="0x1" nodeset="0x3"
            complete_nodeset="0x3" gp_index="6"/>
        <object type="PU" os_index="1" cpuset="0x2" complete_cpuset="0x2" nodeset="0x3"
            complete_nodeset="0x3" gp_index="7"/>
      </object>
      <object type="Core" os_index="1" cpuset="0xc" complete_cpuset="0xc" nodeset="0x3"
          complete_nodeset="0x3" gp_index="8">
        <object type="PU" os_index="2" cpuset="0x4" complete_cpuset="0x4" nodeset="0x3"
            complete_nodeset="0x3" gp_index="9"/>
        <object type="PU" os_index="3" cpuset="0x8" complete_cpuset="0x8" nodeset="0x3"
            complete_nodeset="0x3" gp_index="10"/>
      </object>
      <object type="Core" os_index="2" cpuset="0x10" complete_cpuset="0x10" nodeset="0x3"
          complete_nodeset="0x3" gp_index="11">
        <object type="PU" os_index="4" cpuset="0x10" complete_cpuset="0x10" nodeset="0x3"
            complete_nodeset="0x3" gp_index="12"/>
      </object>
      <object type="Core" os_index="3" cpuset="0x20" complete_cpuset="0x20" nodeset="0x3"
          complete_nodeset="0x3" gp_index="13">
        <object type="PU" os_index="5" cpuset="0x20" complete_cpuset="0x20" nodeset="0x3"
            complete_nodeset="0x3" gp_index="14"/>
      </object>
    </object>
  </object>
  <distances2 type="NUMANode" nbobjs="2" kind="5" name="NUMALatency" indexing="os">
    <indexes length="4">0 1 </indexes>
    <u64values length="12">10 17 17 10 </u64values>
  </distances2>
  <cpukind cpuset="0xf" forced_efficiency="1"/>
  <cpukind cpuset="0x30" forced_efficiency="0"/>
</topology>
)";

inline Topology machine(const std::string& description) {
  const auto topology = read_topology({.synthetic = description});
  EXPECT_TRUE(topology) << description;
  return topology.value_or(Topology{});
}

inline Topology asymmetric_machine() {
  const auto topology = read_topology_xml(kAsymmetricXml, "asymmetric");
  EXPECT_TRUE(topology) << (topology ? "" : topology.error().what);
  return topology.value_or(Topology{});
}

using Numbers = std::vector<unsigned>;

// Two packages, with an InfiniBand adapter in the second one.
inline constexpr const char* kAdapterXml = R"(<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
  <object type="Machine" os_index="0" cpuset="0x00000003" complete_cpuset="0x00000003" allowed_cpuset="0x00000003" nodeset="0x00000003" complete_nodeset="0x00000003" allowed_nodeset="0x00000003" gp_index="1">
    <object type="Package" os_index="0" cpuset="0x00000001" complete_cpuset="0x00000001" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="2">
      <object type="NUMANode" os_index="0" cpuset="0x00000001" complete_cpuset="0x00000001" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="3" local_memory="1073741824"/>
      <object type="Core" os_index="0" cpuset="0x00000001" complete_cpuset="0x00000001" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="4">
        <object type="PU" os_index="0" cpuset="0x00000001" complete_cpuset="0x00000001" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="5"/>
      </object>
    </object>
    <object type="Package" os_index="1" cpuset="0x00000002" complete_cpuset="0x00000002" nodeset="0x00000002" complete_nodeset="0x00000002" gp_index="6">
      <object type="NUMANode" os_index="1" cpuset="0x00000002" complete_cpuset="0x00000002" nodeset="0x00000002" complete_nodeset="0x00000002" gp_index="7" local_memory="1073741824"/>
      <object type="Core" os_index="1" cpuset="0x00000002" complete_cpuset="0x00000002" nodeset="0x00000002" complete_nodeset="0x00000002" gp_index="8">
        <object type="PU" os_index="1" cpuset="0x00000002" complete_cpuset="0x00000002" nodeset="0x00000002" complete_nodeset="0x00000002" gp_index="9"/>
      </object>
      <object type="Bridge" gp_index="10" bridge_type="0-1" depth="0" bridge_pci="0000:[40-5f]">
        <object type="PCIDev" gp_index="11" pci_busid="0000:41:00.0" pci_type="0207 [15b3:1017] [15b3:0007] 00" pci_link_speed="15.753846">
          <object type="OSDev" gp_index="12" name="ib0" osdev_type="2"/>
          <object type="OSDev" gp_index="13" name="mlx5_0" osdev_type="3"/>
        </object>
      </object>
    </object>
  </object>
</topology>
)";

}  // namespace plnet::runtime::machines
