// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/cpt/plan_checks.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "lib/base/counted.hpp"
#include "lib/base/interface_name.hpp"
#include "lib/runtime/cpt/number_list.hpp"

namespace plnet::runtime {
namespace {

using Kind = PlanWarning::Kind;

// The CPT of each queue of each interface.
using QueueOwners = std::map<std::pair<std::string, unsigned>, std::size_t>;

Outcome<void> check_queues(const NicQueues& entry, std::size_t cpt, QueueOwners& owners) {
  const std::string& name = entry.interface;
  const std::string where = fmt::format("cpt {}: nic queues of \"{:.40}\": ", cpt, name);
  if (!is_interface_name(name)) {
    return failure(Errc::kInvalid, fmt::format("{}expected {}", where, kInterfaceNameExpected));
  }
  if (entry.queues.empty()) {
    return failure(Errc::kMissing, where + "expected at least one queue");
  }
  for (const unsigned queue : entry.queues) {
    if (queue > kMaxNicQueue) {
      return failure(Errc::kOutOfRange,
                     fmt::format("{}queue {} is over the limit {}", where, queue, kMaxNicQueue));
    }
    const auto [owner, fresh] = owners.try_emplace({name, queue}, cpt);
    if (!fresh) {
      return failure(Errc::kExists, fmt::format("{}queue {} belongs to cpt {} already", where,
                                                queue, owner->second));
    }
  }
  return {};
}

std::string numbers_of(const std::set<unsigned>& numbers) {
  return format_number_list(std::vector<unsigned>(numbers.begin(), numbers.end()));
}

// The nodes of the CPT's CPUs, those without shards included.
std::set<unsigned> nodes_of(const PlannedCpt& cpt, const Topology& topology) {
  std::set<unsigned> nodes;
  const auto add = [&](unsigned cpu) {
    const HardwareThread* thread = topology.find_cpu(cpu);
    nodes.insert(thread == nullptr || thread->numa_node < 0
                     ? cpt.memory_node
                     : static_cast<unsigned>(thread->numa_node));
  };
  std::ranges::for_each(cpt.shards, add, &PlannedShard::cpu);
  std::ranges::for_each(cpt.spare_cpus, add);
  return nodes;
}

unsigned largest_distance(const Topology& topology, const std::set<unsigned>& from,
                          const std::set<unsigned>& to) {
  unsigned largest = 0;
  for (const unsigned a : from) {
    for (const unsigned b : to) {
      largest = std::max(largest, topology.distance_between(a, b));
    }
  }
  return largest;
}

void warn_of_memory(CptPlan& plan, const Topology& topology, std::size_t number) {
  const PlannedCpt& cpt = plan.cpts[number];
  std::set<unsigned> remote_nodes;
  std::set<unsigned> remote_cpus;
  for (const PlannedShard& shard : cpt.shards) {
    if (shard.remote_memory) {
      remote_cpus.insert(shard.cpu);
      if (shard.numa_node >= 0) {
        remote_nodes.insert(static_cast<unsigned>(shard.numa_node));
      }
    }
  }
  if (remote_cpus.empty()) {
    return;
  }
  const bool chosen = plan.by == CptPlanRequest::By::kList;
  if (!chosen && remote_cpus.size() == cpt.shards.size()) {
    plan.warnings.push_back(
        {.kind = Kind::kNoNodeMemory,
         .text = fmt::format("cpt {}: its own node has no memory, node {} is the nearest that has",
                             number, cpt.memory_node)});
    return;
  }
  const unsigned distance = largest_distance(topology, remote_nodes, {cpt.memory_node});
  plan.warnings.push_back(
      {.kind = Kind::kRemoteMemory,
       .text = fmt::format("cpt {}: memory is on node {}, but CPUs {} are on node {} (distance {})",
                           number, cpt.memory_node, numbers_of(remote_cpus),
                           remote_nodes.empty() ? "none" : numbers_of(remote_nodes), distance)});
}

void warn_of_kinds(CptPlan& plan, const Topology& topology, std::size_t number) {
  std::set<int> kinds;
  for (const PlannedShard& shard : plan.cpts[number].shards) {
    if (const HardwareThread* thread = topology.find_cpu(shard.cpu); thread != nullptr) {
      kinds.insert(thread->efficiency);
    }
  }
  if (kinds.size() > 1) {
    plan.warnings.push_back(
        {.kind = Kind::kMixedCores,
         .text = fmt::format("cpt {}: it mixes fast and slow cores, the slow ones set its pace",
                             number)});
  }
}

void warn_of_sharing(CptPlan& plan) {
  std::map<unsigned, std::set<unsigned>> shards_on_cpu;
  std::map<unsigned, std::set<unsigned>> polled_on_core;
  std::set<unsigned> outside;
  for (const PlannedCpt& cpt : plan.cpts) {
    for (const PlannedShard& shard : cpt.shards) {
      shards_on_cpu[shard.cpu].insert(shard.number);
      polled_on_core[shard.core].insert(shard.cpu);
      if (shard.outside_mask) {
        outside.insert(shard.cpu);
      }
    }
  }
  for (const auto& [cpu, shards] : shards_on_cpu) {
    if (shards.size() > 1) {
      plan.warnings.push_back({.kind = Kind::kSharedCpu,
                               .text = fmt::format("cpu {}: shards {} share it and take turns", cpu,
                                                   numbers_of(shards))});
    }
  }
  // One line for all cores: a machine of 128 cores must not print 128 warnings.
  std::set<unsigned> crowded;
  for (const auto& [core, cpus] : polled_on_core) {
    if (cpus.size() > 1) {
      crowded.insert(core);
    }
  }
  if (!crowded.empty()) {
    plan.warnings.push_back(
        {.kind = Kind::kSharedCore,
         .text = fmt::format("cores {}: shards poll on several hardware threads of the same core "
                             "and slow one another; one shard on each core is usually faster",
                             numbers_of(crowded))});
  }
  if (!outside.empty()) {
    plan.warnings.push_back(
        {.kind = Kind::kOutsideMask,
         .text = fmt::format("cpus {}: outside the CPU mask that this process was started with",
                             numbers_of(outside))});
  }
}

}  // namespace

std::string_view name_of(PlanWarning::Kind kind) {
  switch (kind) {
    case Kind::kSharedCpu: return "shared_cpu";
    case Kind::kSharedCore: return "shared_core";
    case Kind::kRemoteMemory: return "remote_memory";
    case Kind::kOutsideMask: return "outside_mask";
    case Kind::kFewerCpus: return "fewer_cpus";
    case Kind::kNoSystemCpu: return "no_system_cpu";
    case Kind::kMixedCores: return "mixed_cores";
    case Kind::kNoNodeMemory: return "no_node_memory";
    case Kind::kUnlikeKernel: return "unlike_kernel";
    case Kind::kNoEffect: return "no_effect";
  }
  return "unknown";
}

Outcome<void> check_list(std::span<const CptRequest> list) {
  if (list.empty()) {
    return failure(Errc::kMissing, "list: expected at least one CPT");
  }
  if (list.size() > kMaxCpts) {
    return failure(Errc::kTooBig,
                   fmt::format("list: {} CPTs, but LNet allows at most {}", list.size(), kMaxCpts));
  }
  std::size_t shards = 0;
  QueueOwners owners;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i].shards.empty()) {
      return failure(Errc::kMissing, fmt::format("cpt {}: expected at least one shard", i));
    }
    shards += list[i].shards.size();
    for (const NicQueues& entry : list[i].nic_queues) {
      if (auto sound = check_queues(entry, i, owners); !sound) {
        return sound;
      }
    }
  }
  if (shards > kMaxShards) {
    return failure(Errc::kTooBig,
                   fmt::format("list: {} shards, at most {} are possible", shards, kMaxShards));
  }
  return {};
}

