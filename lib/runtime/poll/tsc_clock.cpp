// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/poll/tsc_clock.hpp"

#include <algorithm>
#include <array>

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/check.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

namespace plnet::runtime {
namespace {

#if defined(__x86_64__)
__extension__ using Wide = unsigned __int128;

bool invariant_counter() {
  constexpr unsigned kPowerLeaf = 0x80000007;
  constexpr unsigned kInvariantBit = 1U << 8U;
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  if (__get_cpuid(kPowerLeaf, &eax, &ebx, &ecx, &edx) == 0) return false;
  return (edx & kInvariantBit) != 0;
}

// The kernel removes `tsc` from this list when the counter jumps or two CPUs disagree.
bool kernel_trusts_counter() {
  const int file = ::open("/sys/devices/system/clocksource/clocksource0/available_clocksource",
                          O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  std::array<char, 256> text{};
  const ssize_t size = ::read(file, text.data(), text.size());
  ::close(file);
  if (size <= 0) return false;
  const std::string_view list(text.data(), static_cast<std::size_t>(size));
  std::size_t begin = 0;
  while (begin < list.size()) {
    const std::size_t end = std::min(list.find_first_of(" \n", begin), list.size());
    if (list.substr(begin, end - begin) == "tsc") return true;
    begin = end + 1;
  }
  return false;
}
#endif

}  // namespace

#if defined(__x86_64__)

bool tsc_is_usable() {
  return invariant_counter() && kernel_trusts_counter();
}

std::uint64_t TscClock::cycles() const {
  if (counter_) return __rdtsc();
  return static_cast<std::uint64_t>(monotonic().time_since_epoch().count());
}

std::int64_t TscClock::scale(std::uint64_t cycles) const {
  return static_cast<std::int64_t>((static_cast<Wide>(cycles) * nsec_per_cycle_) >> kScaleShift);
}

void TscClock::calibrate() {
  // A sample is the pair with the least time between two readings of the counter: an interrupt in
  // between would otherwise count as clock error.
  struct Sample {
    std::uint64_t cycles;
    Instant at;
  };
  const auto sample = [] {
    Sample best{};
    std::uint64_t narrowest = UINT64_MAX;
    for (int attempt = 0; attempt < 16; ++attempt) {
      const std::uint64_t before = __rdtsc();
      const Instant at = monotonic();
      const std::uint64_t width = __rdtsc() - before;
      if (width >= narrowest) continue;
      narrowest = width;
      best = {before + width / 2, at};
    }
    return best;
  };
  const Sample first = sample();
  while (monotonic() < first.at + kCalibration)
    _mm_pause();
  const Sample last = sample();
  const auto elapsed = static_cast<double>((last.at - first.at).count());
  const auto ticks = static_cast<double>(last.cycles - first.cycles);
  PLNET_CHECK(ticks > 0 && elapsed > 0, "neither clock goes backwards");
  cycles_per_second_ = ticks / elapsed * 1e9;
  constexpr double kOne = static_cast<double>(1ULL << kScaleShift);
  nsec_per_cycle_ = static_cast<std::uint64_t>(elapsed / ticks * kOne);
  origin_cycles_ = first.cycles;
  origin_ = first.at;
}

#else

bool tsc_is_usable() {
  return false;
}
std::uint64_t TscClock::cycles() const {
  return static_cast<std::uint64_t>(monotonic().time_since_epoch().count());
}
std::int64_t TscClock::scale(std::uint64_t cycles) const {
  return static_cast<std::int64_t>(cycles);
}
void TscClock::calibrate() {}

#endif

TscClock::TscClock(Source source) : counter_(source == Source::kBest && tsc_is_usable()) {
  if (counter_) calibrate();
}

Instant TscClock::monotonic() {
  timespec at{};
  const int rc = ::clock_gettime(CLOCK_MONOTONIC, &at);
  PLNET_CHECK(rc == 0, "every Linux has CLOCK_MONOTONIC");
  return Instant(std::chrono::seconds(at.tv_sec) + std::chrono::nanoseconds(at.tv_nsec));
}

std::string_view TscClock::description() const {
  return counter_ ? "time stamp counter" : "CLOCK_MONOTONIC (no usable time stamp counter: slower)";
}

}  // namespace plnet::runtime
