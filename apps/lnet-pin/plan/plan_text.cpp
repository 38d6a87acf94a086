// SPDX-License-Identifier: BSD-3-Clause
// A plan as text and as JSON.
#include <chrono>

#include <fmt/format.h>

#include "apps/lnet-pin/plan/plan.hpp"
#include "lib/base/joined.hpp"
#include "lib/runtime/cpt/cpt_plan.hpp"
#include "lib/runtime/cpt/number_list.hpp"
#include "lib/runtime/cpt/plan_report.hpp"

namespace plnet::pin {
namespace {

constexpr std::size_t kShownMax = 20;  // of the omitted ones

double minutes_of(Duration duration) {
  return std::chrono::duration<double, std::ratio<60>>(duration).count();
}

double seconds_of(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

std::string workload_text(const Workload& load) {
  std::string text =
      fmt::format("{}{}", run::text_of(load.test),
                  load.test == run::Operation::kPing ? "" : " of " + run::text_of_size(load.size));
  text += fmt::format(", concurrency {}, over {}", load.concurrency, load.networks.front());
  if (load.routed) text += fmt::format(" and a router to {}", load.networks.back());
  return text;
}

std::string range_text(const std::string& least, const std::string& most) {
  return least == most ? least : least + " to " + most;
}

std::string drawing_of(const Placement& placement, const Machine& machine) {
  const auto planned = runtime::plan_cpts(request_of(placement), machine.topology);
  if (!planned) return planned.error().what + "\n";
  return runtime::draw_plan(*planned, machine.topology);
}

}  // namespace

std::string text_of(const Plan& plan, const Machine& machine, bool draw) {
  const Sweep& sweep = plan.sweep;
  std::string text = fmt::format("sweep: {}, which places the {}\nworkload: {}\n", sweep.name,
                                 text_of(sweep.measured), workload_text(sweep.workload));
  text += fmt::format("machine: {}, CPUs: {}, NUMA nodes: {}\n", machine.topology.name,
                      machine.topology.threads.size(), machine.topology.nodes.size());
  for (const Factor& factor : sweep.factors) {
    text += fmt::format("  {}: {}\n", row_of(factor.kind).name, joined(factor.levels, ", "));
  }
  text +=
      fmt::format("design: {}, {} placements\n\n", text_of(sweep.design), plan.placements.size());
  for (std::size_t i = 0; i < plan.placements.size(); ++i) {
    const Placement& placement = plan.placements[i];
    const std::string levels = plan.level_text(placement.levels);
    text += fmt::format("{:>5}  {}{}\n", name_of_placement(i), levels,
                        i == 0 ? (levels.empty() ? "baseline" : "  (baseline)") : "");
    text += fmt::format("       {}\n", text_of(placement));
    for (const auto& same : placement.same)
      text += fmt::format("       the same by symmetry: {}\n", plan.level_text(same));
    if (draw) text += drawing_of(placement, machine);
  }
  text += plan.left_out.empty() ? "" : "\nnot possible here:\n";
  for (std::size_t i = 0; i < plan.left_out.size(); ++i) {
    if (i == kShownMax) {
      text += fmt::format("  … and {} more\n", plan.left_out.size() - i);
      break;
    }
    text +=
        fmt::format("  {}: {}\n", plan.level_text(plan.left_out[i].levels), plan.left_out[i].why);
  }
  for (const std::string& note : plan.notes)
    text += fmt::format("note: {}\n", note);
  return text +
         fmt::format(
             "\n{} runs, about {} min; the budget is {:.0f} min\n",
             range_text(std::to_string(plan.rounds_min()), std::to_string(plan.rounds_max())),
             range_text(fmt::format("{:.0f}", minutes_of(time_of(plan, plan.rounds_min()))),
                        fmt::format("{:.0f}", minutes_of(time_of(plan, plan.rounds_max())))),
             minutes_of(sweep.budget));
}

Json json_of(const Placement& placement) {
  Json json;
  json["cpts"] = Json::array();
  for (const PinnedCpt& cpt : placement.cpts) {
    Json one{{"cpus", cpt.cpus}, {"memory_node", cpt.memory_node}};
    if (!cpt.nic_queues.empty()) one["nic_queues"] = cpt.nic_queues;
    json["cpts"].push_back(std::move(one));
  }
  json["idle"] = placement.idle;
  if (placement.interrupt_cpus) json["interrupt_cpus"] = *placement.interrupt_cpus;
  json["governor"] = placement.governor;
  json["hugepages"] = placement.hugepages;
  json["sides_apart"] = placement.sides_apart;
  json["busy_neighbour"] = placement.busy_neighbour;
  return json;
}

Json json_of(const Plan& plan) {
  const Sweep& sweep = plan.sweep;
  const Workload& load = sweep.workload;
  Json json{{"name", sweep.name},
            {"seed", sweep.seed},
            {"measured", text_of(sweep.measured)},
            {"design", text_of(sweep.design)}};
  json["workload"] = {{"networks", load.networks},
                      {"test", run::text_of(load.test)},
                      {"size", load.size},
                      {"concurrency", load.concurrency},
                      {"warmup_s", seconds_of(load.warm_up)},
                      {"duration_s", seconds_of(load.duration)}};
  json["others"] = plan.others;
  json["factors"] = Json::object();
  for (const Factor& factor : sweep.factors)
    json["factors"][std::string(row_of(factor.kind).name)] = factor.levels;
  json["hosts"] = Json::object();
  for (const auto& [role, host] : sweep.hosts)
    json["hosts"][std::string(text_of(role))] = {{"on", host.on}, {"addresses", host.addresses}};
  json["placements"] = Json::array();
  for (std::size_t i = 0; i < plan.placements.size(); ++i) {
    Json one{{"name", name_of_placement(i)}, {"levels", plan.placements[i].levels}};
    one["text"] = plan.level_text(plan.placements[i].levels);
    one["same"] = plan.placements[i].same;
    one.update(json_of(plan.placements[i]));
    json["placements"].push_back(std::move(one));
  }
  json["left_out"] = Json::array();
  for (const LeftOut& each : plan.left_out)
    json["left_out"].push_back({{"levels", each.levels}, {"why", each.why}});
  json["runs"] = {plan.rounds_min(), plan.rounds_max()};
  json["minutes"] = {minutes_of(time_of(plan, plan.rounds_min())),
                     minutes_of(time_of(plan, plan.rounds_max()))};
  return json;
}

}  // namespace plnet::pin