Outcome<const HardwareThread*> find_requested_cpu(const ShardRequest& shard,
                                                  const Topology& topology) {
  const bool by_core = shard.core >= 0;
  if ((shard.cpu >= 0) == by_core) {
    return failure(Errc::kInvalid, by_core ? "expected either cpu or core, not both"
                                           : "expected cpu, or core (with smt)");
  }
  if (!by_core) {
    if (shard.smt >= 0) {
      return failure(Errc::kInvalid, "smt goes with core, not with cpu");
    }
    const auto cpu = static_cast<unsigned>(shard.cpu);
    const HardwareThread* thread = topology.find_cpu(cpu);
    if (thread == nullptr) {
      const bool offline =
          std::ranges::find(topology.offline_cpus, cpu) != topology.offline_cpus.end();
      return failure(Errc::kNotFound, offline ? fmt::format("cpu {} is offline", cpu)
                                              : fmt::format("cpu {}: this machine has CPUs {}", cpu,
                                                            topology.cpu_list()));
    }
    return thread;
  }
  const auto core = static_cast<unsigned>(shard.core);
  if (core >= topology.cores) {
    return failure(Errc::kNotFound,
                   fmt::format("core {}: this machine has cores 0-{}", core, topology.cores - 1));
  }
  const unsigned smt = shard.smt < 0 ? 0 : static_cast<unsigned>(shard.smt);
  const HardwareThread* thread = topology.find_sibling(core, smt);
  if (thread == nullptr) {
    const unsigned siblings = topology.siblings_of(core);
    return failure(Errc::kNotFound, fmt::format("core {} smt {}: that core has {}, counted from 0",
                                                core, smt, counted(siblings, "hardware thread")));
  }
  return thread;
}

