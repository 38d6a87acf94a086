// SPDX-License-Identifier: BSD-3-Clause
// The names of connections and listeners in the readiness set: index and generation, so that an
// event for a closed one is told from one for its successor.
#pragma once

#include <cstdint>

#include "lib/socklnd/byte_stream.hpp"

namespace plnet::drivers {

struct TcpToken {
  static constexpr std::uint32_t kListenerBit = 1U << 31U;

  static std::uint64_t of_stream(socklnd::StreamId id) {
    return std::uint64_t{id.generation} << 32U | id.index;
  }
  static std::uint64_t of_listener(std::uint32_t index, std::uint32_t generation) {
    return of_stream({index | kListenerBit, generation});
  }
  static bool is_listener(std::uint64_t token) { return (token & kListenerBit) != 0; }
  // The index of either kind.
  static socklnd::StreamId id(std::uint64_t token) {
    return {static_cast<std::uint32_t>(token) & ~kListenerBit,
            static_cast<std::uint32_t>(token >> 32U)};
  }
};

}  // namespace plnet::drivers
