// SPDX-License-Identifier: BSD-3-Clause
// A queue that owns no memory while it is empty and new: a big simulation has millions of them, and
// nearly all are idle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "lib/base/check.hpp"

namespace plnet::drivers {

template <class T>
class SmallRing {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] T& front() { return at(0); }
  [[nodiscard]] T& back() { return at(count_ - 1); }
  [[nodiscard]] T& at(std::size_t index) {
    PLNET_CHECK(index < count_, "element is not there");
    return slots_[(head_ + index) & (capacity_ - 1)];
  }
  [[nodiscard]] const T& at(std::size_t index) const {
    PLNET_CHECK(index < count_, "element is not there");
    return slots_[(head_ + index) & (capacity_ - 1)];
  }

  void push(const T& value) {
    if (count_ == capacity_) grow();
    slots_[(head_ + count_) & (capacity_ - 1)] = value;
    ++count_;
  }
  void pop() {
    PLNET_CHECK(count_ > 0, "queue is empty");
    head_ = (head_ + 1) & (capacity_ - 1);
    --count_;
    if (count_ == 0 && capacity_ > kKeep) clear();
  }
  void clear() {
    slots_.reset();
    capacity_ = count_ = head_ = 0;
  }

 private:
  static constexpr std::uint32_t kFirst = 4;
  static constexpr std::uint32_t kKeep = 16;  // an empty ring above this gives its memory back

  void grow() {
    const std::uint32_t larger = capacity_ == 0 ? kFirst : capacity_ * 2;
    auto slots = std::make_unique<T[]>(larger);
    for (std::uint32_t i = 0; i < count_; ++i)
      slots[i] = slots_[(head_ + i) & (capacity_ - 1)];
    slots_ = std::move(slots);
    capacity_ = larger;
    head_ = 0;
  }

  std::unique_ptr<T[]> slots_;
  std::uint32_t capacity_ = 0;
  std::uint32_t count_ = 0;
  std::uint32_t head_ = 0;
};

}  // namespace plnet::drivers
