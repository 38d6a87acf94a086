// SPDX-License-Identifier: BSD-3-Clause
// What comes back with a completion: what it was, of which record, from which slot.
#pragma once

#include <cstddef>
#include <cstdint>

namespace plnet::sim {

enum class CookieKind : std::uint8_t {
  kReceive,    // a posted receive
  kFrame,      // a frame whose record has its own end
  kImmediate,  // a request that is over when it is sent
  kWrites,     // the writes of a PUT
  kReply,      // the writes for a GET
};

[[nodiscard]] constexpr std::uint64_t cookie_of(CookieKind kind, std::uint32_t record,
                                                std::size_t slot) {
  return static_cast<std::uint64_t>(kind) << 32 | record << 8 | slot;
}
[[nodiscard]] constexpr CookieKind kind_of(std::uint64_t cookie) {
  return static_cast<CookieKind>(cookie >> 32);
}
[[nodiscard]] constexpr std::uint32_t record_of(std::uint64_t cookie) {
  return static_cast<std::uint32_t>(cookie >> 8 & 0xffffff);
}
[[nodiscard]] constexpr std::uint8_t slot_of(std::uint64_t cookie) {
  return static_cast<std::uint8_t>(cookie);
}

}  // namespace plnet::sim
