// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/cpt/cpt_plan.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "lib/base/check.hpp"
#include "lib/base/counted.hpp"
#include "lib/runtime/cpt/kernel_layout.hpp"
#include "lib/runtime/cpt/number_list.hpp"
#include "lib/runtime/cpt/plan_checks.hpp"
#include "lib/runtime/cpt/usable_cpus.hpp"

namespace plnet::runtime {
namespace {

using By = CptPlanRequest::By;
using Partitions = std::vector<std::vector<unsigned>>;

// The prefix of a message about text at that place.
std::string at(const Origin& origin) {
  return origin.place.empty() ? "" : origin.place + ": ";
}

Outcome<std::set<unsigned>> checked_reserved(const CptPlanRequest& request,
                                             const Topology& topology) {
  for (const unsigned cpu : request.reserved_cpus) {
    if (topology.find_cpu(cpu) == nullptr) {
      return failure(Errc::kNotFound,
                     fmt::format("{}reserved_cpus: cpu {}: this machine has CPUs {}",
                                 at(request.reserved_origin), cpu, topology.cpu_list()));
    }
  }
  return std::set<unsigned>(request.reserved_cpus.begin(), request.reserved_cpus.end());
}

PlannedShard shard_on(const HardwareThread& thread) {
  return {.cpu = thread.cpu,
          .core = thread.core,
          .smt = thread.smt,
          .package = thread.package,
          .l3 = thread.l3,
          .numa_node = thread.numa_node,
          .outside_mask = !thread.in_affinity};
}

bool has_memory(const Topology& topology, unsigned node) {
  const NumaNode* found = topology.find_node(node);
  // Descriptions often lack sizes: all nodes count then.
  const bool sizes_known = std::ranges::any_of(
      topology.nodes, [](const NumaNode& each) { return each.memory_bytes > 0; });
  return found != nullptr && found->allowed && (found->memory_bytes > 0 || !sizes_known);
}

// The node of the CPT's first shard, or the nearest one with memory for us.
unsigned nearest_memory(const Topology& topology, int home) {
  const unsigned from = home < 0 ? topology.nodes.front().node : static_cast<unsigned>(home);
  if (has_memory(topology, from)) {
    return from;
  }
  std::optional<unsigned> best;
  for (const NumaNode& node : topology.nodes) {
    if (has_memory(topology, node.node) && (!best || topology.distance_between(from, node.node) <
                                                         topology.distance_between(from, *best))) {
      best = node.node;
    }
  }
  return best.value_or(from);
}

// The number of shards that the CPUs of a partition get.
struct Share {
  unsigned asked = 0;         // 0 = by the other two
  bool every_sibling = true;  // else only one on each core
  std::size_t at_most = kMaxCpus;
};

// One planning run: fills plan_ step by step.
class Planner {
 public:
  Planner(const CptPlanRequest& request, const Topology& topology)
      : request_(request), topology_(topology) {}

  Outcome<CptPlan> run();

 private:
  Outcome<void> divide();
  Outcome<void> divide_auto();
  Outcome<void> divide_by_core();
  Outcome<void> divide_by_pattern();
  Outcome<void> take_layout(Outcome<KernelLayout> layout);
  Outcome<void> take_partitions(const Partitions& partitions, const Share& share);
  Outcome<void> take_list();
  Outcome<void> take_list_entry(const CptRequest& entry, std::size_t number);
  void number_shards();
  void choose_admin_cpus();
  void warn(PlanWarning::Kind kind, std::string text) {
    plan_.warnings.push_back({.kind = kind, .text = std::move(text)});
  }

