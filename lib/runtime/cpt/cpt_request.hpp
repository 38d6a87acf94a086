// SPDX-License-Identifier: BSD-3-Clause
// The requested placement of CPTs on a machine: the configuration file fills it in, the planner
// (cpt_plan.hpp) turns it into a plan. Plain values without checks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace plnet::runtime {

// The place of a text ("node.yaml:7:24"), for messages; "" if unknown. It is no part of the
// request: requests that differ only in it are equal.
struct Origin {
  std::string place;

  bool operator==(const Origin&) const { return true; }
};

// One hardware thread, named in one of two ways: `cpu` is the operating system's number; `core` is
// the logical number of a core (counted over the machine, node by node, as `lnetctl cpt plan` draws
// it) and `smt` the sibling on it, 0 when left out. -1 = not given.
struct ShardRequest {
  int cpu = -1;
  int core = -1;
  int smt = -1;
  Origin origin{};

  bool operator==(const ShardRequest&) const = default;
};

// Queues of one network interface that are to be served by a CPT.
struct NicQueues {
  std::string interface;
  std::vector<unsigned> queues;

  bool operator==(const NicQueues&) const = default;
};

// One CPT of an explicit list. The memory node may differ from the node of the CPUs, for placement
// experiments. -1 = the node of the first shard.
struct CptRequest {
  std::vector<ShardRequest> shards;
  int memory_node = -1;
  std::vector<NicQueues> nic_queues;
  Origin memory_origin{};

  bool operator==(const CptRequest&) const = default;
};

struct CptPlanRequest {
  enum class By : std::uint8_t { kAuto, kNumaNode, kCore, kPartitions, kPattern, kList };

  By by = By::kAuto;
  unsigned partitions = 0;                // kPartitions: the kernel's cpu_npartitions; 0 = choose
  std::string pattern;                    // kPattern: the kernel's cpu_pattern
  unsigned shards_per_cpt = 0;            // 0 = every CPU of the CPT; not used by kList
  std::vector<unsigned> reserved_cpus{};  // left to the system and the admin thread
  std::vector<CptRequest> list{};         // kList
  Origin pattern_origin{};
  Origin reserved_origin{};

  bool operator==(const CptPlanRequest&) const = default;
};

// "auto", "numa", "core", "partitions", "pattern", "list": the words of the configuration file.
[[nodiscard]] std::string_view name_of(CptPlanRequest::By by);

}  // namespace plnet::runtime
