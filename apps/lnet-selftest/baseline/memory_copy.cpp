// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-selftest/baseline/memory_copy.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "apps/lnet-selftest/baseline/on_cpu.hpp"
#include "lib/base/check.hpp"

namespace plnet::baseline {
namespace {

// Bytes copied between two readings of the clock.
constexpr std::size_t kStretch = std::size_t{8} << 20U;

double copy(std::size_t piece, Duration duration, const Clock& clock) {
  const std::vector<std::byte> from(piece, std::byte{1});
  std::vector<std::byte> to(piece);
  const std::size_t times = std::max<std::size_t>(1, kStretch / piece);
  std::uint64_t copied = 0;
  Duration took{};
  for (const Instant begun = clock.now(); took < duration; took = clock.now() - begun) {
    for (std::size_t i = 0; i < times; ++i) {
      std::memcpy(to.data(), from.data(), piece);
      // Otherwise the compiler would copy once.
      asm volatile("" : : "r"(to.data()) : "memory");
    }
    copied += times * piece;
  }
  return static_cast<double>(copied) / std::chrono::duration<double>(took).count();
}

}  // namespace

Outcome<double> bytes_copied_per_second(std::size_t piece, unsigned cpu, Duration duration,
                                        const Clock& clock) {
  PLNET_CHECK(piece > 0 && duration > Duration::zero(), "something is copied for a while");
  double speed = 0;
  bool at_home = false;
  std::thread([&] {
    at_home = move_to_cpu(cpu);
    if (at_home) speed = copy(piece, duration, clock);
  }).join();
  if (!at_home) return failure(Errc::kNotPermitted, "this process may not use this CPU");
  return speed;
}

}  // namespace plnet::baseline
