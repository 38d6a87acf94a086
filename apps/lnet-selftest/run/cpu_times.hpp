// SPDX-License-Identifier: BSD-3-Clause
// The use of this machine's CPUs, from /proc/stat.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plnet::run {

struct CpuTicks {
  unsigned cpu = 0;
  std::uint64_t total = 0;
  std::uint64_t idle = 0;  // includes waiting for disks
  std::uint64_t user = 0;
  std::uint64_t steal = 0;  // given to other guests by the hypervisor
};
using CpuTimes = std::vector<CpuTicks>;

// Ignores lines of other kinds.
[[nodiscard]] CpuTimes read_cpu_times(std::string_view proc_stat);

struct CpuUse {
  unsigned cpu = 0;
  double busy_percent = 0;
  double user_percent = 0;
  double steal_percent = 0;
};
// For CPUs in both readings.
[[nodiscard]] std::vector<CpuUse> use_between(const CpuTimes& before, const CpuTimes& after);

// The polling CPUs of a node on this machine.
struct NodeCpt {
  std::string node;
  unsigned cpt = 0;
  std::vector<unsigned> cpus{};
};
// Average over its CPUs; nothing: none of them was found.
[[nodiscard]] std::optional<double> busy_percent(const NodeCpt& cpt,
                                                 const std::vector<CpuUse>& uses);

}  // namespace plnet::run
