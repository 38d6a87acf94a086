// SPDX-License-Identifier: BSD-3-Clause
// Plans the CPTs with their shards from a request and a machine. A node and `lnetctl cpt plan` use
// the same code, so that the shown plan is the executed one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/runtime/cpt/cpt_request.hpp"
#include "lib/runtime/cpt/topology.hpp"

namespace plnet::runtime {

inline constexpr std::size_t kMaxCpts = 256;    // LNet's own limit
inline constexpr std::size_t kMaxShards = 256;  // rings join every pair of shards: 65536 then
// Without a request: as many as LNet has use for. Its mailboxes join every pair, too.
inline constexpr std::size_t kAutoShards = 64;
inline constexpr unsigned kMaxNicQueue = 4095;  // the largest NICs have 2048 to 4096 queues

// One lcore and its poller.
struct PlannedShard {
  unsigned number = 0;  // over the whole node: CPT 0 has the first ones
  unsigned cpu = 0;
  unsigned core = 0;
  unsigned smt = 0;
  unsigned package = 0;
  int l3 = -1;
  int numa_node = -1;          // the node of the CPU
  bool shares_cpu = false;     // another shard has the same CPU: idling must yield
  bool shares_core = false;    // another shard has a sibling of the core: each slows the other
  bool remote_memory = false;  // the CPT's memory is on a node that is not the CPU's
  bool outside_mask = false;   // outside the CPU mask of the process

  bool operator==(const PlannedShard&) const = default;
};

struct PlannedCpt {
  std::vector<PlannedShard> shards;
  std::vector<unsigned> spare_cpus;  // CPUs of the CPT without a shard
  unsigned memory_node = 0;
  std::vector<NicQueues> nic_queues;
  std::vector<unsigned> distance_to_cpt;   // [other CPT]: largest between nodes of their CPUs
  std::vector<unsigned> distance_to_node;  // [i]: largest from a CPU to Topology::nodes[i]

  bool operator==(const PlannedCpt&) const = default;
};

// Facts to know before running the plan; none of them stops a node from starting.
struct PlanWarning {
  enum class Kind : std::uint8_t {
    kSharedCpu,     // two shards on one CPU
    kSharedCore,    // two shards on siblings of one core
    kRemoteMemory,  // shards whose CPU is on another node than the CPT's memory
    kOutsideMask,   // a CPU outside the mask of the process
    kFewerCpus,     // fewer shards than asked for
    kNoSystemCpu,   // shards cover every CPU: the admin thread and the system share with them
    kMixedCores,    // fast and slow cores of a hybrid machine in one CPT
    kNoNodeMemory,  // the CPUs' own node has no memory: it comes from the nearest one that has
    kUnlikeKernel,  // the kernel lays out the same text differently
    kNoEffect,      // a request that this division ignores
  };
  Kind kind;
  std::string text;

  bool operator==(const PlanWarning&) const = default;
};
[[nodiscard]] std::string_view name_of(PlanWarning::Kind kind);

struct CptPlan {
  CptPlanRequest::By by = CptPlanRequest::By::kAuto;
  std::string reason;  // the reason for the result, one sentence for people
  std::vector<PlannedCpt> cpts;
  std::vector<unsigned> reserved_cpus;  // requested, or chosen by kAuto
  std::vector<unsigned>
      admin_cpus;  // CPUs for the admin thread: reserved ones, else spare, else all
  std::vector<PlanWarning> warnings;
  unsigned usable_cpus = 0;  // CPUs that this process may use, reserved ones included
  std::size_t shard_count = 0;

  [[nodiscard]] bool any_shared_cpu() const;
  bool operator==(const CptPlan&) const = default;
};

// Plans. The ways of dividing the machine:
//   auto        A CPT for each NUMA node; a shard on each core, on its first hardware thread, since
//               a polling sibling takes half of the core away. The first core of each node is left
//               to the system (interrupts, admin thread) where nodes have 8 cores or more; else the
//               first core of the machine, if it has 4 or more; else none. reserved_cpus replaces
//               that choice. No more than 256 shards in all, evenly over the CPTs.
//   numa        A CPT for each NUMA node; every CPU.      (the kernel's cpu_pattern=N)
//   core        A CPT for each core; every sibling.
//   partitions  The kernel's cpu_npartitions; 0 chooses as the kernel does.
//   pattern     The kernel's cpu_pattern; `partitions` plays the part of cpu_npartitions.
//   list        As listed: CPUs, memory node and NIC queues are chosen independently. CPUs may be
//               given twice, shards then share them.
// shards_per_cpt takes so many CPUs of each CPT, first siblings before second ones; the others stay
// spare. It has no effect on lists; what a way does not look at is warned of. All but lists keep to
// CPUs that are allowed and not reserved.
[[nodiscard]] Outcome<CptPlan> plan_cpts(const CptPlanRequest& request, const Topology& topology);

struct PlannedMachine {
  CptPlan plan;
  Topology topology;
};

// The same with the reading of the machine: what `lnetctl cpt plan` and a starting node call.
[[nodiscard]] Outcome<PlannedMachine> plan_machine(const CptPlanRequest& request,
                                                   const MachineSource& source);

// The plan as a list: planning it on the same machine gives the same CPTs.
[[nodiscard]] CptPlanRequest request_of(const CptPlan& plan);

}  // namespace plnet::runtime
