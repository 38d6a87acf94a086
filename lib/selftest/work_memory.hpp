// SPDX-License-Identifier: BSD-3-Clause
// Memory that the network can access, with its name for the network. Allocated at start and divided
// there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "lib/base/arena.hpp"
#include "lib/base/cache_line.hpp"
#include "lib/base/check.hpp"
#include "lib/selftest/srpc_wire.hpp"

namespace plnet::selftest {

// A message occupies cache lines of its own.
inline constexpr std::size_t kMessageSlotBytes =
    (kMessageBytes + kCacheLine - 1) / kCacheLine * kCacheLine;

struct WorkMemory {
  BufferAddress at;
  std::span<std::byte> bytes;

  // Takes `length` bytes, rounded up to cache lines, off the front.
  [[nodiscard]] WorkMemory split(std::size_t length) {
    const std::size_t taken = (length + kCacheLine - 1) / kCacheLine * kCacheLine;
    PLNET_CHECK(taken <= bytes.size(), "the memory for selftest is too small");
    const WorkMemory front{at, bytes.first(length)};
    at.offset += taken;
    bytes = bytes.subspan(taken);
    return front;
  }
  [[nodiscard]] Fragment fragment() const { return {at, static_cast<std::uint32_t>(bytes.size())}; }
};

// Room for one message.
struct MessageSlot {
  Fragment fragment;
  std::byte* bytes = nullptr;

  void take_from(WorkMemory& memory) {
    const WorkMemory front = memory.split(kMessageBytes);
    fragment = front.fragment();
    bytes = front.bytes.data();
  }
  [[nodiscard]] std::span<std::byte, kMessageBytes> span() const {
    return std::span<std::byte, kMessageBytes>(bytes, kMessageBytes);
  }
};

}  // namespace plnet::selftest
