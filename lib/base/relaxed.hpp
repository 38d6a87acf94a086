// SPDX-License-Identifier: BSD-3-Clause
// A value that one thread writes rarely and others read without ordering: views of health, credits,
// states. Reading it implies nothing about other memory.
#pragma once

#include <atomic>

namespace plnet {

template <class T>
class Relaxed {
  static_assert(std::atomic<T>::is_always_lock_free);

 public:
  constexpr Relaxed() = default;
  constexpr explicit Relaxed(T value) : value_(value) {}

  [[nodiscard]] T get() const { return value_.load(std::memory_order_relaxed); }
  void set(T value) { value_.store(value, std::memory_order_relaxed); }
  // For the rare value with several writers; returns the previous value.
  T exchange(T value) { return value_.exchange(value, std::memory_order_relaxed); }
  bool compare_exchange(T expected, T desired) {
    return value_.compare_exchange_strong(expected, desired, std::memory_order_relaxed);
  }

 private:
  std::atomic<T> value_{};
};

}  // namespace plnet
