// SPDX-License-Identifier: BSD-3-Clause
// Facts about the machine, read once from /proc and /sys. A plain value, so that checks over it are
// pure and tests construct it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/runtime/host/eal_arguments.hpp"

namespace plnet::runtime {

struct CpuGovernor {
  unsigned cpu = 0;
  std::string governor;  // "performance", ...
};

// Memory that a NUMA node can provide: the free part and half of the page cache.
struct NodeMemory {
  unsigned numa_node = 0;
  std::uint64_t available = 0;
};

struct HostFacts {
  // Bits by capability number (linux/capability.h), of this process.
  std::uint64_t effective_capabilities = 0;
  // Bytes; nothing: unlimited.
  std::optional<std::uint64_t> locked_memory_max = 0;
  std::uint64_t available_memory = 0;   // bytes, MemAvailable; 0: unknown
  std::vector<NodeMemory> node_memory;  // empty: unknown
  // Bytes that the control group of this process and its ancestors still allow; cgroup v2. Nothing:
  // no limit, or unknown.
  std::optional<std::uint64_t> group_memory_left{};
  // Bytes of address space that `ulimit -v` still allows. Nothing: no limit.
  std::optional<std::uint64_t> address_space_left{};
  std::vector<HugepagePool> hugepages;         // by node and page size
  std::vector<CpuGovernor> governors;          // empty: the machine has no frequency scaling
  std::vector<unsigned> isolated_cpus;         // isolcpus=
  std::vector<unsigned> tickless_cpus;         // nohz_full=
  std::vector<std::uint16_t> listening_ports;  // TCP, both families, sorted, unique
  std::uint16_t unprivileged_port_first = 1024;
  bool kernel_lnet = false;  // the module is loaded
};

// Reads below `root` ("" for the real one). Unreadable facts keep their defaults.
[[nodiscard]] HostFacts read_host_facts(const std::string& root = "");

// Bytes of the node's memory that this process can have if it takes as much of each of `nodes`: a
// control group's limit applies to all of them together. 0: unknown.
[[nodiscard]] std::uint64_t available_memory_on(const HostFacts& facts, unsigned numa_node,
                                                std::size_t nodes = 1);

// "0-3,8" as the kernel prints it; a parse error ends the list. At most 4096 CPUs.
[[nodiscard]] std::vector<unsigned> parse_cpu_list(std::string_view text);

}  // namespace plnet::runtime