  const CptPlanRequest& request_;
  const Topology& topology_;
  std::set<unsigned> reserved_;
  UsableCpus usable_;
  CptPlan plan_;
};

Outcome<void> Planner::take_partitions(const Partitions& partitions, const Share& share) {
  if (partitions.size() > kMaxCpts) {
    return failure(Errc::kTooBig,
                   fmt::format("{} CPTs, but LNet allows at most {}", partitions.size(), kMaxCpts));
  }
  std::size_t total = 0;
  for (const auto& partition : partitions) {
    const UsableCpus order = taking_order(topology_, partition);
    const std::size_t wanted =
        share.asked != 0
            ? share.asked
            : std::min(share.at_most, share.every_sibling ? order.size() : count_cores(order));
    PlannedCpt cpt;
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (i < wanted) {
        cpt.shards.push_back(shard_on(*order[i]));
      } else {
        cpt.spare_cpus.push_back(order[i]->cpu);
      }
    }
    if (wanted > order.size()) {
      warn(PlanWarning::Kind::kFewerCpus,
           fmt::format("cpt {}: {}, so {} instead of {}", plan_.cpts.size(),
                       counted(order.size(), "CPU"), counted(order.size(), "shard"), wanted));
    }
    std::ranges::sort(cpt.shards, {},
                      [](const PlannedShard& shard) { return std::pair(shard.core, shard.smt); });
    std::ranges::sort(cpt.spare_cpus);
    cpt.memory_node = nearest_memory(topology_, cpt.shards.front().numa_node);
    total += cpt.shards.size();
    plan_.cpts.push_back(std::move(cpt));
  }
  if (total > kMaxShards) {
    return failure(Errc::kTooBig,
                   fmt::format("{} shards, at most {} are possible; shards_per_cpt: {} would do",
                               total, kMaxShards, kMaxShards / partitions.size()));
  }
  return {};
}

Outcome<void> Planner::divide_auto() {
  std::string reserving = "reserved_cpus are left to the system";
  if (request_.reserved_cpus.empty()) {
    reserving = choose_reserved(topology_, usable_, reserved_);
    usable_ = usable_cpus(topology_, reserved_);
  }
  const Partitions nodes = split_by_node(usable_);
  plan_.reason =
      fmt::format("one CPT for each NUMA node, {}; {}",
                  request_.shards_per_cpt == 0
                      ? std::string("one shard on each core")
                      : counted(request_.shards_per_cpt, "shard") + " in each as asked for",
                  reserving);
  return take_partitions(nodes, {.asked = request_.shards_per_cpt,
                                 .every_sibling = false,
                                 .at_most = std::max<std::size_t>(1, kAutoShards / nodes.size())});
}

Outcome<void> Planner::divide_by_core() {
  std::map<unsigned, std::vector<unsigned>> cores;
  for (const HardwareThread* thread : usable_) {
    cores[thread->core].push_back(thread->cpu);
  }
  Partitions partitions;
  for (auto& [core, cpus] : cores) {
    partitions.push_back(std::move(cpus));
  }
  plan_.reason = "one CPT for each core";
  return take_partitions(partitions, {.asked = request_.shards_per_cpt});
}

Outcome<void> Planner::take_layout(Outcome<KernelLayout> layout) {
  if (!layout) {
    const bool by_pattern = request_.by == By::kPattern;
    return failure(layout.error().code,
                   (by_pattern ? at(request_.pattern_origin) : "") + layout.error().what);
  }
  for (std::string& text : layout->warnings) {
    warn(PlanWarning::Kind::kUnlikeKernel, std::move(text));
  }
  return take_partitions(layout->partitions, {.asked = request_.shards_per_cpt});
}

Outcome<void> Planner::divide_by_pattern() {
  const auto pattern = parse_cpt_pattern(request_.pattern);
  if (!pattern) {
    return failure(pattern.error().code, at(request_.pattern_origin) + pattern.error().what);
  }
  plan_.reason = fmt::format("as the kernel's cpu_pattern=\"{}\" says", request_.pattern);
  return take_layout(
      apply_pattern(*pattern, request_.pattern, topology_, usable_, request_.partitions));
}

Outcome<void> Planner::take_list_entry(const CptRequest& entry, std::size_t number) {
  PlannedCpt cpt;
  for (std::size_t i = 0; i < entry.shards.size(); ++i) {
    const auto thread = find_requested_cpu(entry.shards[i], topology_);
    const std::string where =
        fmt::format("{}cpt {} shard {}: ", at(entry.shards[i].origin), number, i);
    if (!thread) {
      return failure(thread.error().code, where + thread.error().what);
    }
    if (reserved_.contains((*thread)->cpu)) {
      return failure(Errc::kBusy,
                     fmt::format("{}cpu {} is in reserved_cpus, too", where, (*thread)->cpu));
    }
    if (!(*thread)->in_cgroup) {
      return failure(Errc::kNotPermitted,
                     fmt::format("{}cpu {} is outside the cgroup that this process runs in", where,
                                 (*thread)->cpu));
    }
    cpt.shards.push_back(shard_on(**thread));
  }
  if (entry.memory_node < 0) {
    cpt.memory_node = nearest_memory(topology_, cpt.shards.front().numa_node);
  } else {
    cpt.memory_node = static_cast<unsigned>(entry.memory_node);
    if (topology_.find_node(cpt.memory_node) == nullptr) {
      return failure(
          Errc::kNotFound,
          fmt::format("{}cpt {}: memory node {}: this machine has NUMA nodes {}",
                      at(entry.memory_origin), number, entry.memory_node, topology_.node_list()));
    }
    if (!has_memory(topology_, cpt.memory_node)) {
      return failure(Errc::kInvalid,
                     fmt::format("{}cpt {}: memory node {} has no memory for us",
                                 at(entry.memory_origin), number, entry.memory_node));
    }
  }
  cpt.nic_queues = entry.nic_queues;
  plan_.cpts.push_back(std::move(cpt));
  return {};
}

Outcome<void> Planner::take_list() {
  if (auto sound = check_list(request_.list); !sound) {
    return sound;
  }
  for (std::size_t i = 0; i < request_.list.size(); ++i) {
    if (auto taken = take_list_entry(request_.list[i], i); !taken) {
      return taken;
    }
  }
  plan_.reason = "as listed";
  return {};
}

Outcome<void> Planner::divide() {
  switch (request_.by) {
    case By::kAuto: return divide_auto();
    case By::kNumaNode:
      plan_.reason = "one CPT for each NUMA node";
      return take_partitions(split_by_node(usable_), {.asked = request_.shards_per_cpt});
    case By::kCore: return divide_by_core();
    case By::kPartitions:
      plan_.reason = request_.partitions == 0 ? "as many CPTs as the kernel would choose"
                                              : "CPUs split as evenly as the kernel does";
      return take_layout(split_evenly(topology_, usable_, request_.partitions));
    case By::kPattern: return divide_by_pattern();
    case By::kList: return take_list();
  }
  return failure(Errc::kInvalid, "by: expected auto, numa, core, partitions, pattern or list");
}

void Planner::number_shards() {
  for (PlannedCpt& cpt : plan_.cpts) {
    for (PlannedShard& shard : cpt.shards) {
      shard.number = static_cast<unsigned>(plan_.shard_count++);
      shard.remote_memory = shard.numa_node != static_cast<int>(cpt.memory_node);
    }
  }
}

void Planner::choose_admin_cpus() {
  std::set<unsigned> polled;
  for (const PlannedCpt& cpt : plan_.cpts) {
    std::ranges::transform(cpt.shards, std::inserter(polled, polled.end()), &PlannedShard::cpu);
  }
  std::vector<unsigned> reserved;
  std::vector<unsigned> idle;
  std::vector<unsigned> all;
  for (const HardwareThread* thread : usable_cpus(topology_, {})) {
    all.push_back(thread->cpu);
    if (reserved_.contains(thread->cpu)) {
      reserved.push_back(thread->cpu);
    }
    if (!polled.contains(thread->cpu)) {
      idle.push_back(thread->cpu);
    }
  }
  plan_.usable_cpus = static_cast<unsigned>(all.size());
  if (!reserved.empty()) {
    plan_.admin_cpus = std::move(reserved);
  } else if (!idle.empty()) {
    plan_.admin_cpus = std::move(idle);
  } else {
    warn(PlanWarning::Kind::kNoSystemCpu,
         fmt::format("shards poll on every CPU ({}): the admin thread and the system take turns "
                     "with them",
                     format_number_list(all)));
    plan_.admin_cpus = std::move(all);
  }
}

Outcome<CptPlan> Planner::run() {
  auto reserved = checked_reserved(request_, topology_);
  if (!reserved) {
    return std::unexpected(reserved.error());
  }
  if (topology_.nodes.empty()) {
    return failure(Errc::kNotSupported, "this machine has no NUMA node, so no memory to plan with");
  }
  reserved_ = std::move(*reserved);
  usable_ = usable_cpus(topology_, reserved_);
  if (usable_.empty()) {
    return failure(Errc::kNoSpace,
                   reserved_.empty()
                       ? "this process may not use any CPU of this machine"
                       : at(request_.reserved_origin) + "reserved_cpus: no CPU is left to poll on");
  }
  plan_.by = request_.by;
  if (auto divided = divide(); !divided) {
    return std::unexpected(divided.error());
  }
  PLNET_CHECK(!plan_.cpts.empty(), "every division gives at least one CPT");
  number_shards();
  plan_.reserved_cpus.assign(reserved_.begin(), reserved_.end());
  choose_admin_cpus();
  mark_sharing(plan_);
  measure_distances(plan_, topology_);
  warn_of_no_effect(plan_, request_);
  warn_of_placement(plan_, topology_);
  return std::move(plan_);
}

}  // namespace

