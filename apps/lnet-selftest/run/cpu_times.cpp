// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-selftest/run/cpu_times.hpp"

#include <algorithm>
#include <array>
#include <sstream>
#include <string>

namespace plnet::run {

CpuTimes read_cpu_times(std::string_view proc_stat) {
  CpuTimes times;
  std::istringstream lines{std::string(proc_stat)};
  for (std::string line; std::getline(lines, line);) {
    // "cpu " without a number is the sum of all CPUs.
    if (!line.starts_with("cpu") || line.size() < 4 || line[3] < '0' || line[3] > '9') continue;
    std::istringstream words(line.substr(3));
    CpuTicks ticks;
    // user nice system idle iowait irq softirq steal; guest time is included in user.
    std::array<std::uint64_t, 8> columns{};
    words >> ticks.cpu;
    for (std::uint64_t& column : columns) {
      words >> column;
      ticks.total += column;
    }
    ticks.user = columns[0] + columns[1];
    ticks.idle = columns[3] + columns[4];
    ticks.steal = columns[7];
    times.push_back(ticks);
  }
  return times;
}

std::vector<CpuUse> use_between(const CpuTimes& before, const CpuTimes& after) {
  std::vector<CpuUse> uses;
  for (const CpuTicks& now : after) {
    const auto then = std::ranges::find(before, now.cpu, &CpuTicks::cpu);
    if (then == before.end() || now.total <= then->total) continue;
    const auto percent = [all = static_cast<double>(now.total - then->total)](
                             std::uint64_t old_ticks, std::uint64_t new_ticks) {
      // Idle time may go backwards by a tick.
      return new_ticks > old_ticks ? static_cast<double>(new_ticks - old_ticks) / all * 100 : 0;
    };
    uses.push_back({.cpu = now.cpu,
                    .busy_percent = 100 - percent(then->idle + then->steal, now.idle + now.steal),
                    .user_percent = percent(then->user, now.user),
                    .steal_percent = percent(then->steal, now.steal)});
  }
  return uses;
}

std::optional<double> busy_percent(const NodeCpt& cpt, const std::vector<CpuUse>& uses) {
  double sum = 0;
  unsigned seen = 0;
  for (const CpuUse& use : uses) {
    if (std::ranges::find(cpt.cpus, use.cpu) == cpt.cpus.end()) continue;
    sum += use.busy_percent;
    ++seen;
  }
  if (seen == 0) return std::nullopt;
  return sum / seen;
}

}  // namespace plnet::run
