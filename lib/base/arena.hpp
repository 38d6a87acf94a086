// SPDX-License-Identifier: BSD-3-Clause
// Memory that devices may reach: a few large regions, each registered once with every device at
// start. Buffers are named {arena, offset}, so that each device finds its own key for them by
// index.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "lib/base/check.hpp"
#include "lib/base/result.hpp"

namespace plnet {

using ArenaId = std::uint16_t;
inline constexpr std::size_t kArenasMax = 64;  // one per NUMA node and page size, with reserve
inline constexpr ArenaId kNoArena = 0xffff;    // no device has registered this memory: use a bounce
                                               // buffer
inline constexpr int kAnyNumaNode = -1;

struct BufferAddress {
  ArenaId arena = kNoArena;
  std::uint64_t offset = 0;

  friend bool operator==(const BufferAddress&, const BufferAddress&) = default;
};

// One contiguous piece of a buffer.
struct Fragment {
  BufferAddress at;
  std::uint32_t length = 0;
};

struct Arena {
  std::byte* base = nullptr;
  std::uint64_t size = 0;
  std::uint64_t page_size = 4096;
  int numa_node = kAnyNumaNode;
  bool taken_when_used = false;  // address space that is mostly never touched: register it in parts
  // Memory of another owner, of which parts may vanish or not exist: devices register only the
  // parts that they reach. With the whole address space as the arena, every pointer has a buffer
  // address.
  bool mapped_on_demand = false;
};

// The registered arenas. Filled at start, read-only afterwards: readers need no synchronisation.
class ArenaTable {
 public:
  // Start-up only.
  [[nodiscard]] Result<ArenaId> add(const Arena& arena);

  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] const Arena& arena(ArenaId id) const {
    PLNET_CHECK(id < count_, "no such arena");
    return arenas_[id];
  }

  // The bytes that a fragment names. A fragment outside its arena is a bug of ours.
  [[nodiscard]] std::span<std::byte> bytes(const Fragment& fragment) const {
    const Arena& home = arena(fragment.at.arena);
    PLNET_CHECK(
        fragment.at.offset <= home.size && fragment.length <= home.size - fragment.at.offset,
        "fragment reaches past its arena");
    return {home.base + fragment.at.offset, fragment.length};
  }

  // The buffer address of a pointer; arena kNoArena if it lies in none. A linear search through a
  // handful of arenas.
  [[nodiscard]] BufferAddress locate(const void* pointer) const;

 private:
  std::array<Arena, kArenasMax> arenas_{};
  std::size_t count_ = 0;
};

}  // namespace plnet