void mark_sharing(CptPlan& plan) {
  std::map<unsigned, unsigned> on_cpu;
  std::map<unsigned, std::set<unsigned>> on_core;
  for (const PlannedCpt& cpt : plan.cpts) {
    for (const PlannedShard& shard : cpt.shards) {
      ++on_cpu[shard.cpu];
      on_core[shard.core].insert(shard.cpu);
    }
  }
  for (PlannedCpt& cpt : plan.cpts) {
    for (PlannedShard& shard : cpt.shards) {
      shard.shares_cpu = on_cpu[shard.cpu] > 1;
      shard.shares_core = on_core[shard.core].size() > 1;
    }
  }
}

void measure_distances(CptPlan& plan, const Topology& topology) {
  std::vector<std::set<unsigned>> nodes;
  std::ranges::transform(plan.cpts, std::back_inserter(nodes),
                         [&](const PlannedCpt& cpt) { return nodes_of(cpt, topology); });
  for (std::size_t i = 0; i < plan.cpts.size(); ++i) {
    for (const auto& other : nodes) {
      plan.cpts[i].distance_to_cpt.push_back(largest_distance(topology, nodes[i], other));
    }
    for (const NumaNode& node : topology.nodes) {
      plan.cpts[i].distance_to_node.push_back(largest_distance(topology, nodes[i], {node.node}));
    }
  }
}

void warn_of_no_effect(CptPlan& plan, const CptPlanRequest& request) {
  using By = CptPlanRequest::By;
  const By by = request.by;
  const auto warn = [&](std::string_view what, std::string_view goes_with) {
    plan.warnings.push_back({.kind = Kind::kNoEffect,
                             .text = fmt::format("{}: no effect with `by: {}`, expected {}", what,
                                                 name_of(by), goes_with)});
  };
  if (!request.list.empty() && by != By::kList) warn("list", "`by: list`");
  if (!request.pattern.empty() && by != By::kPattern) warn("pattern", "`by: pattern`");
  if (request.partitions != 0 && by != By::kPartitions && by != By::kPattern)
    warn("partitions", "`by: partitions` or `by: pattern`");
  if (request.shards_per_cpt != 0 && by == By::kList)
    warn("shards_per_cpt", "as many shards in the list as are wanted");
}

void warn_of_placement(CptPlan& plan, const Topology& topology) {
  warn_of_sharing(plan);
  for (std::size_t i = 0; i < plan.cpts.size(); ++i) {
    warn_of_memory(plan, topology, i);
    warn_of_kinds(plan, topology, i);
  }
}

}  // namespace plnet::runtime
