// SPDX-License-Identifier: BSD-3-Clause
// The checksum of V2 messages: CRC-32 (reflected, 0xEDB88320) that begins with all ones and is not
// inverted at the end, so the complement of zlib's. Covers the frame with its checksum 0, the LNet
// header, the payload.
// Checked against lustre-release lnet/klnds/socklnd/socklnd.h: ksocknal_csum().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace plnet::socklnd {

inline constexpr std::uint32_t kChecksumStart = 0xffffffff;

// Byte by byte: checksums are off by default in all releases, so this is not hot.
[[nodiscard]] constexpr std::uint32_t add_to_checksum(std::uint32_t checksum,
                                                      std::span<const std::byte> bytes) {
  constexpr auto kTable = [] {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t i = 0; i < table.size(); ++i) {
      std::uint32_t value = i;
      for (unsigned bit = 0; bit < 8; ++bit)
        value = value >> 1 ^ ((value & 1) != 0 ? 0xedb88320 : 0);
      table[i] = value;
    }
    return table;
  }();
  for (const std::byte byte : bytes) {
    const auto index = (checksum ^ std::to_integer<std::uint32_t>(byte)) & 0xff;
    checksum = checksum >> 8 ^ kTable[index];
  }
  return checksum;
}

}  // namespace plnet::socklnd
