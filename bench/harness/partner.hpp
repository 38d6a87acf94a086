// SPDX-License-Identifier: BSD-3-Clause
// The other thread of a two-thread benchmark, on a CPU of its own.
#pragma once

#include <atomic>
#include <functional>

#include <pthread.h>

#include "bench/harness/harness.hpp"

namespace plnet::bench {

// Puts the caller on the first CPU and runs `work` on the second; joins at the end of the scope, so
// the body must have told `work` to stop by then. Without two CPUs the state is skipped with an
// error and ready() is false: the body returns at once.
class Partner {
 public:
  Partner(benchmark::State& state, std::function<void()> work);
  ~Partner();
  Partner(const Partner&) = delete;
  Partner& operator=(const Partner&) = delete;

  // True once the partner runs.
  [[nodiscard]] bool ready() const { return started_; }

 private:
  static void* run(void* self);

  std::function<void()> work_;
  std::atomic<bool> running_{false};
  bool started_ = false;
  pthread_t thread_{};
};

}  // namespace plnet::bench
