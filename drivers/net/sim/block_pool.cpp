// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/sim/block_pool.hpp"

#include <algorithm>

namespace plnet::drivers {

void* BlockPool::carve(unsigned shift) {
  PLNET_CHECK(shift >= kLeastShift && shift <= kMostShift, "no block has that size");
  const std::size_t bytes = std::size_t{1} << shift;
  if (fresh_bytes_ < bytes) {
    // What is left becomes blocks of smaller sizes.
    while (fresh_bytes_ > 0) {
      unsigned smaller = shift;
      while ((std::size_t{1} << smaller) > fresh_bytes_)
        --smaller;
      give(fresh_, smaller);
      fresh_ += std::size_t{1} << smaller;
      fresh_bytes_ -= std::size_t{1} << smaller;
    }
    const std::size_t slab = std::max(bytes, std::clamp(made_, kFirstSlab, kLargestSlab));
    fresh_ = static_cast<std::byte*>(::operator new(slab, std::align_val_t{1U << kLeastShift}));
    slabs_.emplace_back(fresh_);
    fresh_bytes_ = slab;
    made_ += slab;
  }
  void* const block = fresh_;
  fresh_ += bytes;
  fresh_bytes_ -= bytes;
  return block;
}

}  // namespace plnet::drivers
