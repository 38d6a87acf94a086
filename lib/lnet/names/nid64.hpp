// SPDX-License-Identifier: BSD-3-Clause
// The 64-bit form of a NID (`lnet_nid_t`) and its conversion from and to the extended form.
// Checked against lustre-release lnet/include/uapi/linux/lnet/lnet-types.h: lnet_nid4_to_nid(),
// lnet_nid_to_nid4().
#pragma once

#include <cstdint>

#include "lib/lnet/names/nid.hpp"

namespace plnet::lnet {

inline constexpr std::uint64_t kNid64Any = ~0ULL;
inline constexpr std::uint64_t kNid64Loopback = 0x0009'0000'0000'0000;

struct Nid64 {
  std::uint64_t value = 0;
  bool lossy = false;  // the NID was large: only the first four bytes of its address remain
};

// A NID of type 0xff becomes the wildcard, with any other bytes.
[[nodiscard]] constexpr Nid64 to_nid64(const Nid& nid) {
  if (nid.is_any()) return {.value = kNid64Any, .lossy = false};
  return {.value = static_cast<std::uint64_t>(nid.net()) << 32 | nid.address32(),
          .lossy = nid.is_large()};
}

// Drops the top 8 bits: they are 0 in a NID, and the kernel ignores them too. The type 0xff yields
// the wildcard here too.
[[nodiscard]] constexpr Nid from_nid64(std::uint64_t value) {
  const auto type = static_cast<std::uint8_t>(value >> 48);
  if (type == Nid::kAnyType) return Nid::any();
  return Nid::of(type, static_cast<std::uint16_t>(value >> 32), static_cast<std::uint32_t>(value));
}

}  // namespace plnet::lnet
