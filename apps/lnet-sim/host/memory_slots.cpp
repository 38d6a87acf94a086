// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-sim/host/memory_slots.hpp"

namespace plnet::sim {

using drivers::PatternRun;

MemorySlots::MemorySlots(drivers::LazyMemory& lazy, const ArenaTable& arenas, BufferAddress at,
                         std::uint32_t bytes, std::size_t count, std::uint64_t salt)
    : lazy_(lazy), arenas_(arenas), at_(at), bytes_(bytes), next_poison_(salt | 1), slots_(count) {
  free_.reserve(count);
  for (std::size_t i = count; i-- > 0;)
    free_.push_back(static_cast<std::uint32_t>(i));
}

std::span<std::byte> MemorySlots::memory(std::uint32_t slot, std::uint32_t offset,
                                         std::uint64_t length) const {
  const std::uint64_t begin = at_.offset + std::uint64_t{slot} * bytes_ + offset;
  return arenas_.bytes({{at_.arena, begin}, static_cast<std::uint32_t>(length)});
}

std::uint32_t MemorySlots::take() {
  if (free_.empty()) return kNone;
  const std::uint32_t slot = free_.back();
  free_.pop_back();
  const std::uint64_t poison = slots_[slot].poison;
  clean_ = poison == 0 || holds(slot, 0, {poison, 0, bytes_});
  slots_[slot].poison = 0;
  return slot;
}

void MemorySlots::give(std::uint32_t slot, bool poison) {
  if (poison) {
    slots_[slot].poison = next_poison_ += 2;
    lazy_.fill(memory(slot, 0, bytes_), {slots_[slot].poison, 0, bytes_});
  }
  free_.push_back(slot);
}

std::span<const Fragment> MemorySlots::fragments(std::uint32_t slot, std::uint32_t length,
                                                 bool scattered) {
  auto& pieces = slots_[slot].fragments;
  std::uint64_t at = at_.offset + std::uint64_t{slot} * bytes_;
  if (!scattered || length < 300) {
    pieces[0] = {{at_.arena, at}, length};
    return std::span(pieces).first(1);
  }
  // Odd lengths, so that source and sink are cut at different places.
  const std::array<std::uint32_t, 2> cuts{length / 5 | 1, length / 3 | 1};
  std::uint32_t left = length;
  for (std::size_t i = 0; i < kFragments; ++i) {
    const std::uint32_t here = i < cuts.size() ? cuts[i] : left;
    pieces[i] = {{at_.arena, at}, here};
    at += here;
    left -= here;
  }
  return pieces;
}

void MemorySlots::fill(std::uint32_t slot, std::uint32_t length, const PatternRun& run) {
  if (length > 0) lazy_.fill(memory(slot, 0, length), {run.seed, run.offset, length});
}

bool MemorySlots::holds(std::uint32_t slot, std::uint32_t offset, const PatternRun& run) const {
  if (run.length == 0) return true;
  return !lazy_.first_wrong(memory(slot, offset, run.length), run).has_value();
}

}  // namespace plnet::sim
