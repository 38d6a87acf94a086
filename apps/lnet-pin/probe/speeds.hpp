// SPDX-License-Identifier: BSD-3-Clause
// The single measurements of a probe. Each takes as long as it is told, roughly; nothing: the CPU
// or the memory node is not for this process.
#pragma once

#include <cstdint>
#include <optional>

#include "apps/lnet-pin/probe/pinned.hpp"

namespace plnet::pin {

// Nanoseconds until a cache line that one core has written is seen by the other. The best of
// several rounds: others on the machine can only add to it.
[[nodiscard]] std::optional<double> line_latency_ns(unsigned one, unsigned other, Seconds time);

struct MemorySpeed {
  double latency_ns = 0;  // of a load that no cache can answer or foresee
  double read_mibps = 0;  // one core, sequential
};
enum class Pages : std::uint8_t { kSmall, kHuge };
// A buffer on that node, touched by that CPU. Huge pages are asked for, not reserved.
[[nodiscard]] std::optional<MemorySpeed> memory_speed(unsigned cpu, unsigned node, Pages pages,
                                                      std::size_t bytes, Seconds time);

// Nanoseconds of the cheapest system call.
[[nodiscard]] std::optional<double> system_call_ns(unsigned cpu, Seconds time);
// Nanoseconds from one thread's write to an eventfd until the other one, asleep, runs.
[[nodiscard]] std::optional<double> wake_up_ns(unsigned one, unsigned other, Seconds time);

// A chain of additions, each of one cycle: the clock that the core really has, in GHz.
[[nodiscard]] std::optional<double> clock_ghz(unsigned cpu, Seconds time);

struct Noise {
  double lost_percent = 0;  // of the time, to anybody else
  double longest_us = 0;    // at a stretch
};
[[nodiscard]] std::optional<Noise> noise_of(unsigned cpu, Seconds time);

}  // namespace plnet::pin
