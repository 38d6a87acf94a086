// SPDX-License-Identifier: BSD-3-Clause
// Mutual exclusion of the thread that steps the NICs and threads that allocate. Allocation is cold
// and may wait; the stepping thread never does: it skips its turn.
#pragma once

#include <atomic>
#include <thread>

namespace plnet::cassini::soft {

class Gate {
 public:
  // Cold. Asks the stepping thread to stay out, then waits for the step under way.
  void lock() {
    waiting_.fetch_add(1, std::memory_order_relaxed);
    while (held_.test_and_set(std::memory_order_acquire))
      std::this_thread::yield();
    waiting_.fetch_sub(1, std::memory_order_relaxed);
  }
  [[nodiscard]] bool try_lock() {
    if (waiting_.load(std::memory_order_relaxed) != 0) return false;
    return !held_.test_and_set(std::memory_order_acquire);
  }
  void unlock() { held_.clear(std::memory_order_release); }

  // Releases the gate at the end of its scope.
  class Held {
   public:
    explicit Held(Gate& gate) : gate_(gate) { gate_.lock(); }
    struct Already {};
    Held(Gate& gate, Already /*by try_lock*/) : gate_(gate) {}
    ~Held() { gate_.unlock(); }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;

   private:
    Gate& gate_;
  };

 private:
  std::atomic<int> waiting_{0};
  std::atomic_flag held_;
};

}  // namespace plnet::cassini::soft
