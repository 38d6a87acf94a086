// SPDX-License-Identifier: BSD-3-Clause
// Conditions that a figure depends on besides the code: part of every line that a benchmark prints.
#pragma once

#include <cstdint>

#include <nlohmann/json.hpp>

namespace plnet::bench {

// Constant conditions of a run: CPU, cores online, kernel, governor if known, pacing of TCP,
// compiler, huge pages, date.
[[nodiscard]] nlohmann::ordered_json environment();

// Time of all CPUs since boot, in the kernel's ticks.
struct CpuTicks {
  std::uint64_t total = 0;
  std::uint64_t steal = 0;  // given to other guests by the hypervisor
};
[[nodiscard]] CpuTicks cpu_ticks();

// The number of times that the kernel took a CPU away from a runnable thread of ours.
[[nodiscard]] std::int64_t involuntary_switches();

}  // namespace plnet::bench
