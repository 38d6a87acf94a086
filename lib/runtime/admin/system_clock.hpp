// SPDX-License-Identifier: BSD-3-Clause
// The system's time for the control path: main() gets its clocks here and hands them down. Pollers
// use a cheaper one (poll/tsc_clock.hpp).
#pragma once

#include <chrono>

#include "lib/base/clock.hpp"

namespace plnet::runtime {

// CLOCK_MONOTONIC.
class SystemClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override;
};

// Calendar time, for timestamps in logs. It may jump and is never used to measure.
using WallTime = std::chrono::system_clock::time_point;

class WallClock {
 public:
  virtual ~WallClock() = default;
  [[nodiscard]] virtual WallTime now() const = 0;
};

class SystemWallClock final : public WallClock {
 public:
  [[nodiscard]] WallTime now() const override;
};

}  // namespace plnet::runtime
