// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/cpt/usable_cpus.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace plnet::runtime {
namespace {

// Each node of at least kReservePerNodeCores cores reserves one core for the system; smaller
// machines of at least kReserveOneCores reserve one in all; for still smaller ones a core is too
// large a part.
constexpr unsigned kReservePerNodeCores = 8;
constexpr unsigned kReserveOneCores = 4;

// The core with the lowest CPU and all its siblings: a busy sibling would slow the poller.
void reserve_first_core(const UsableCpus& usable, std::set<unsigned>& reserved) {
  for (const HardwareThread* thread : usable) {
    if (thread->core == usable.front()->core) {
      reserved.insert(thread->cpu);
    }
  }
}

UsableCpus pick(const Topology& topology, const std::vector<unsigned>& cpus) {
  UsableCpus threads;
  std::ranges::transform(cpus, std::back_inserter(threads),
                         [&](unsigned cpu) { return topology.find_cpu(cpu); });
  return threads;
}

}  // namespace

UsableCpus usable_cpus(const Topology& topology, const std::set<unsigned>& reserved) {
  UsableCpus usable;
  for (const HardwareThread& thread : topology.threads) {
    if (thread.allowed() && !reserved.contains(thread.cpu)) {
      usable.push_back(&thread);
    }
  }
  std::ranges::sort(usable, {}, [](const HardwareThread* thread) { return thread->cpu; });
  return usable;
}

std::size_t count_cores(const UsableCpus& usable) {
  std::set<unsigned> cores;
  std::ranges::transform(usable, std::inserter(cores, cores.end()), &HardwareThread::core);
  return cores.size();
}

std::string choose_reserved(const Topology& topology, const UsableCpus& usable,
                            std::set<unsigned>& reserved) {
  const auto nodes = split_by_node(usable);
  std::size_t fewest = usable.size();
  for (const auto& node : nodes) {
    fewest = std::min(fewest, count_cores(pick(topology, node)));
  }
  if (fewest >= kReservePerNodeCores) {
    for (const auto& node : nodes) {
      reserve_first_core(pick(topology, node), reserved);
    }
    return "the first core of each node is left to the system";
  }
  if (count_cores(usable) < kReserveOneCores) {
    return fmt::format("with fewer than {} cores none is left to the system", kReserveOneCores);
  }
  const UsableCpus first_node = pick(topology, nodes.front());
  if (count_cores(first_node) < 2) {
    return "the first node has a single core, so none is left to the system";
  }
  reserve_first_core(first_node, reserved);
  return "the first core is left to the system";
}

UsableCpus taking_order(const Topology& topology, const std::vector<unsigned>& cpus) {
  UsableCpus threads = pick(topology, cpus);
  std::ranges::sort(threads, {}, [](const HardwareThread* thread) {
    return std::pair(thread->core, thread->smt);
  });
  // rank among our CPUs on the core
  std::vector<std::pair<std::size_t, const HardwareThread*>> ranked;
  for (std::size_t i = 0; i < threads.size(); ++i) {
    const bool same_core = i > 0 && threads[i - 1]->core == threads[i]->core;
    ranked.emplace_back(same_core ? ranked.back().first + 1 : 0, threads[i]);
  }
  std::ranges::sort(ranked, {}, [](const auto& entry) {
    return std::tuple(entry.first, entry.second->core, entry.second->smt);
  });
  UsableCpus order;
  for (const auto& [rank, thread] : ranked) {
    order.push_back(thread);
  }
  return order;
}

}  // namespace plnet::runtime
