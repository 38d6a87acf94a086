// SPDX-License-Identifier: BSD-3-Clause
// Time is handed in to all layers below the programs; they never ask the system for it. A poller
// reads its clock once a turn; only the simulator itself advances a simulated clock.
#pragma once

#include <chrono>
#include <cstdint>

namespace plnet {

// The time line of Instants: monotonic, with an unspecified zero. It has no now() on purpose.
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

// A clock that moves only when told, for tests and the simulator.
class ManualClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override { return now_; }
  void advance(Duration step) { now_ += step; }
  void set(Instant instant) { now_ = instant; }

 private:
  Instant now_{};
};

}  // namespace plnet
