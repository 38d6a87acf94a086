// SPDX-License-Identifier: BSD-3-Clause
// Memory in the NIC's terms: arenas registered once, and own blocks for memory in no arena.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "drivers/net/cassini/backend.hpp"
#include "lib/base/arena.hpp"
#include "lib/lnet/api/payload.hpp"

namespace plnet::cassini {

struct DeviceAddress {
  std::uint64_t iova = 0;
  unsigned lac = 0;
};

// Zeroed pages of our own, for queues and bounce blocks.
class PageMemory {
 public:
  PageMemory() = default;
  explicit PageMemory(std::size_t bytes);
  ~PageMemory();
  PageMemory(PageMemory&& from) noexcept;
  PageMemory& operator=(PageMemory&& from) noexcept;
  PageMemory(const PageMemory&) = delete;
  PageMemory& operator=(const PageMemory&) = delete;

  // Empty if allocation failed.
  [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }
  // The pages outlive this object: the device may still write to them.
  void abandon() { bytes_ = {}; }

 private:
  std::span<std::byte> bytes_;
};
// Rounded up to whole pages.
[[nodiscard]] std::size_t page_bytes(std::size_t bytes);

// Device addresses of the arenas. An arena that could not be registered is bounced.
class ArenaMap {
 public:
  // Start-up only.
  void set(ArenaId arena, const Mapping& mapping);
  [[nodiscard]] std::optional<DeviceAddress> find(const BufferAddress& at) const {
    if (at.arena >= maps_.size() || maps_[at.arena].length == 0) return std::nullopt;
    const Mapping& map = maps_[at.arena];
    return DeviceAddress{.iova = map.iova + at.offset, .lac = map.lac};
  }
  // For a payload that is contiguous for the device. Nothing: it must be bounced.
  [[nodiscard]] std::optional<DeviceAddress> contiguous(const lnet::Payload& payload) const;

 private:
  std::array<Mapping, kArenasMax> maps_{};
};

void gather(const ArenaTable& arenas, const lnet::Payload& from, std::byte* to);
void scatter(const ArenaTable& arenas, std::span<const std::byte> from, const lnet::Payload& to);

// Blocks of registered memory, all of one size, lent out last in, first out.
class BlockPool {
 public:
  static constexpr std::uint32_t kNone = ~0U;

  BlockPool(std::span<std::byte> memory, std::uint32_t block_bytes);
  [[nodiscard]] std::uint32_t take();  // kNone: all are lent
  void give(std::uint32_t block);
  [[nodiscard]] std::span<std::byte> bytes(std::uint32_t block) const;
  [[nodiscard]] std::uint32_t block_bytes() const { return block_bytes_; }
  [[nodiscard]] std::size_t free_count() const { return free_.size(); }
  [[nodiscard]] std::size_t block_count() const {
    return block_bytes_ == 0 ? 0 : memory_.size() / block_bytes_;
  }

 private:
  std::span<std::byte> memory_;
  std::uint32_t block_bytes_;
  std::vector<std::uint32_t> free_;  // never grows beyond its initial size
};

}  // namespace plnet::cassini
