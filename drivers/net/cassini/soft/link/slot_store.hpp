// SPDX-License-Identifier: BSD-3-Clause
// Slots for packets, all of one size, allocated at start.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "lib/base/check.hpp"

namespace plnet::cassini::soft::link {

using Slot = std::uint32_t;
inline constexpr Slot kNoSlot = UINT32_MAX;

class SlotStore {
 public:
  SlotStore(unsigned slots, std::size_t slot_bytes)
      : slots_(slots),
        slot_bytes_(slot_bytes),
        bytes_(std::make_unique_for_overwrite<std::byte[]>(slots * slot_bytes)),
        free_(std::make_unique<Slot[]>(slots)),
        free_count_(slots) {
    PLNET_CHECK(slots > 0 && slot_bytes > 0, "a store holds something");
    for (Slot i = 0; i < slots; ++i)
      free_[i] = slots - 1 - i;
  }

  // kNoSlot when none is free.
  [[nodiscard]] Slot take() { return free_count_ == 0 ? kNoSlot : free_[--free_count_]; }
  void give(Slot slot) {
    PLNET_CHECK(slot < slots_ && free_count_ < slots_, "slot returned to its store twice");
    free_[free_count_++] = slot;
  }
  [[nodiscard]] std::span<std::byte> at(Slot slot) {
    PLNET_CHECK(slot < slots_, "no such place in the store");
    return {bytes_.get() + slot * slot_bytes_, slot_bytes_};
  }
  [[nodiscard]] unsigned free_count() const { return free_count_; }

 private:
  const unsigned slots_;
  const std::size_t slot_bytes_;
  const std::unique_ptr<std::byte[]> bytes_;
  const std::unique_ptr<Slot[]> free_;  // a stack
  unsigned free_count_;
};

}  // namespace plnet::cassini::soft::link
