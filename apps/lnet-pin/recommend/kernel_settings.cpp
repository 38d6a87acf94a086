// SPDX-License-Identifier: BSD-3-Clause
// A placement as settings of a kernel node. Checked against lustre-release 2.17:
// lnet/lnet/lib-cpt.c: cfs_cpt_table_create_pattern() and its module parameters, which were in
// libcfs/libcfs before; lnet/klnds/socklnd/socklnd_cb.c:
// ksocknal_scheduler(); lnet/klnds/o2iblnd/o2iblnd_cb.c: kiblnd_scheduler(): their threads are
// bound to CPTs.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "apps/lnet-pin/recommend/host_commands.hpp"
#include "apps/lnet-pin/recommend/recommendation.hpp"
#include "lib/base/joined.hpp"
#include "lib/runtime/cpt/number_list.hpp"

namespace plnet::pin {
namespace {

std::string cpt_list(const Placement& placement) {
  std::vector<unsigned> numbers;
  numbers.reserve(placement.cpts.size());
  for (unsigned i = 0; i < placement.cpts.size(); ++i)
    numbers.push_back(i);
  return fmt::format("[{}]", joined(numbers, ","));
}

// "options lnet networks=…": each network with the CPTs that serve it.
std::string networks_line(const Results& results, const Placement& placement) {
  const Sweep& sweep = results.plan.sweep;
  std::string networks;
  for (std::size_t side = 0; side < sweep.workload.networks.size(); ++side) {
    const std::string cpts =
        placement.sides_apart ? fmt::format("[{}]", side) : cpt_list(placement);
    const std::string interface =
        side < sweep.interfaces.size() ? sweep.interfaces[side] : "INTERFACE";
    networks += fmt::format("{}{}({}){}", networks.empty() ? "" : ",",
                            sweep.workload.networks[side], interface, cpts);
  }
  return fmt::format("options lnet networks=\"{}\"\n", networks);
}

std::string scheduler_lines(const Results& results, const Placement& placement) {
  std::size_t shards = 0;
  for (const PinnedCpt& cpt : placement.cpts)
    shards = std::max(shards, cpt.cpus.size());
  std::set<std::string> modules;
  for (const std::string& network : results.plan.sweep.workload.networks) {
    if (network.starts_with("tcp")) modules.insert("ksocklnd");
    if (network.starts_with("o2ib")) modules.insert("ko2iblnd");
  }
  std::string text;
  for (const std::string& module : modules)
    text += fmt::format("options {} nscheds={}\n", module, shards);
  return text;
}

}  // namespace

Outcome<std::string> cpu_pattern_of(const Placement& placement) {
  std::set<unsigned> seen;
  std::string pattern;
  for (std::size_t i = 0; i < placement.cpts.size(); ++i) {
    const std::set<unsigned> own(placement.cpts[i].cpus.begin(), placement.cpts[i].cpus.end());
    for (const unsigned cpu : own) {
      if (!seen.insert(cpu).second) {
        return failure(
            Errc::kNotSupported,
            fmt::format("CPU {} is in two CPTs; the kernel's partitions are disjoint", cpu));
      }
    }
    const std::vector<unsigned> list(own.begin(), own.end());
    pattern += fmt::format("{}{}[{}]", i == 0 ? "" : " ", i, runtime::format_number_list(list));
  }
  return pattern;
}

std::string kernel_settings(const Results& results, const Recommendation& choice) {
  const Placement& placement = results.plan.placements[choice.placement];
  std::string text = fmt::format(
      "# {}\n# Measured with plnet's pollers; a kernel node has threads "
      "instead: measure there, too.\n",
      reason_of(results, choice));
  const auto pattern = cpu_pattern_of(placement);
  if (!pattern) return text + fmt::format("# not possible: {}\n", pattern.error().what);
  text += "# /etc/modprobe.d/lustre-cpt.conf; takes effect when the modules are loaded.\n";
  const std::string partitions =
      fmt::format("cpu_npartitions={} cpu_pattern=\"{}\"", placement.cpts.size(), *pattern);
  text += fmt::format("options lnet {}\n", partitions);
  text += fmt::format("# Before Lustre 2.17 instead: options libcfs {}\n", partitions);
  text += networks_line(results, placement) + scheduler_lines(results, placement);
  for (const PinnedCpt& cpt : placement.cpts) {
    const auto* const thread = results.machine.topology.find_cpu(cpt.cpus.front());
    if (thread == nullptr || thread->numa_node == static_cast<int>(cpt.memory_node)) continue;
    text +=
        "# The kernel takes a partition's memory from the nodes of its CPUs: not the memory "
        "node of this placement.\n";
    break;
  }
  if (placement.hugepages != "keep") {
    text += fmt::format("# Huge pages ({}) are left out: LNet of the kernel does not use them.\n",
                        placement.hugepages);
  }
  const std::string commands =
      governor_commands(results, placement) + interrupt_commands(results, placement);
  if (!commands.empty()) text += "\n# Commands, after each start of the host.\n" + commands;
  return text;
}

}  // namespace plnet::pin
