// SPDX-License-Identifier: BSD-3-Clause
// The parts of a machine as plain values: hardware threads, cores, caches, packages, NUMA nodes.
// Read from the machine itself, from a description (to plan for another machine), or from a file
// exported by hwloc's lstopo.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/result.hpp"

namespace plnet::runtime {

inline constexpr unsigned kMaxCpus = 8192;        // the largest Linux build for x86 (NR_CPUS)
inline constexpr unsigned kMaxNodes = 1024;       // the same for nodes (MAX_NUMNODES)
inline constexpr std::size_t kMaxAdapters = 256;  // more than any machine has
inline constexpr unsigned kLocalDistance = 10;    // Linux's and the firmware's value for local
inline constexpr unsigned kRemoteDistance = 20;   // Linux's value when the firmware has no table
inline constexpr std::size_t kMaxSyntheticLength = 1024;             // real ones have 20 to 100
inline constexpr std::size_t kMaxXmlBytes = std::size_t{16} << 20U;  // the largest seen: 2 MiB

struct HardwareThread {
  unsigned cpu = 0;         // the operating system's number
  unsigned core = 0;        // counted over the machine, in machine order
  unsigned smt = 0;         // number of the sibling on the core
  unsigned package = 0;     // counted over the machine
  int l3 = -1;              // number of the last-level cache, -1 = none known
  int numa_node = -1;       // the operating system's number, -1 = no local memory
  int efficiency = -1;      // hybrid machines: higher is faster; -1 = all are alike, or unknown
  bool in_cgroup = true;    // outside: binding to it fails
  bool in_affinity = true;  // outside: excluded by taskset or the like

  [[nodiscard]] bool allowed() const { return in_cgroup && in_affinity; }
  bool operator==(const HardwareThread&) const = default;
};

struct NumaNode {
  unsigned node = 0;  // the operating system's number
  std::uint64_t memory_bytes = 0;
  bool allowed = true;     // the cgroup allows memory of this node
  unsigned cpu_count = 0;  // hardware threads local to it; 0 = memory only

  bool operator==(const NumaNode&) const = default;
};

// A network adapter by its name in the system. An RDMA device and its network interface are two.
struct AdapterPlace {
  std::string name;    // eth0, mlx5_0
  bool rdma = false;   // else a network interface
  int numa_node = -1;  // -1 = no particular one

  bool operator==(const AdapterPlace&) const = default;
};

// The source of the topology. All empty: this machine. At most one may be set.
struct MachineSource {
  std::string synthetic{};  // hwloc's language, "pack:2 [numa] l3:2 core:4 pu:2"
  std::string xml_path{};   // a file that `lstopo FILE.xml` wrote
};

struct Topology {
  std::string name;                     // host name, or the description that it was read from
  bool live = false;                    // this is the machine that the process runs on
  std::vector<HardwareThread> threads;  // in machine order: package, node, cache, core, sibling
  std::vector<NumaNode> nodes;          // by ascending number
  std::vector<AdapterPlace> adapters;   // by name; no virtual ones
  std::vector<unsigned> offline_cpus;   // exist, but are switched off
  unsigned cores = 0;
  unsigned packages = 0;
  bool distances_known = false;                 // false: the table holds Linux's defaults
  std::vector<std::vector<unsigned>> distance;  // [i][j] between nodes[i] and nodes[j]

  [[nodiscard]] const HardwareThread* find_cpu(unsigned cpu) const;
  [[nodiscard]] const HardwareThread* find_sibling(unsigned core, unsigned smt) const;
  [[nodiscard]] const NumaNode* find_node(unsigned node) const;
  [[nodiscard]] unsigned siblings_of(unsigned core) const;  // hardware threads on the core
  [[nodiscard]] unsigned highest_cpu() const;
  [[nodiscard]] std::string cpu_list() const;   // "0-15"
  [[nodiscard]] std::string node_list() const;  // "0-1"
  // Between two nodes by number; kRemoteDistance if one of them does not exist.
  [[nodiscard]] unsigned distance_between(unsigned from, unsigned to) const;
};

// Call it before threads of this process are bound: it also reads the CPU mask of the process.
[[nodiscard]] Outcome<Topology> read_topology(const MachineSource& source);

// The same from the text of an exported file; `name` is used in errors and in Topology::name.
[[nodiscard]] Outcome<Topology> read_topology_xml(const std::string& text, const std::string& name);

}  // namespace plnet::runtime
