// SPDX-License-Identifier: BSD-3-Clause
// The clock of a running program: the processor's time stamp counter, calibrated once against
// CLOCK_MONOTONIC, because a poller asks for the time every turn. Beside lib/runtime/admin this is
// the only place in lib/ that asks the system for the time.
#pragma once

#include <cstdint>
#include <string_view>

#include "lib/base/clock.hpp"

namespace plnet::runtime {

class TscClock final : public Clock {
 public:
  enum class Source : std::uint8_t {
    kBest,       // the counter if it is usable, else the system
    kMonotonic,  // clock_gettime() each time: what a machine without a usable counter gets
  };

  // Takes kCalibration of wall time with a usable counter, none without. After that the clock runs
  // free: it starts on CLOCK_MONOTONIC and drifts from it by a few parts per million.
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
  // One line for the log: where the time comes from.
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
  std::uint64_t nsec_per_cycle_ = 0;  // fixed point, kScaleShift bits behind the point
  double cycles_per_second_ = 1e9;
};

// True if the processor's counter ticks at one rate in all power states and the kernel still trusts
// it to agree between CPUs.
[[nodiscard]] bool tsc_is_usable();

}  // namespace plnet::runtime
