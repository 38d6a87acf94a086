// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-pin/plan/placement.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "lib/base/check.hpp"
#include "lib/base/joined.hpp"
#include "lib/base/whole_number.hpp"
#include "lib/runtime/cpt/cpt_plan.hpp"
#include "lib/runtime/cpt/number_list.hpp"

namespace plnet::pin {
namespace {

using runtime::HardwareThread;
using runtime::Topology;

// Words were checked when the sweep was read.
unsigned number_of(std::string_view word) {
  const auto number = whole_number<unsigned>(word);
  PLNET_CHECK(number.has_value(), "levels are checked when they are read");
  return *number;
}

std::vector<unsigned> list_of(std::string_view word) {
  const auto list = runtime::parse_number_list(word, runtime::kMaxCpus);
  PLNET_CHECK(list.has_value(), "levels are checked when they are read");
  return *list;
}

using Threads = std::vector<const HardwareThread*>;

// First siblings core by core, or all siblings of a core next to each other.
Threads packed(const Machine& machine, bool pairs) {
  Threads threads;
  for (const HardwareThread& thread : machine.topology.threads) {
    if (thread.allowed() && (pairs || thread.smt == 0)) threads.push_back(&thread);
  }
  return threads;
}

// Node by node in turn, within a node cache by cache, siblings together.
Threads spread(Threads threads) {
  std::map<std::pair<int, int>, unsigned> cores_in_cache;           // so far, by node and cache
  std::map<int, std::vector<std::pair<unsigned, unsigned>>> nodes;  // turn in its cache, core
  std::set<unsigned> seen;
  for (const HardwareThread* thread : threads) {
    if (seen.insert(thread->core).second)
      nodes[thread->numa_node].emplace_back(cores_in_cache[{thread->numa_node, thread->l3}]++,
                                            thread->core);
  }
  std::map<unsigned, std::size_t> rank;  // rank of a core within its node
  for (auto& [node, cores] : nodes) {
    std::ranges::sort(cores);
    for (std::size_t i = 0; i < cores.size(); ++i)
      rank[cores[i].second] = i;
  }
  std::ranges::sort(threads, {}, [&rank](const HardwareThread* thread) {
    return std::tuple(rank.at(thread->core), thread->numa_node, thread->core, thread->smt);
  });
  return threads;
}

Outcome<std::vector<unsigned>> listed_cpus(std::string_view word, std::size_t wanted,
                                           const Topology& topology) {
  auto cpus = list_of(word);
  for (const unsigned cpu : cpus) {
    const HardwareThread* const thread = topology.find_cpu(cpu);
    if (thread == nullptr) {
      return failure(Errc::kNotFound,
                     fmt::format("CPU {}: this machine has CPUs {}", cpu, topology.cpu_list()));
    }
    if (!thread->allowed())
      return failure(Errc::kNotPermitted, fmt::format("this process may not use CPU {}", cpu));
  }
  if (cpus.size() != wanted) {
    return failure(Errc::kInvalid, fmt::format("CPUs {} are {}, but there are {} shards", word,
                                               cpus.size(), wanted));
  }
  return cpus;
}

Outcome<std::vector<unsigned>> choose_cpus(const Choice& choice, const Machine& machine,
                                           std::size_t wanted) {
  const std::string_view cores = choice.of(FactorKind::kCores);
  if (cores != "pack" && cores != "spread") return listed_cpus(cores, wanted, machine.topology);
  const bool pairs = choice.of(FactorKind::kSmt) == "pairs";
  Threads threads = packed(machine, pairs);
  if (pairs && std::ranges::none_of(threads, [](const auto* each) { return each->smt > 0; }))
    return failure(Errc::kNotFound, "smt pairs: the cores of this machine have no siblings");
  if (cores == "spread") threads = spread(std::move(threads));
  if (threads.size() < wanted) {
    return failure(Errc::kOutOfRange, fmt::format("{} shards, but there are {} CPUs for them",
                                                  wanted, threads.size()));
  }
  std::vector<unsigned> cpus;
  cpus.reserve(wanted);
  for (std::size_t i = 0; i < wanted; ++i)
    cpus.push_back(threads[i]->cpu);
  return cpus;
}

// Descriptions of machines have nodes without sizes.
bool has_memory(const runtime::NumaNode& node, const Topology& topology) {
  const auto knows = [](const runtime::NumaNode& each) { return each.memory_bytes > 0; };
  return node.allowed && (knows(node) || std::ranges::none_of(topology.nodes, knows));
}

Outcome<unsigned> memory_node(std::string_view word, unsigned cpu, const Topology& topology) {
  if (word != "local" && word != "remote") {
    const unsigned number = number_of(word);
    const runtime::NumaNode* const node = topology.find_node(number);
    if (node != nullptr && has_memory(*node, topology)) return number;
    return failure(Errc::kNotFound, fmt::format("memory node {}: this machine has NUMA nodes {}",
                                                number, topology.node_list()));
  }
  const int home = topology.find_cpu(cpu)->numa_node;
  const unsigned from = home < 0 ? 0 : static_cast<unsigned>(home);
  const runtime::NumaNode* best = nullptr;
  for (const runtime::NumaNode& node : topology.nodes) {
    if (!has_memory(node, topology)) continue;
    const auto distance = [&](const runtime::NumaNode& to) {
      return topology.distance_between(from, to.node);
    };
    const bool better = best == nullptr || (word == "local" ? distance(node) < distance(*best)
                                                            : distance(node) > distance(*best));
    if (better) best = &node;
  }
  if (best == nullptr) return 0U;  // no memory is known: use the node's own default
  if (word == "remote" && best->node == from)
    return failure(Errc::kNotFound, "memory remote: this machine has one NUMA node with memory");
  return best->node;
}

Outcome<void> place_queues(std::string_view word, const Machine& machine,
                           const std::vector<std::string>& interfaces, Placement& placement) {
  if (word == "none") return {};
  if (interfaces.empty())
    return failure(Errc::kMissing, "nic queues: the sweep names no `interfaces`");
  for (const std::string& name : interfaces) {
    const Nic* const nic = machine.find_nic(name);
    if (nic == nullptr)
      return failure(Errc::kNotFound, fmt::format("nic queues: no card '{}'", name));
    if (word != "spread") {
      const auto queues = list_of(word);
      if (queues.back() >= nic->queues) {
        return failure(Errc::kOutOfRange,
                       fmt::format("nic queues {}: '{}' has {}", word, name, nic->queues));
      }
      placement.cpts.front().nic_queues[name] = queues;
      continue;
    }
    for (unsigned queue = 0; queue < nic->queues; ++queue)
      placement.cpts[queue % placement.cpts.size()].nic_queues[name].push_back(queue);
  }
  return {};
}

Outcome<void> place_interrupts(std::string_view word, const Machine& machine,
                               const std::vector<std::string>& interfaces, Placement& placement) {
  if (word == "keep") return {};
  if (interfaces.empty())
    return failure(Errc::kMissing, "interrupts: the sweep names no `interfaces`");
  for (const std::string& name : interfaces) {
    const Nic* const nic = machine.find_nic(name);
    if (nic == nullptr || nic->interrupts.empty()) {
      return failure(Errc::kNotFound,
                     fmt::format("interrupts: no card '{}' with interrupts of its own", name));
    }
  }
  const auto own = placement.cpus();
  std::set<unsigned> cpus(own.begin(), own.end());
  if (word == "apart") {
    cpus.clear();
    for (const HardwareThread& thread : machine.topology.threads) {
      if (thread.allowed() && std::ranges::find(own, thread.cpu) == own.end())
        cpus.insert(thread.cpu);
    }
    if (cpus.empty()) return failure(Errc::kOutOfRange, "interrupts apart: every CPU has a shard");
  } else if (word != "same") {
    auto listed = list_of(word);
    auto known = listed_cpus(word, listed.size(), machine.topology);
    if (!known) return std::unexpected(std::move(known.error()));
    cpus = {listed.begin(), listed.end()};
  }
  placement.interrupt_cpus.emplace(cpus.begin(), cpus.end());
  return {};
}

Outcome<void> place_settings(const Choice& choice, const Machine& machine, Placement& placement) {
  placement.idle = choice.of(FactorKind::kIdle);
  placement.hugepages = choice.of(FactorKind::kHugepages);
  placement.busy_neighbour = choice.of(FactorKind::kNeighbour) == "busy";
  placement.governor = choice.of(FactorKind::kGovernor);
  const bool known =
      std::ranges::find(machine.governors, placement.governor) != machine.governors.end();
  if (placement.governor != "keep" && !known) {
    return failure(Errc::kNotFound,
                   fmt::format("governor {}: this machine has {}", placement.governor,
                               machine.governors.empty() ? "no frequency governors that can be set"
                                                         : joined(machine.governors, ", ")));
  }
  placement.sides_apart = choice.of(FactorKind::kSides) == "apart";
  if (placement.sides_apart && placement.cpts.size() < 2)
    return failure(Errc::kInvalid, "sides apart: it takes two CPTs");
  auto cpus = placement.cpus();
  std::ranges::sort(cpus);
  if (placement.idle == "busy" && std::ranges::adjacent_find(cpus) != cpus.end())
    return failure(Errc::kInvalid, "idle busy: two shards share a CPU and must take turns");
  return {};
}

}  // namespace

std::vector<unsigned> Placement::cpus() const {
  std::vector<unsigned> all;
  for (const PinnedCpt& cpt : cpts)
    all.insert(all.end(), cpt.cpus.begin(), cpt.cpus.end());
  return all;
}

std::size_t Placement::cores(const runtime::Topology& topology) const {
  std::set<unsigned> cores;
  for (const unsigned cpu : cpus()) {
    if (const HardwareThread* const thread = topology.find_cpu(cpu)) cores.insert(thread->core);
  }
  return cores.size();
}

std::string name_of_placement(std::size_t index) {
  return fmt::format("p{}", index);
}

std::string text_of(const Placement& placement) {
  std::string cpus;
  std::string nodes;
  std::string queues;
  for (const PinnedCpt& cpt : placement.cpts) {
    const char* const gap = cpus.empty() ? "" : " | ";
    cpus += gap + joined(cpt.cpus, ",");
    nodes += gap + std::to_string(cpt.memory_node);
    for (const auto& [name, list] : cpt.nic_queues) {
      queues += fmt::format("{}{} {}", queues.empty() ? "" : " | ", name,
                            runtime::format_number_list(list));
    }
  }
  std::string text = fmt::format("CPUs {}, memory node {}", cpus, nodes);
  if (!queues.empty()) text += ", queues " + queues;
  if (placement.interrupt_cpus)
    text += ", interrupts on " + runtime::format_number_list(*placement.interrupt_cpus);
  const auto setting = [&text](const char* name, const std::string& value, const char* standard) {
    if (value != standard) text += fmt::format(", {} {}", name, value);
  };
  setting("idle", placement.idle, "auto");
  setting("governor", placement.governor, "keep");
  setting("hugepages", placement.hugepages, "keep");
  if (placement.sides_apart) text += ", a CPT for each side";
  if (placement.busy_neighbour) text += ", busy neighbour";
  return text;
}

runtime::CptPlanRequest request_of(const Placement& placement) {
  runtime::CptPlanRequest request{.by = runtime::CptPlanRequest::By::kList};
  for (const PinnedCpt& cpt : placement.cpts) {
    runtime::CptRequest& wanted = request.list.emplace_back();
    for (const unsigned cpu : cpt.cpus)
      wanted.shards.push_back({.cpu = static_cast<int>(cpu)});
    wanted.memory_node = static_cast<int>(cpt.memory_node);
    for (const auto& [name, queues] : cpt.nic_queues)
      wanted.nic_queues.push_back({name, queues});
  }
  return request;
}

Choice::Choice() {
  for (const FactorRow& row : kFactors)
    words[static_cast<std::size_t>(row.kind)] = row.standard;
}

Outcome<Placement> place(const Choice& choice, const Machine& machine,
                         const std::vector<std::string>& interfaces) {
  const std::size_t cpts = number_of(choice.of(FactorKind::kCpts));
  const std::size_t shards = number_of(choice.of(FactorKind::kShards));
  if (cpts * shards > runtime::kMaxShards) {
    return failure(Errc::kOutOfRange, fmt::format("{} shards; a node has at most {}", cpts * shards,
                                                  runtime::kMaxShards));
  }
  auto cpus = choose_cpus(choice, machine, cpts * shards);
  if (!cpus) return std::unexpected(std::move(cpus.error()));
  Placement placement;
  for (std::size_t i = 0; i < cpts; ++i) {
    PinnedCpt& cpt = placement.cpts.emplace_back();
    const auto first = cpus->begin() + static_cast<std::ptrdiff_t>(i * shards);
    cpt.cpus.assign(first, first + static_cast<std::ptrdiff_t>(shards));
    auto node = memory_node(choice.of(FactorKind::kMemory), cpt.cpus.front(), machine.topology);
    if (!node) return std::unexpected(std::move(node.error()));
    cpt.memory_node = *node;
  }
  if (auto done = place_queues(choice.of(FactorKind::kQueues), machine, interfaces, placement);
      !done)
    return std::unexpected(std::move(done.error()));
  if (auto done =
          place_interrupts(choice.of(FactorKind::kInterrupts), machine, interfaces, placement);
      !done)
    return std::unexpected(std::move(done.error()));
  if (auto done = place_settings(choice, machine, placement); !done)
    return std::unexpected(std::move(done.error()));
  return placement;
}

}  // namespace plnet::pin
