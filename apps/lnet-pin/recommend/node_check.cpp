// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-pin/recommend/node_check.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "apps/lnet-pin/plan/symmetry.hpp"
#include "apps/lnet-pin/probe/cpu_users.hpp"
#include "apps/lnet-pin/recommend/recommendation.hpp"
#include "apps/lnet-pin/report/report.hpp"
#include "lib/runtime/cpt/cpt_plan.hpp"

namespace plnet::pin {
namespace {

constexpr std::size_t kUsersShown = 4;  // of a CPU

std::string users_text(const CpuUsers& users) {
  std::string text;
  std::size_t shown = 0;
  for (const std::string& each : users.names()) {
    if (shown++ == kUsersShown) {
      text += ", …";
      break;
    }
    text += (text.empty() ? "" : ", ") + each;
  }
  return text;
}

}  // namespace

Outcome<Placement> placement_of(const Json& cpt_show) {
  try {
    Placement placement;
    for (const Json& each : cpt_show.at("cpt")) {
      PinnedCpt& cpt = placement.cpts.emplace_back();
      cpt.memory_node = each.at("memory node").get<unsigned>();
      for (const Json& shard : each.at("shards")) {
        cpt.cpus.push_back(shard.at("cpu").get<unsigned>());
        placement.idle = shard.at("idle").get<std::string>();
      }
      if (cpt.cpus.empty()) return failure(Errc::kMalformed, "the node has a CPT without shards");
      if (!each.contains("nic queues")) continue;
      for (const auto& [name, queues] : each["nic queues"].items())
        cpt.nic_queues[name] = queues.get<std::vector<unsigned>>();
    }
    if (placement.cpts.empty()) return failure(Errc::kMalformed, "the node has no CPTs");
    return placement;
  } catch (const std::exception& error) {
    return failure(Errc::kMalformed, fmt::format("the node's answer: {}", error.what()));
  }
}

std::vector<Finding> check_placement(const Placement& placement, const Machine& machine,
                                     const std::string& root) {
  std::vector<Finding> findings{{false, "the node has " + text_of(placement)}};
  const auto planned = runtime::plan_cpts(request_of(placement), machine.topology);
  if (!planned) return {{true, planned.error().what}};
  for (const runtime::PlanWarning& warning : planned->warnings)
    findings.push_back({true, warning.text});
  const bool any_isolated = !machine.isolated.empty();
  for (const unsigned cpu : placement.cpus()) {
    const bool isolated = std::ranges::find(machine.isolated, cpu) != machine.isolated.end();
    if (any_isolated && !isolated) {
      findings.push_back(
          {true, fmt::format("CPU {} has a shard, but is none of the isolated CPUs", cpu)});
    }
  }
  for (const CpuUsers& users : users_of_cpus(machine, root)) {
    const auto cpus = placement.cpus();
    if (std::ranges::find(cpus, users.cpu) == cpus.end()) continue;
    if (!users.interrupts.empty()) {
      findings.push_back({false, fmt::format("CPU {} has a shard and takes interrupts of {}",
                                             users.cpu, users_text(users))});
    }
  }
  for (const Nic& nic : machine.nics) {
    if (nic.numa_node < 0) continue;
    for (std::size_t i = 0; i < placement.cpts.size(); ++i) {
      const auto* const thread = machine.topology.find_cpu(placement.cpts[i].cpus.front());
      if (thread != nullptr && thread->numa_node >= 0 && thread->numa_node != nic.numa_node &&
          placement.cpts[i].nic_queues.contains(nic.name)) {
        findings.push_back({true, fmt::format("CPT {} on node {} serves queues of {}, which is on "
                                              "node {}",
                                              i, thread->numa_node, nic.name, nic.numa_node)});
      }
    }
  }
  return findings;
}

std::vector<Finding> check_results(const Placement& placement, const Machine& machine,
                                   const Results& results, const Analysis& analysis, Aim aim) {
  // Interrupts and cards may have moved; the CPUs must be the same.
  if (results.machine.topology.threads.size() != machine.topology.threads.size() ||
      results.machine.topology.name != machine.topology.name) {
    return {
        {true, fmt::format("the results are of {} with {} CPUs, this machine is {} with {}",
                           results.machine.topology.name, results.machine.topology.threads.size(),
                           machine.topology.name, machine.topology.threads.size())}};
  }
  const AimAnalysis* const figures = analysis.find(aim);
  const auto choice = recommend(results, analysis, aim);
  if (figures == nullptr) return {{true, choice ? "" : choice.error().what}};
  std::vector<Finding> findings;
  if (choice)
    findings.push_back({false, "the best is " + reason_of(results, *choice)});
  else
    findings.push_back({false, choice.error().what});
  const auto key_of = [&](Placement each) {
    each.interrupt_cpus.reset();
    each.governor = each.hugepages = "keep";
    each.sides_apart = false;
    // the node reports the policy that it chose
    if (each.idle == "auto") each.idle = placement.idle;
    return symmetry_key(each, results.machine, results.plan.others);
  };
  const std::string own = key_of(placement);
  for (std::size_t i = 0; i < figures->results.size(); ++i) {
    const PlacementResult& each = figures->results[i];
    const Placement& measured = results.plan.placements[each.placement];
    if (measured.busy_neighbour || key_of(measured) != own) continue;
    std::string text =
        fmt::format("the node is placed like {}, which is number {} of {}: {:.1f} {}",
                    name_of_placement(each.placement), i + 1, figures->results.size(),
                    each.interval.estimate, unit_of(aim, results.plan));
    bool worse = false;
    if (each.rounds >= rounds_for_interval(results.plan.sweep.confidence) && choice) {
      // The recommended one need not have the best figure, if the difference is not certain.
      worse = row_of(aim).higher_is_better ? each.interval.high < choice->interval.low
                                           : each.interval.low > choice->interval.high;
      text += fmt::format(" ({:.1f} to {:.1f}), the best has {:.1f}", each.interval.low,
                          each.interval.high, choice->interval.estimate);
    }
    findings.push_back({worse, std::move(text)});
    return findings;
  }
  findings.push_back({false, "the node's placement was not measured"});
  return findings;
}

}  // namespace plnet::pin
