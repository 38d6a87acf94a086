// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include <fmt/format.h>

#include "apps/lnet-selftest/run/report.hpp"
#include "lib/base/counted.hpp"

namespace plnet::run {
namespace {

constexpr std::size_t kNodesShown = 16;

std::string line_of(const NodeFigures& node, std::string_view name) {
  return fmt::format("    {:<28} {:>10.0f} RPC/s  [R] {:>10.2f} MiB/s  [W] {:>10.2f} MiB/s\n", name,
                     node.rpc_rate, node.receive_mibps, node.send_mibps);
}

std::string group_text(const GroupFigures& group, std::string_view name) {
  std::string text = line_of(group.sum(), name);
  if (group.silent > 0)
    text += fmt::format("    {} without figures\n", counted(group.silent, "node"));
  if (group.nodes.size() < 2) return text;
  for (std::size_t i = 0; i < std::min(group.nodes.size(), kNodesShown); ++i)
    text += line_of(group.nodes[i], "  " + group.nodes[i].node);
  if (group.nodes.size() > kNodesShown)
    text += fmt::format("      and {} more in the JSON\n", group.nodes.size() - kNodesShown);
  return text;
}

std::string node_latency(const NodeLatency& each) {
  return fmt::format("\n      {:<26} p50 {:.0f} us, p99 {:.0f}, max {:.0f} of {}", each.node,
                     each.figures.p50_us, each.figures.p99_us, each.figures.max_us,
                     counted(each.figures.count, "RPC"));
}

std::string point_text(const PointFigures& point) {
  std::string text = fmt::format("\n{}\n", text_of(point.point));
  const Measurement& last = *point.repeats.back();
  text += group_text(last.from, "clients") + group_text(last.to, "servers");
  for (const auto& [node, count] : last.errors.by_node)
    text += fmt::format("    {} counted {}\n", node, counted(count, "error"));
  for (const PollerUse& use : last.pollers)
    text += fmt::format("    pollers of {}\n", text_of(use));
  for (const CpuUse& cpu : last.cpus) {
    if (cpu.steal_percent >= 1)
      text +=
          fmt::format("    the hypervisor took {:.0f} % of CPU {}\n", cpu.steal_percent, cpu.cpu);
  }
  if (last.latency) {
    text += fmt::format(
        "    latency p50 {:.0f} us, p90 {:.0f}, p99 {:.0f}, p99.9 {:.0f}, "
        "max {:.0f} of {}",
        last.latency->p50_us, last.latency->p90_us, last.latency->p99_us, last.latency->p999_us,
        last.latency->max_us, counted(last.latency->count, "RPC"));
    for (std::size_t i = 0; i < last.latency_by_node.size() && last.latency_by_node.size() > 1; ++i)
      text += node_latency(last.latency_by_node[i]);
    text += '\n';
  }
  if (last.floor && !point.percent_of_floor) {
    text += fmt::format("    bare TCP: disturbed, others took {:.0f} % of its CPUs; not compared\n",
                        last.floor->disturbed_percent);
  }
  if (last.floor && point.percent_of_floor) {
    text += fmt::format(
        "    bare TCP {:.0f} exchanges/s, {:.2f} MiB/s: this is {:.1f} % of it; memcpy {:.0f} "
        "MiB/s\n",
        last.floor->exchange_rate, last.floor->throughput_mibps, point.percent_of_floor->median,
        last.floor->copy_mibps);
  }
  if (point.point.rate > 0) {
    text += fmt::format(
        "    {} {} due and began, {} of them late because all were busy; {} never "
        "began\n",
        counted(last.pace.begun, "request"), agreeing(last.pace.begun, "was", "were"),
        last.pace.waited, last.pace.dropped);
  }
  return text;
}

// The average of all known nodes of the role; empty cells: none is known.
std::string poller_cells(const Measurement& measurement, Role role) {
  double duty = 0;
  double cycles = 0;
  unsigned nodes = 0;
  unsigned counted = 0;
  for (const PollerUse& use : measurement.pollers) {
    if (use.role != role) continue;
    ++nodes;
    duty += use.duty_percent;
    counted += use.cycles_each ? 1 : 0;
    cycles += use.cycles_each.value_or(0);
  }
  return fmt::format(",{},{}", nodes > 0 ? fmt::format("{:.1f}", duty / nodes) : "",
                     counted > 0 ? fmt::format("{:.0f}", cycles / counted) : "");
}

std::string environment_text(const Json& environment) {
  std::string text;
  for (const auto& [name, value] : environment.items())
    text += fmt::format("  {:<20} {}\n", label_of(name),
                        value.is_string() ? value.get<std::string>() : dump_of(value));
  return text;
}

}  // namespace

std::string label_of(std::string_view key) {
  std::string label(key);
  std::ranges::replace(label, '_', ' ');
  return label;
}

std::string highest_rates_text(const Report& report) {
  const auto& goal = report.plan.highest_rate;
  if (!goal || report.highest_rates.empty()) return {};
  std::string text = "highest rates:\n";
  for (const HighestRate& each : report.highest_rates)
    text += "  " + text_of(each, *goal, report.plan.from.size()) + '\n';
  return text;
}

std::string text_of(const HighestRate& highest, const RateGoal& goal, std::size_t clients) {
  Point point = highest.point;
  point.rate = 0;
  if (!highest.rate) return fmt::format("{}: no rate keeps {} us", text_of(point), text_of(goal));
  std::string text = fmt::format("{}: {}{:.0f}/s keep {} us", text_of(point),
                                 highest.at_least ? "at least " : "", *highest.rate, text_of(goal));
  if (highest.at_least) text += fmt::format(" (the limit of {})", counted(clients, "client"));
  return text;
}

std::string table_head(TableColumns columns) {
  return fmt::format("{:<6}{:>6}{:>6}{}  {:>11} {:>8} {:>12} {:>8}{} {:>7}\n", "test", "size",
                     "conc", columns.rate ? "    asked/s" : "", "MiB/s", "+-%", "RPC/s", "+-%",
                     columns.latency ? "   p50 us   p99 us" : "", "errors");
}

std::string table_row(const PointFigures& point, TableColumns columns) {
  std::string latency;
  if (columns.latency) {
    for (const auto& each : {point.p50_us, point.p99_us})
      latency += each ? fmt::format(" {:>8.0f}", each->median) : fmt::format(" {:>8}", "-");
  }
  return fmt::format(
      "{:<6}{:>6}{:>6}{}  {:>11.2f} {:>8.1f} {:>12.0f} {:>8.1f}{} {:>7}\n",
      text_of(point.point.operation), point.point.size > 0 ? text_of_size(point.point.size) : "-",
      point.point.concurrency, columns.rate ? fmt::format(" {:>10.0f}", point.point.rate) : "",
      point.throughput_mibps.median, point.throughput_mibps.percent() / 2, point.rpc_rate.median,
      point.rpc_rate.percent() / 2, latency, point.errors);
}

std::string text_of(const Report& report) {
  const auto points = figures_of(report.measurements);
  const TableColumns columns{
      .latency = std::ranges::any_of(
          points, [](const PointFigures& point) { return point.p99_us.has_value(); }),
      .rate = std::ranges::any_of(points,
                                  [](const PointFigures& point) { return point.point.rate > 0; })};
  std::string text = fmt::format("LNet selftest '{}': {}\n", report.plan.name, outcome_of(report));
  if (!report.simulated.empty())
    text += fmt::format("simulated: {}; all times are simulated\n", report.simulated);
  for (const std::string& each : report.missed)
    text += "threshold missed: " + each + '\n';
  text += fmt::format(
      "medians of {}; +-% is half of the range between the lowest and the "
      "highest\n\n",
      counted(report.plan.repeats, "repeat"));
  text += table_head(columns);
  for (const PointFigures& point : points)
    text += table_row(point, columns);
  if (const std::string highest = highest_rates_text(report); !highest.empty())
    text += '\n' + highest;
  text += "\nlatency: " + report.latency_note + "\n";
  if (!report.floor_note.empty()) text += "bare TCP: " + report.floor_note + "\n";
  text += "\nBy group and node, and the pollers, in the last repeat of each point:\n";
  for (const PointFigures& point : points)
    text += point_text(point);
  text += report.simulated.empty() ? "\nThis machine:\n" : "\nThe simulation:\n";
  text += environment_text(report.environment);
  return text;
}

std::string csv_of(const Report& report) {
  std::string text =
      "test,size,concurrency,asked_rate,repeat,cut_short,seconds,throughput_mibps,rpc_rate,errors,"
      "p50_us,p90_us,p99_us,p999_us,max_us,client_duty_percent,client_cycles_per_rpc,"
      "server_duty_percent,server_cycles_per_rpc,router_duty_percent,router_cycles_per_message,"
      "cpu_steal_percent,simulated\n";
  for (const Measurement& each : report.measurements) {
    double steal = 0;
    for (const CpuUse& cpu : each.cpus)
      steal += cpu.steal_percent;
    std::string pollers;
    for (const Role role : {Role::kClient, Role::kServer, Role::kRouter})
      pollers += poller_cells(each, role);
    const std::string latency =
        each.latency ? fmt::format("{:.1f},{:.1f},{:.1f},{:.1f},{:.1f}", each.latency->p50_us,
                                   each.latency->p90_us, each.latency->p99_us,
                                   each.latency->p999_us, each.latency->max_us)
                     : ",,,,";
    text += fmt::format("{},{},{},{:.1f},{},{},{:.3f},{:.3f},{:.1f},{},{}{},{:.1f},{}\n",
                        text_of(each.point.operation), each.point.size, each.point.concurrency,
                        each.point.rate, each.repeat + 1, each.cut_short ? 1 : 0, each.seconds,
                        each.throughput_mibps, each.rpc_rate, each.errors.total(), latency, pollers,
                        steal, report.simulated.empty() ? 0 : 1);
  }
  return text;
}

}  // namespace plnet::run
