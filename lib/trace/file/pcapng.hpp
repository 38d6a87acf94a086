// SPDX-License-Identifier: BSD-3-Clause
// Numbers of the pcapng format (draft-ietf-opsawg-pcapng) that its reader and writer share.
#pragma once

#include <cstdint>

namespace plnet::trace::pcapng {

inline constexpr std::uint32_t kSection = 0x0a0d0d0a;
inline constexpr std::uint32_t kSectionMagic = 0x1a2b3c4d;
inline constexpr std::uint32_t kInterface = 1;
inline constexpr std::uint32_t kSimplePacket = 3;
inline constexpr std::uint32_t kEnhancedPacket = 6;

inline constexpr std::uint16_t kOptionEnd = 0;
inline constexpr std::uint16_t kOptionComment = 1;
inline constexpr std::uint16_t kOptionInterfaceName = 2;
inline constexpr std::uint16_t kOptionPacketFlags = 2;
inline constexpr std::uint16_t kOptionApplication = 4;
inline constexpr std::uint16_t kOptionResolution = 9;
inline constexpr std::uint16_t kOptionTimeOffset = 14;

inline constexpr std::uint32_t kInbound = 1;  // in the flags of a packet
inline constexpr std::uint32_t kOutbound = 2;

}  // namespace plnet::trace::pcapng
