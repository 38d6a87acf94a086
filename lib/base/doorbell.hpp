// SPDX-License-Identifier: BSD-3-Clause
// Wakes a shard that sleeps. A shard that never sleeps never arms its doorbell, and ringing it is
// then one relaxed load.
#pragma once

#include <atomic>
#include <cstdint>

#include "lib/base/cache_line.hpp"

namespace plnet {

// Sleeper: arm(), look once more for work, then sleep; disarm() when awake. If arm() returns false,
// the sleeper must stay awake: a ring might be missed. Waker: make the work visible (push to the
// lane), then ring().
//
// One order must not happen: the waker does not see the arming and the sleeper does not see the
// work. Each side stores, then loads the other's store, so each must order its store before its
// load.
// - kEachSide: both sides use a fence. The waker then waits for its stores, for every burst.
// - kSleeper: heavy_fence() makes every running thread pass a fence between two of its
//   instructions. If a waker passes it before it loads armed_, that load sees the arming. If it
//   passes it afterwards, its work was stored before the fence, and the sleeper, which looks after
//   the fence, sees the work. The waker only has to keep the compiler from swapping the two, so it
//   pays nothing. heavy_fence() may fail, for example for lack of memory; arm() then disarms the
//   doorbell.
class Doorbell {
 public:
  enum class FencedBy : std::uint8_t { kEachSide, kSleeper };

  explicit Doorbell(FencedBy fenced_by = FencedBy::kEachSide) : fenced_by_(fenced_by) {}
  virtual ~Doorbell() = default;
  Doorbell(const Doorbell&) = delete;
  Doorbell& operator=(const Doorbell&) = delete;

  void ring() {
    if (fenced_by_ == FencedBy::kSleeper) {
      std::atomic_signal_fence(std::memory_order_seq_cst);
    } else {
      std::atomic_thread_fence(std::memory_order_seq_cst);
    }
    if (armed_.load(std::memory_order_relaxed)) wake();
  }
  // False: not armed, do not sleep now. A waker may have seen it armed nevertheless.
  [[nodiscard]] bool arm() {
    armed_.store(true, std::memory_order_relaxed);
    if (fenced_by_ == FencedBy::kEachSide) {
      std::atomic_thread_fence(std::memory_order_seq_cst);
    } else if (!heavy_fence()) {
      disarm();
      return false;
    }
    return true;
  }
  // For a permanent sleeper: called once before any waker knows this doorbell, so no ordering is
  // needed.
  void arm_for_good() { armed_.store(true, std::memory_order_relaxed); }
  void disarm() { armed_.store(false, std::memory_order_relaxed); }
  [[nodiscard]] bool armed() const { return armed_.load(std::memory_order_relaxed); }
  [[nodiscard]] FencedBy fenced_by() const { return fenced_by_; }

 protected:
  // Any thread; may be called when the sleeper is already awake.
  virtual void wake() = 0;
  // A full fence in this thread and in every thread that may ring; false: not possible this time.
  // Called only with kSleeper. Doorbells of shards that really sleep override it.
  [[nodiscard]] virtual bool heavy_fence() {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return true;
  }

 private:
  alignas(kCacheLine) std::atomic<bool> armed_{false};
  const FencedBy fenced_by_;  // beside armed_: read together
};

// For shards that never sleep: tests, the simulator, benchmarks.
class SilentDoorbell final : public Doorbell {
 public:
  explicit SilentDoorbell(FencedBy fenced_by = FencedBy::kSleeper) : Doorbell(fenced_by) {}

 protected:
  void wake() override {}
};

}  // namespace plnet
