// SPDX-License-Identifier: BSD-3-Clause
// Some bytes in one block of the simulation's pool; an empty one costs nothing. The owner clears
// them before its end: they do not know their pool. A copy names the same bytes.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "drivers/net/sim/block_pool.hpp"
#include "lib/base/check.hpp"

namespace plnet::drivers {

class PooledBytes {
 public:
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::span<const std::byte> view() const { return {block_, size_}; }

  // Replaces the bytes, of which `bytes` may be a part. Fills up to `size` with zeros.
  void assign(BlockPool& pool, std::span<const std::byte> bytes, std::size_t size) {
    PLNET_DEBUG_CHECK(bytes.size() <= size, "the rest is zero");
    PooledBytes fresh;
    if (size > 0) {
      fresh.shift_ = static_cast<std::uint32_t>(
          std::bit_width(std::max(size, std::size_t{1} << BlockPool::kLeastShift) - 1));
      fresh.size_ = static_cast<std::uint32_t>(size);
      fresh.block_ = static_cast<std::byte*>(pool.take(fresh.shift_));
      if (!bytes.empty()) std::memcpy(fresh.block_, bytes.data(), bytes.size());
      std::memset(fresh.block_ + bytes.size(), 0, size - bytes.size());
    }
    clear(pool);
    *this = fresh;
  }
  void assign(BlockPool& pool, std::span<const std::byte> bytes) {
    assign(pool, bytes, bytes.size());
  }
  void clear(BlockPool& pool) {
    if (block_ != nullptr) pool.give(block_, shift_);
    *this = PooledBytes{};
  }
  // Moves the bytes to the caller, which clears them.
  [[nodiscard]] PooledBytes take() {
    const PooledBytes taken = *this;
    *this = PooledBytes{};
    return taken;
  }

 private:
  std::byte* block_ = nullptr;
  std::uint32_t size_ = 0;
  std::uint32_t shift_ = 0;
};

}  // namespace plnet::drivers
