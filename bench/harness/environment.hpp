// SPDX-License-Identifier: BSD-3-Clause
// What a figure depends on besides the code: goes into every line that a benchmark prints.
#pragma once

#include <cstdint>

#include <nlohmann/json.hpp>

namespace plnet::bench {

// The parts that do not change during a run: CPU, cores online, kernel, governor if the machine
// tells, how TCP is paced, compiler, huge pages, date.
[[nodiscard]] nlohmann::ordered_json environment();

// Time of all CPUs since boot, in the kernel's ticks.
struct CpuTicks {
  std::uint64_t total = 0;
  std::uint64_t steal = 0;  // a hypervisor gave it to somebody else
};
[[nodiscard]] CpuTicks cpu_ticks();

// How often the kernel took a CPU away from one of our threads that wanted to run.
[[nodiscard]] std::int64_t involuntary_switches();

}  // namespace plnet::bench
