// SPDX-License-Identifier: BSD-3-Clause
// An open loop: messages begin at random due times, whether or not earlier ones have arrived.
// Latency counts from the due time, so a relay that stalls is charged for every message that it
// delayed.
#pragma once

#include <cstdint>
#include <deque>

#include "bench/router/flow.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/histogram.hpp"
#include "lib/base/random.hpp"

namespace plnet::bench {

class OpenLoop {
 public:
  OpenLoop(Flow& flow, const Clock& clock, double messages_per_second)
      : flow_(flow),
        clock_(clock),
        mean_ns_(1e9 / messages_per_second),
        due_(clock.now()),
        begun_(flow.begun()),
        arrived_(flow.arrived()),
        turn_ended_(due_) {}

  void turn();
  // Waits for the messages under way.
  void settle();

  [[nodiscard]] double percentile_us(double percent) const;
  // The share of time in turns that sent or received something: near 1, messages wait for this
  // thread, whatever the relay does.
  [[nodiscard]] double busy() const;

 private:
  void note_arrivals(Instant now);
  void note_turn(Instant end, bool worked);

  Flow& flow_;
  const Clock& clock_;
  const double mean_ns_;
  Random random_{1};  // the same due times for every relay
  Instant due_;       // the next one
  std::deque<Instant> waiting_for_;
  std::uint64_t begun_;
  std::uint64_t arrived_;
  Histogram latency_ns_;
  Instant turn_ended_;
  Duration busy_{};
  Duration idle_{};
};

}  // namespace plnet::bench
