// SPDX-License-Identifier: BSD-3-Clause
// Generated payload: an endless string of bytes for each number. Any part of it can be written, or
// recognised, without the rest. Two different parts differ in nearly each byte, so a payload that
// was cut, shifted, swapped or overwritten is recognised.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace plnet::drivers {

// A part of pattern `seed`, from byte `offset` on.
struct PatternRun {
  std::uint64_t seed = 0;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;

  // The part behind the first `count` bytes.
  [[nodiscard]] PatternRun behind(std::uint64_t count) const {
    return {seed, offset + count, length - count};
  }
  [[nodiscard]] PatternRun first(std::uint64_t count) const { return {seed, offset, count}; }
  [[nodiscard]] bool continued_by(const PatternRun& other) const {
    return seed == other.seed && offset + length == other.offset;
  }
};

// Writes the first bytes of the run, as many as `out` has.
void write_pattern(const PatternRun& run, std::span<std::byte> out);
// The place of the first wrong byte; nothing if all are those of the run.
[[nodiscard]] std::optional<std::uint64_t> first_wrong(const PatternRun& run,
                                                       std::span<const std::byte> bytes);

}  // namespace plnet::drivers
