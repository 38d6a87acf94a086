// SPDX-License-Identifier: BSD-3-Clause
// A fixed number of objects made at start and lent out again and again: what bounds the memory of
// everything on the message path. One owner (a shard); what it lends comes home over a ring and is
// given back by the owner.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "lib/base/check.hpp"

namespace plnet {

// Last in, first out: the object given back most recently is the one still in the cache. Objects
// are constructed once and not reset in between. Every object has a dense index, for tables beside
// the pool and for handles on the wire.
template <class T>
class Pool {
 public:
  using Index = std::uint32_t;

  // Start-up only; the last allocation that it makes. T is made by its default constructor.
  explicit Pool(std::size_t capacity)
      : capacity_(checked(capacity)),
        free_count_(capacity_),
        low_water_(capacity_),
        objects_(std::make_unique<T[]>(capacity_)),
        free_(std::make_unique<Index[]>(capacity_)),
        lent_(std::make_unique<bool[]>(capacity_)) {
    // So that the first taken is object 0.
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

  // Owner only. Giving what this pool did not lend, or giving it twice, is a bug of ours.
  void give(T* object) {
    const Index index = index_of(object);
    PLNET_CHECK(lent_[index], "given back to its pool twice");
    lent_[index] = false;
    free_[free_count_++] = index;
  }

  // Of any object of this pool, lent or not.
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
  // Whether the pointer is the start of one of the objects.
  [[nodiscard]] bool owns(const T* object) const { return place_of(object) < capacity_; }
  [[nodiscard]] bool is_lent(Index index) const { return index < capacity_ && lent_[index]; }

  // First ones are lent first, so this is a short walk while few are. The visit may give back what
  // it is called with, and others.
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
  // The fewest that were ever free.
  [[nodiscard]] std::size_t low_water() const { return low_water_; }
  void reset_low_water() { low_water_ = free_count_; }

 private:
  [[nodiscard]] static Index checked(std::size_t capacity) {
    PLNET_CHECK(capacity > 0 && capacity <= UINT32_MAX, "a pool holds 1 to 2^32-1 objects");
    return static_cast<Index>(capacity);
  }
  // The index of an object of this pool; of any other pointer no less than the capacity. A multiple
  // of the size is divided by it exactly when multiplied by the inverse of the size's odd part
  // modulo 2^64 and rotated by its power of two; what is no multiple comes out above 2^64 / size.
  [[nodiscard]] std::uint64_t place_of(const T* object) const {
    const std::uint64_t offset =
        reinterpret_cast<std::uintptr_t>(object) - reinterpret_cast<std::uintptr_t>(objects_.get());
    return std::rotr(offset * kInverse, kTwos);
  }
  static constexpr int kTwos = std::countr_zero(sizeof(T));
  static constexpr std::uint64_t kInverse = [] {
    const std::uint64_t odd = sizeof(T) >> kTwos;
    std::uint64_t inverse = odd;  // right in the lowest three bits
    for (int bits = 3; bits < 64; bits *= 2)
      inverse *= 2 - odd * inverse;
    return inverse;
  }();
  static_assert(sizeof(T) < std::uint64_t{1} << 32, "more than any capacity is left above");

  const Index capacity_;
  Index free_count_;
  Index low_water_;
  const std::unique_ptr<T[]> objects_;
  const std::unique_ptr<Index[]> free_;  // a stack
  const std::unique_ptr<bool[]> lent_;
};

}  // namespace plnet
