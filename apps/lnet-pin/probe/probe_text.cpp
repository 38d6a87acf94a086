// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include <fmt/format.h>

#include "apps/lnet-pin/probe/probe.hpp"
#include "lib/base/joined.hpp"
#include "lib/runtime/cpt/number_list.hpp"

namespace plnet::pin {
namespace {

constexpr std::size_t kColumnsMax = 32;  // of a matrix on a terminal

std::string_view name_of_pages(Pages pages) {
  return pages == Pages::kHuge ? "huge" : "small";
}

// Times on a busy machine have many digits; without decimals the columns stay apart.
std::string nanoseconds(double value) {
  constexpr double kShownWhole = 100'000;
  if (value <= 0) return "-";
  return value < kShownWhole ? fmt::format("{:.0f}", value) : fmt::format("{:.0f}k", value / 1000);
}

std::string matrix_text(const Probe& probe) {
  if (probe.line_ns.empty()) return {};
  std::string text = "\ncache line from core to core, ns\n      ";
  const std::size_t shown = std::min(probe.cpus.size(), kColumnsMax);
  for (std::size_t i = 0; i < shown; ++i)
    text += fmt::format("{:>8}", probe.cpus[i]);
  for (std::size_t i = 0; i < shown; ++i) {
    text += fmt::format("\n{:>6}", probe.cpus[i]);
    for (std::size_t j = 0; j < shown; ++j)
      text += fmt::format("{:>8}", nanoseconds(probe.line_ns[i][j]));
  }
  return text + (shown < probe.cpus.size() ? "\n(all of them with --json)\n" : "\n");
}

std::string nics_text(const Machine& machine) {
  std::string text;
  for (const Nic& nic : machine.nics) {
    text += fmt::format("  {}: node {}, {} queues, {} interrupts\n", nic.name,
                        nic.numa_node < 0 ? "unknown" : std::to_string(nic.numa_node), nic.queues,
                        nic.interrupts.size());
  }
  return text.empty() ? "" : "\nnetwork cards\n" + text;
}

}  // namespace

std::string text_of(const Probe& probe) {
  const Machine& machine = probe.machine;
  std::string text =
      fmt::format("{}: {} CPUs, {} cores, {} packages, {} NUMA nodes; turbo {}\n",
                  machine.topology.name, machine.topology.threads.size(), machine.topology.cores,
                  machine.topology.packages, machine.topology.nodes.size(), probe.turbo);
  text += fmt::format("isolated CPUs: {}\n", machine.isolated.empty()
                                                 ? "none"
                                                 : runtime::format_number_list(machine.isolated));
  text += "\n   CPU   GHz  all busy  system call ns  wake-up ns  lost %  longest µs  steal %\n";
  for (const CpuRow& row : probe.rows) {
    text += fmt::format("{:>6}{:>6.2f}{:>10.2f}{:>16.0f}{:>12}{:>8.2f}{:>12.0f}{:>9.1f}\n", row.cpu,
                        row.ghz, row.busy_ghz, row.system_call_ns, nanoseconds(row.wake_up_ns),
                        row.noise.lost_percent, row.noise.longest_us, row.steal_percent);
  }
  text += matrix_text(probe);
  text += probe.memory.empty() ? "" : "\n   CPU  node  pages  latency ns  read MiB/s\n";
  for (const MemoryRow& row : probe.memory) {
    text += fmt::format("{:>6}{:>6}{:>7}{:>12.1f}{:>12.0f}\n", row.cpu, row.node,
                        name_of_pages(row.pages), row.speed.latency_ns, row.speed.read_mibps);
  }
  text += nics_text(machine);
  for (const CpuUsers& users : probe.users) {
    if (!users.names().empty())
      text += fmt::format("CPU {}: {}\n", users.cpu, joined(users.names(), ", "));
  }
  for (const std::string& each : probe.disturbances)
    text += "disturbed: " + each + "\n";
  return text;
}

Json json_of(const Probe& probe) {
  Json json{{"format", "lnet-pin probe 1"}, {"turbo", probe.turbo}};
  json["machine"] = json_of(probe.machine);
  json["cpus"] = Json::array();
  for (const CpuRow& row : probe.rows) {
    json["cpus"].push_back({{"cpu", row.cpu},
                            {"ghz", row.ghz},
                            {"busy_ghz", row.busy_ghz},
                            {"system_call_ns", row.system_call_ns},
                            {"wake_up_ns", row.wake_up_ns},
                            {"lost_percent", row.noise.lost_percent},
                            {"longest_us", row.noise.longest_us},
                            {"steal_percent", row.steal_percent},
                            {"governor", row.governor}});
  }
  json["line_ns"] = {{"cpus", probe.cpus}, {"matrix", probe.line_ns}};
  json["memory"] = Json::array();
  for (const MemoryRow& row : probe.memory) {
    json["memory"].push_back({{"cpu", row.cpu},
                              {"node", row.node},
                              {"pages", name_of_pages(row.pages)},
                              {"latency_ns", row.speed.latency_ns},
                              {"read_mibps", row.speed.read_mibps}});
  }
  json["users"] = Json::array();
  for (const CpuUsers& users : probe.users) {
    json["users"].push_back({{"cpu", users.cpu},
                             {"isolated", users.isolated},
                             {"interrupts", users.interrupts},
                             {"kernel_threads", users.kernel_threads}});
  }
  json["disturbances"] = probe.disturbances;
  return json;
}

}  // namespace plnet::pin
