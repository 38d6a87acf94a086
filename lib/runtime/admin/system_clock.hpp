// SPDX-License-Identifier: BSD-3-Clause
// The system's time for the control path: where a program's main() gets the clocks that it hands
// down. Pollers have a cheaper one (poll/tsc_clock.hpp).
#pragma once

#include <chrono>

#include "lib/base/clock.hpp"

namespace plnet::runtime {

// CLOCK_MONOTONIC.
class SystemClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override;
};

// What the calendar says, for the times that logs print. It may jump; nothing is measured with it.
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
