// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/cassini/memory.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <sys/mman.h>

#include "lib/base/check.hpp"

namespace plnet::cassini {

namespace {
constexpr std::size_t kPageBytes = 4096;
}  // namespace

std::size_t page_bytes(std::size_t bytes) {
  return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

PageMemory::PageMemory(std::size_t bytes) {
  const std::size_t size = page_bytes(bytes);
  void* const at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return;
  // Saves translations in the device if the kernel has huge pages; nothing depends on it.
  (void)madvise(at, size, MADV_HUGEPAGE);
  bytes_ = {static_cast<std::byte*>(at), size};
}

PageMemory::~PageMemory() {
  if (!bytes_.empty()) (void)munmap(bytes_.data(), bytes_.size());
}

PageMemory::PageMemory(PageMemory&& from) noexcept : bytes_(std::exchange(from.bytes_, {})) {}

PageMemory& PageMemory::operator=(PageMemory&& from) noexcept {
  std::swap(bytes_, from.bytes_);
  return *this;
}

void ArenaMap::set(ArenaId arena, const Mapping& mapping) {
  PLNET_CHECK(arena < maps_.size(), "an arena of the table");
  maps_[arena] = mapping;
}

std::optional<DeviceAddress> ArenaMap::contiguous(const lnet::Payload& payload) const {
  std::optional<DeviceAddress> first;
  BufferAddress next;
  bool whole = true;
  lnet::for_each_piece(payload, [&](const Fragment& piece) {
    if (!first) {
      first = find(piece.at);
      whole = first.has_value();
      if (!whole) first = DeviceAddress{};
    } else if (piece.at != next) {
      whole = false;
    }
    next = {piece.at.arena, piece.at.offset + piece.length};
  });
  return whole ? first : std::nullopt;
}

void gather(const ArenaTable& arenas, const lnet::Payload& from, std::byte* to) {
  lnet::for_each_piece(from, [&](const Fragment& piece) {
    std::memcpy(to, arenas.bytes(piece).data(), piece.length);
    to += piece.length;
  });
}

void scatter(const ArenaTable& arenas, std::span<const std::byte> from, const lnet::Payload& to) {
  lnet::Payload sink = to;
  sink.length = std::min(sink.length, static_cast<std::uint32_t>(from.size()));
  lnet::for_each_piece(sink, [&](const Fragment& piece) {
    std::memcpy(arenas.bytes(piece).data(), from.data(), piece.length);
    from = from.subspan(piece.length);
  });
}

BlockPool::BlockPool(std::span<std::byte> memory, std::uint32_t block_bytes)
    : memory_(memory), block_bytes_(block_bytes) {
  const auto count = block_bytes == 0 ? 0 : static_cast<std::uint32_t>(memory.size() / block_bytes);
  free_.reserve(count);
  for (std::uint32_t i = count; i-- > 0;)
    free_.push_back(i);
}

std::uint32_t BlockPool::take() {
  if (free_.empty()) return kNone;
  const std::uint32_t block = free_.back();
  free_.pop_back();
  return block;
}

void BlockPool::give(std::uint32_t block) {
  PLNET_CHECK(free_.size() < free_.capacity(), "more blocks are returned than were lent");
  PLNET_CHECK(std::size_t{block} * block_bytes_ < memory_.size(), "a block of this pool");
  free_.push_back(block);
}

std::span<std::byte> BlockPool::bytes(std::uint32_t block) const {
  PLNET_DEBUG_CHECK((std::size_t{block} + 1) * block_bytes_ <= memory_.size(),
                    "a block of this pool");
  return memory_.subspan(std::size_t{block} * block_bytes_, block_bytes_);
}

}  // namespace plnet::cassini
