// SPDX-License-Identifier: BSD-3-Clause
// The clock of a running program: the processor's time stamp counter, calibrated once against
// CLOCK_MONOTONIC, because a poller reads the time every turn. Only this and lib/runtime/admin may
// ask the system for the time in lib/.
#pragma once

#include <cstdint>
#include <string_view>

#include "lib/base/clock.hpp"

namespace plnet::runtime {

class TscClock final : public Clock {
 public:
  enum class Source : std::uint8_t {
    kBest,       // the counter if it is usable, else the system
    kMonotonic,  // clock_gettime() each time: for machines without a usable counter
  };

  // Takes kCalibration of wall time with a usable counter, none without. Afterwards the clock runs
  // free: it starts at CLOCK_MONOTONIC and drifts from it by a few parts per million.
  explicit TscClock(Source source = Source::kBest);

  // Any thread.
  [[nodiscard]] Instant now() const override {
    if (!counter_) return monotonic();
    return origin_ + Duration(scale(cycles() - origin_cycles_));
  }

  // Raw ticks, for differences: of the counter, or nanoseconds where that is not usable.
  [[nodiscard]] std::uint64_t cycles() const;
  [[nodiscard]] double cycles_per_second() const { return cycles_per_second_; }
  [[nodiscard]] bool uses_counter() const { return counter_; }
  // One line for the log: the source of the time.
  [[nodiscard]] std::string_view description() const;

  static constexpr Duration kCalibration = std::chrono::milliseconds(10);

 private:
  static constexpr unsigned kScaleShift = 32;

  [[nodiscard]] static Instant monotonic();
  [[nodiscard]] std::int64_t scale(std::uint64_t cycles) const;
  void calibrate();

  bool counter_ = false;
  std::uint64_t origin_cycles_ = 0;
  Instant origin_{};
  std::uint64_t nsec_per_cycle_ = 0;  // fixed point with kScaleShift fraction bits
  double cycles_per_second_ = 1e9;
};

// True if the processor's counter ticks at one rate in all power states and the kernel still trusts
// it to agree between CPUs.
[[nodiscard]] bool tsc_is_usable();

}  // namespace plnet::runtime
