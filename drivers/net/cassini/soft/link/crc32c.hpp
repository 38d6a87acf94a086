// SPDX-License-Identifier: BSD-3-Clause
// CRC32C (Castagnoli), as in iSCSI: protects a frame from end to end, where Ethernet's own check
// ends at the first switch. Uses the CPU's instruction if available.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace plnet::cassini::soft::link {

inline constexpr std::uint32_t kCrcStart = 0xffffffff;

// Continues a running value; begins with kCrcStart. The inverse of the last value is the CRC32C.
[[nodiscard]] std::uint32_t crc32c(std::uint32_t running, std::span<const std::byte> bytes);
// The same by table, on any CPU.
[[nodiscard]] std::uint32_t crc32c_by_table(std::uint32_t running,
                                            std::span<const std::byte> bytes);

}  // namespace plnet::cassini::soft::link
