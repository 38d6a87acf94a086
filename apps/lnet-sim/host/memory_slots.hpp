// SPDX-License-Identifier: BSD-3-Clause
// The payload memory of a node: equal slots, each for one descriptor. A released slot is filled
// with poison and checked before its next use: a change means a write to memory that LNet had
// declared free.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "drivers/net/sim/lazy_memory.hpp"
#include "lib/base/arena.hpp"

namespace plnet::sim {

class MemorySlots {
 public:
  static constexpr std::size_t kFragments = 3;

  // `at`: count * bytes of memory. Every use of a slot has its own poison, derived from `salt`.
  MemorySlots(drivers::LazyMemory& lazy, const ArenaTable& arenas, BufferAddress at,
              std::uint32_t bytes, std::size_t count, std::uint64_t salt);

  // kNone: all are in use.
  [[nodiscard]] std::uint32_t take();
  void give(std::uint32_t slot, bool poison);
  // The result of the check in the last take().
  [[nodiscard]] bool clean() const { return clean_; }

  // The first `length` bytes, in one piece or several.
  [[nodiscard]] std::span<const Fragment> fragments(std::uint32_t slot, std::uint32_t length,
                                                    bool scattered);
  void fill(std::uint32_t slot, std::uint32_t length, const drivers::PatternRun& run);
  // True if the slot has this content at `offset`.
  [[nodiscard]] bool holds(std::uint32_t slot, std::uint32_t offset,
                           const drivers::PatternRun& run) const;

  [[nodiscard]] std::uint32_t bytes() const { return bytes_; }
  [[nodiscard]] std::size_t free_count() const { return free_.size(); }
  [[nodiscard]] std::size_t capacity() const { return slots_.size(); }

  static constexpr std::uint32_t kNone = ~0U;

 private:
  struct Slot {
    std::array<Fragment, kFragments> fragments;
    std::uint64_t poison = 0;  // seed of the pattern; 0: none
  };
  [[nodiscard]] std::span<std::byte> memory(std::uint32_t slot, std::uint32_t offset,
                                            std::uint64_t length) const;

  drivers::LazyMemory& lazy_;
  const ArenaTable& arenas_;
  const BufferAddress at_;
  const std::uint32_t bytes_;
  std::uint64_t next_poison_;
  bool clean_ = true;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
};

}  // namespace plnet::sim
