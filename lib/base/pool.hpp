// SPDX-License-Identifier: BSD-3-Clause
// A fixed number of objects, made at start and lent repeatedly: the bound on memory of the message
// path. One owner (a shard); borrowers return objects over a ring, and the owner gives them back to
// the pool.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "lib/base/check.hpp"

namespace plnet {

// Last in, first out: the object returned most recently is the one still in the cache. Objects are
// constructed once and not reset in between. Every object has a dense index, for tables beside the
// pool and for handles on the wire.
template <class T>
class Pool {
 public:
  using Index = std::uint32_t;

  // Start-up only; the pool allocates nothing later. T is default-constructed.
  explicit Pool(std::size_t capacity)
      : capacity_(checked(capacity)),
        free_count_(capacity_),
        low_water_(capacity_),
        objects_(std::make_unique<T[]>(capacity_)),
        free_(std::make_unique<Index[]>(capacity_)),
        lent_(std::make_unique<bool[]>(capacity_)) {
    // The first object taken is object 0.
    for (Index i = 0; i < capacity_; ++i)
      free_[i] = capacity_ - 1 - i;
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // An object, or nullptr when all are lent. Owner only.
  [[nodiscard]] T* take() {
    if (free_count_ == 0) return nullptr;
    const Index index = free_[--free_count_];
    if (free_count_ < low_water_) low_water_ = free_count_;
    lent_[index] = true;
    return &objects_[index];
  }

  // Owner only. Returning a foreign object, or one twice, is a bug of ours.
  void give(T* object) {
    const Index index = index_of(object);
    PLNET_CHECK(lent_[index], "object returned to its pool twice");
    lent_[index] = false;
    free_[free_count_++] = index;
  }

  // For any object of this pool, lent or not.
  [[nodiscard]] Index index_of(const T* object) const {
    const std::uint64_t place = place_of(object);
    PLNET_CHECK(place < capacity_, "not an object of this pool");
    return static_cast<Index>(place);
  }
  [[nodiscard]] T& at(Index index) {
    PLNET_CHECK(index < capacity_, "no such object in the pool");
    return objects_[index];
  }
  [[nodiscard]] const T& at(Index index) const {
    PLNET_CHECK(index < capacity_, "no such object in the pool");
    return objects_[index];
  }
  // True if the pointer is the start of an object of this pool.
  [[nodiscard]] bool owns(const T* object) const { return place_of(object) < capacity_; }
  [[nodiscard]] bool is_lent(Index index) const { return index < capacity_ && lent_[index]; }

  // The walk is short while few objects are lent, since the first ones are lent first. The visit
  // may return the object that it is called with, and others.
  template <class Visit>
  void for_each_lent(Visit&& visit) {
    std::size_t left = capacity_ - free_count_;
    for (Index i = 0; left > 0 && i < capacity_; ++i) {
      if (!lent_[i]) continue;
      --left;
      visit(objects_[i]);
    }
  }

  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  [[nodiscard]] std::size_t free_count() const { return free_count_; }
  // The least number of free objects so far.
  [[nodiscard]] std::size_t low_water() const { return low_water_; }
  void reset_low_water() { low_water_ = free_count_; }

 private:
  [[nodiscard]] static Index checked(std::size_t capacity) {
    PLNET_CHECK(capacity > 0 && capacity <= UINT32_MAX, "a pool holds 1 to 2^32-1 objects");
    return static_cast<Index>(capacity);
  }
  // The index of an object of this pool; for any other pointer a number of at least the capacity.
  // Multiplying by the inverse of the size's odd part modulo 2^64, and rotating by its power of
  // two, divides multiples of the size exactly; all other offsets give results above 2^64 / size.
  [[nodiscard]] std::uint64_t place_of(const T* object) const {
    const std::uint64_t offset =
        reinterpret_cast<std::uintptr_t>(object) - reinterpret_cast<std::uintptr_t>(objects_.get());
    return std::rotr(offset * kInverse, kTwos);
  }
  static constexpr int kTwos = std::countr_zero(sizeof(T));
  static constexpr std::uint64_t kInverse = [] {
    const std::uint64_t odd = sizeof(T) >> kTwos;
    std::uint64_t inverse = odd;  // correct in the lowest three bits
    for (int bits = 3; bits < 64; bits *= 2)
      inverse *= 2 - odd * inverse;
    return inverse;
  }();
  static_assert(sizeof(T) < std::uint64_t{1} << 32,
                "indices of foreign pointers exceed every capacity");

  const Index capacity_;
  Index free_count_;
  Index low_water_;
  const std::unique_ptr<T[]> objects_;
  const std::unique_ptr<Index[]> free_;  // a stack
  const std::unique_ptr<bool[]> lent_;
};

}  // namespace plnet
