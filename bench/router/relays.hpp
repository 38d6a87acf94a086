// SPDX-License-Identifier: BSD-3-Clause
// Plain byte relays, to compare a router with. Each moves bytes from one socket to the other until
// it is told to stop, in a thread of the caller.
#pragma once

#include <atomic>
#include <cstdint>

#include "lib/base/clock.hpp"

namespace plnet::bench {

enum class RelayKind {
  kSplice,  // by a pipe, without a copy, spinning
  kEpoll,   // by a buffer, sleeping while there is nothing to read
};

// A spinning relay occupies its CPU at any load; the time of turns that moved something counts.
class RelayRun {
 public:
  explicit RelayRun(const Clock& clock) : clock_(clock), last_(clock.now()) {}

  void stop() { stop_.store(true, std::memory_order_relaxed); }
  [[nodiscard]] const std::atomic<bool>& stopped() const { return stop_; }
  [[nodiscard]] double busy_seconds() const {
    return std::chrono::duration<double>(Duration(busy_.load(std::memory_order_relaxed))).count();
  }

  // A turn has ended.
  void note_turn(bool moved_something) {
    const Instant now = clock_.now();
    if (moved_something) {
      busy_.store(busy_.load(std::memory_order_relaxed) + (now - last_).count(),
                  std::memory_order_relaxed);
    }
    last_ = now;
  }

 private:
  const Clock& clock_;
  Instant last_;
  std::atomic<bool> stop_{false};
  std::atomic<Duration::rep> busy_{0};
};

void relay_bytes(RelayKind kind, int from, int to, RelayRun& run);

}  // namespace plnet::bench
