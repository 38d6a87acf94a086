// SPDX-License-Identifier: BSD-3-Clause
// What the CPUs of this machine did, from /proc/stat.
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
  std::uint64_t idle = 0;  // or waiting for a disk
  std::uint64_t user = 0;
  std::uint64_t steal = 0;  // a hypervisor gave it to somebody else
};
using CpuTimes = std::vector<CpuTicks>;

// Lines that are not of a CPU are passed over.
[[nodiscard]] CpuTimes read_cpu_times(std::string_view proc_stat);

struct CpuUse {
  unsigned cpu = 0;
  double busy_percent = 0;
  double user_percent = 0;
  double steal_percent = 0;
};
// Of CPUs that are in both.
[[nodiscard]] std::vector<CpuUse> use_between(const CpuTimes& before, const CpuTimes& after);

// Where a node of this machine polls.
struct NodeCpt {
  std::string node;
  unsigned cpt = 0;
  std::vector<unsigned> cpus{};
};
// On average over its CPUs; nothing: none of them was seen.
[[nodiscard]] std::optional<double> busy_percent(const NodeCpt& cpt,
                                                 const std::vector<CpuUse>& uses);
// "0,1"
[[nodiscard]] std::string cpus_text(const NodeCpt& cpt);

}  // namespace plnet::run
