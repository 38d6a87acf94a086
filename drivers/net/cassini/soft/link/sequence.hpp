// SPDX-License-Identifier: BSD-3-Clause
// Numbers of packets within a session: 32 bits that wrap. Two valid numbers are never more than a
// window apart.
#pragma once

#include <cstdint>

namespace plnet::cassini::soft::link {

using Sequence = std::uint32_t;

// The distance from `from` to `to`; negative if `to` is behind.
[[nodiscard]] constexpr std::int32_t distance(Sequence from, Sequence to) {
  return static_cast<std::int32_t>(to - from);
}

}  // namespace plnet::cassini::soft::link
