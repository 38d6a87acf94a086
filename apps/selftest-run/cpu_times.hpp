// SPDX-License-Identifier: BSD-3-Clause
// What the CPUs of this machine did, from /proc/stat.
#pragma once

#include <cstdint>
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

}  // namespace plnet::run
