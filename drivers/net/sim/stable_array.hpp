// SPDX-License-Identifier: BSD-3-Clause
// An array that grows by whole slabs: elements are adjacent and never move.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "lib/base/check.hpp"

namespace plnet::drivers {

template <class T, unsigned kSlabShift = 6>
class StableArray {
 public:
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] T& operator[](std::size_t index) {
    return slabs_[index >> kSlabShift][index & kMask];
  }
  [[nodiscard]] const T& operator[](std::size_t index) const {
    return slabs_[index >> kSlabShift][index & kMask];
  }
  void grow() {
    reserve(size_ + 1);
    ++size_;
  }
  // Reserves, so that it may grow to that size without a further allocation.
  void reserve(std::size_t size) {
    while (slabs_.size() << kSlabShift < size)
      slabs_.push_back(std::make_unique<T[]>(kMask + 1));
  }

 private:
  static constexpr std::size_t kMask = (std::size_t{1} << kSlabShift) - 1;

  std::size_t size_ = 0;
  std::vector<std::unique_ptr<T[]>> slabs_;
};

}  // namespace plnet::drivers
