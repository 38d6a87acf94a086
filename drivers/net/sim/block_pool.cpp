// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/sim/block_pool.hpp"

#include <algorithm>

namespace plnet::drivers {

void BlockPool::reserve(std::size_t bytes) {
  constexpr std::size_t kLine = std::size_t{1} << kLeastShift;
  if (fresh_bytes_ < bytes) add_slab((bytes + kLine - 1) / kLine * kLine);
}

// The rest of the previous slab becomes small blocks.
void BlockPool::add_slab(std::size_t bytes) {
  while (fresh_bytes_ > 0) {
    unsigned shift = kMostShift;
    while ((std::size_t{1} << shift) > fresh_bytes_)
      --shift;
    give(fresh_, shift);
    fresh_ += std::size_t{1} << shift;
    fresh_bytes_ -= std::size_t{1} << shift;
  }
  fresh_ = static_cast<std::byte*>(::operator new(bytes, std::align_val_t{1U << kLeastShift}));
  slabs_.emplace_back(fresh_);
  fresh_bytes_ = bytes;
  made_ += bytes;
}

void* BlockPool::carve(unsigned shift) {
  PLNET_CHECK(shift >= kLeastShift && shift <= kMostShift, "no block has that size");
  const std::size_t bytes = std::size_t{1} << shift;
  if (fresh_bytes_ < bytes) add_slab(std::max(bytes, std::clamp(made_, kFirstSlab, kLargestSlab)));
  void* const block = fresh_;
  fresh_ += bytes;
  fresh_bytes_ -= bytes;
  return block;
}

}  // namespace plnet::drivers
