// SPDX-License-Identifier: BSD-3-Clause
// Time as everything below the programs sees it: handed in, never asked of the system. A poller
// reads its clock once a turn; the simulator's clock is a number that only it moves.
#pragma once

#include <chrono>
#include <cstdint>

namespace plnet {

// Names the time line that Instants lie on: monotonic, its zero is unspecified. It has no now(),
// on purpose.
struct MonotonicTimeline {
  using rep = std::int64_t;
  using period = std::nano;
  using duration = std::chrono::nanoseconds;
};

using Duration = std::chrono::nanoseconds;
using Instant = std::chrono::time_point<MonotonicTimeline, Duration>;

class Clock {
 public:
  virtual ~Clock() = default;
  // Never goes backwards.
  [[nodiscard]] virtual Instant now() const = 0;
};

// A clock that moves only when told: tests and the simulator.
class ManualClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override { return now_; }
  void advance(Duration step) { now_ += step; }
  void set(Instant instant) { now_ = instant; }

 private:
  Instant now_{};
};

}  // namespace plnet
