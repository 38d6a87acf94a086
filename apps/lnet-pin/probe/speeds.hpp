// SPDX-License-Identifier: BSD-3-Clause
// The single measurements of a probe. Each takes roughly the given time; nothing: this process may
// not use the CPU or the memory node.
#pragma once

#include <cstdint>
#include <optional>

#include "apps/lnet-pin/probe/pinned.hpp"

namespace plnet::pin {

// Nanoseconds until one core sees a cache line written by the other. The minimum of several rounds,
// since other load can only add to it.
[[nodiscard]] std::optional<double> line_latency_ns(unsigned one, unsigned other, Seconds time);

struct MemorySpeed {
  double latency_ns = 0;  // of a load that no cache can serve or predict
  double read_mibps = 0;  // one core, sequential
};
enum class Pages : std::uint8_t { kSmall, kHuge };
// A buffer on that node, used by that CPU. Huge pages are requested, not reserved.
[[nodiscard]] std::optional<MemorySpeed> memory_speed(unsigned cpu, unsigned node, Pages pages,
                                                      std::size_t bytes, Seconds time);

// Nanoseconds of the cheapest system call.
[[nodiscard]] std::optional<double> system_call_ns(unsigned cpu, Seconds time);
// Nanoseconds from one thread's write to an eventfd until the other one, asleep, runs.
[[nodiscard]] std::optional<double> wake_up_ns(unsigned one, unsigned other, Seconds time);

// A chain of additions of one cycle each: the real clock of the core, in GHz.
[[nodiscard]] std::optional<double> clock_ghz(unsigned cpu, Seconds time);

struct Noise {
  double lost_percent = 0;  // of the time, to other threads
  double longest_us = 0;    // longest interruption
};
[[nodiscard]] std::optional<Noise> noise_of(unsigned cpu, Seconds time);

}  // namespace plnet::pin