bool CptPlan::any_shared_cpu() const {
  return std::ranges::any_of(cpts, [](const PlannedCpt& cpt) {
    return std::ranges::any_of(cpt.shards, &PlannedShard::shares_cpu);
  });
}

Outcome<CptPlan> plan_cpts(const CptPlanRequest& request, const Topology& topology) {
  return Planner(request, topology).run();
}

Outcome<PlannedMachine> plan_machine(const CptPlanRequest& request, const MachineSource& source) {
  auto topology = read_topology(source);
  if (!topology) {
    return std::unexpected(topology.error());
  }
  auto plan = plan_cpts(request, *topology);
  if (!plan) {
    return std::unexpected(plan.error());
  }
  return PlannedMachine{.plan = std::move(*plan), .topology = std::move(*topology)};
}

CptPlanRequest request_of(const CptPlan& plan) {
  CptPlanRequest request;
  request.by = By::kList;
  request.reserved_cpus = plan.reserved_cpus;
  for (const PlannedCpt& cpt : plan.cpts) {
    CptRequest entry;
    entry.memory_node = static_cast<int>(cpt.memory_node);
    entry.nic_queues = cpt.nic_queues;
    for (const PlannedShard& shard : cpt.shards) {
      entry.shards.push_back({.cpu = static_cast<int>(shard.cpu)});
    }
    request.list.push_back(std::move(entry));
  }
  return request;
}

}  // namespace plnet::runtime
