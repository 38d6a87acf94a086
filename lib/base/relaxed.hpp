// SPDX-License-Identifier: BSD-3-Clause
// A value that one thread writes now and then and others read without order: views of health,
// credits, states. Nothing else may be concluded from having read it.
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
  // For the rare value with several writers; returns what it was.
  T exchange(T value) { return value_.exchange(value, std::memory_order_relaxed); }
  bool compare_exchange(T expected, T desired) {
    return value_.compare_exchange_strong(expected, desired, std::memory_order_relaxed);
  }

 private:
  std::atomic<T> value_{};
};

}  // namespace plnet
