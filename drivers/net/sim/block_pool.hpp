// SPDX-License-Identifier: BSD-3-Clause
// Memory for data in flight, one pool for a whole simulation: blocks of powers of two, carved from
// slabs and never returned to the system. The block returned last is taken first, so data in flight
// stays in the cache, and after the peak of a simulation nothing is allocated.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "lib/base/check.hpp"

namespace plnet::drivers {

class BlockPool {
 public:
  static constexpr unsigned kLeastShift = 6;  // a cache line
  static constexpr unsigned kMostShift = 24;  // 16 MiB: a queue of more than that is a bug

  BlockPool() = default;
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  // 2^shift bytes, aligned to a cache line, not initialised.
  [[nodiscard]] void* take(unsigned shift) {
    PLNET_DEBUG_CHECK(shift >= kLeastShift && shift <= kMostShift, "no block has that size");
    Free*& free = free_[shift - kLeastShift];
    if (free == nullptr) return carve(shift);
    Free* const block = free;
    free = block->next;
    return block;
  }
  void give(void* block, unsigned shift) {
    PLNET_DEBUG_CHECK(block != nullptr && shift >= kLeastShift && shift <= kMostShift,
                      "a block returns with its size");
    Free*& free = free_[shift - kLeastShift];
    free = ::new (block) Free{free};
  }
  // Reserves blocks of that many bytes, so that nothing is allocated before they are in use.
  void reserve(std::size_t bytes);
  [[nodiscard]] std::size_t bytes_made() const { return made_; }

 private:
  struct Free {
    Free* next;
  };
  struct Deleter {
    void operator()(std::byte* slab) const {
      ::operator delete(slab, std::align_val_t{1U << kLeastShift});
    }
  };
  static constexpr std::size_t kFirstSlab =
      std::size_t{16} * 1024;  // small tests are cheap to set up
  static constexpr std::size_t kLargestSlab = std::size_t{1024} * 1024;

  [[nodiscard]] void* carve(unsigned shift);
  void add_slab(std::size_t bytes);

  std::array<Free*, kMostShift - kLeastShift + 1> free_{};
  std::byte* fresh_ = nullptr;  // in the slab that is being carved
  std::size_t fresh_bytes_ = 0;
  std::size_t made_ = 0;
  std::vector<std::unique_ptr<std::byte, Deleter>> slabs_;
};

}  // namespace plnet::drivers
