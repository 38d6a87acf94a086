// SPDX-License-Identifier: BSD-3-Clause
// A queue that owns no memory while it is empty: a big simulation has millions of them, nearly all
// idle. Sixteen bytes; its elements lie in one block of the simulation's pool. The owner clears it
// before its end: the ring does not know its pool.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include "drivers/net/sim/block_pool.hpp"
#include "lib/base/check.hpp"

namespace plnet::drivers {

template <class T>
class PooledRing {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] T& front() { return at(0); }
  [[nodiscard]] T& back() { return at(count_ - 1U); }
  [[nodiscard]] T& at(std::size_t index) {
    PLNET_CHECK(index < count_, "element is not there");
    return slots_[place_of(index)];
  }
  [[nodiscard]] const T& at(std::size_t index) const {
    PLNET_CHECK(index < count_, "element is not there");
    return slots_[place_of(index)];
  }

  void fetch() const { __builtin_prefetch(slots_ + head_); }

  void push(BlockPool& pool, const T& value) {
    PLNET_DEBUG_CHECK(count_ < kCountMask, "a ring counts its elements by 27 bits");
    if (slots_ == nullptr || count_ == capacity()) grow(pool);
    ::new (&slots_[place_of(count_)]) T(value);
    count_ = (count_ + 1U) & kCountMask;
  }
  void pop(BlockPool& pool) {
    PLNET_CHECK(count_ > 0, "queue is empty");
    head_ = static_cast<std::uint32_t>(place_of(1));
    count_ = (count_ - 1U) & kCountMask;
    if (count_ == 0) clear(pool);
  }
  void clear(BlockPool& pool) {
    if (slots_ != nullptr) pool.give(slots_, shift_);
    *this = PooledRing{};
  }

 private:
  static constexpr std::uint32_t kCountMask = (1U << 27U) - 1;
  // Four elements, so that a short queue does not grow in steps.
  static constexpr unsigned kFirstShift =
      std::bit_width(std::max(4 * sizeof(T), std::size_t{1} << BlockPool::kLeastShift) - 1);

  [[nodiscard]] std::size_t capacity() const { return (std::size_t{1} << shift_) / sizeof(T); }
  [[nodiscard]] std::size_t place_of(std::size_t index) const {
    const std::size_t place = head_ + index;
    return place < capacity() ? place : place - capacity();
  }
  void grow(BlockPool& pool) {
    PooledRing larger;
    larger.shift_ = (slots_ == nullptr ? kFirstShift : shift_ + 1U) & 31U;
    larger.slots_ = static_cast<T*>(pool.take(larger.shift_));
    PLNET_CHECK(count_ == 0 || slots_ != nullptr, "what is counted lies somewhere");
    for (std::size_t i = 0; i < count_; ++i)
      ::new (&larger.slots_[i]) T(slots_[place_of(i)]);
    larger.count_ = count_;
    if (slots_ != nullptr) pool.give(slots_, shift_);
    *this = larger;
  }

  T* slots_ = nullptr;
  std::uint32_t head_ = 0;
  std::uint32_t count_ : 27 = 0;
  std::uint32_t shift_ : 5 = 0;
};

}  // namespace plnet::drivers
