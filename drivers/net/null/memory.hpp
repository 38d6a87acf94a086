// SPDX-License-Identifier: BSD-3-Clause
// Payload bytes of the null driver: a pattern, or none at all. Benchmarks do not touch memory;
// tests hand in the arenas and check the bytes that arrived.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "lib/base/arena.hpp"
#include "lib/base/check.hpp"
#include "lib/lnet/api/payload.hpp"

namespace plnet::drivers {

class NullMemory {
 public:
  // Null: payloads stay as they are.
  explicit NullMemory(const ArenaTable* arenas) : arenas_(arenas) {}

  // Byte `position` of each payload that this driver makes.
  [[nodiscard]] static std::byte pattern(std::uint32_t position) {
    return static_cast<std::byte>((position * 7 + 1) & 0xff);
  }

  // Writes the first `length` bytes of the pattern to `target`.
  void fill(const lnet::Payload& target, std::uint32_t length) const {
    PLNET_CHECK(length <= target.length, "more bytes wanted than the target holds");
    if (arenas_ != nullptr && length != 0) fill_pieces(target, length);
  }
  // Writes these bytes to `target`.
  void write(const lnet::Payload& target, std::span<const std::byte> bytes) const;

 private:
  void fill_pieces(const lnet::Payload& target, std::uint32_t length) const;

  const ArenaTable* arenas_;
};

}  // namespace plnet::drivers
