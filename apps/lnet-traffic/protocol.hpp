// SPDX-License-Identifier: BSD-3-Clause
// Constants shared by both sides of lnet-traffic. The portals are unused by Lustre.
#pragma once

#include <cstdint>

#include "lib/lnet/api/memory_descriptor.hpp"

namespace plnet::traffic {

inline constexpr lnet::PortalId kPutPortal = 60;
inline constexpr lnet::PortalId kGetPortal = 61;
inline constexpr std::uint32_t kBytesMax = 1U << 20U;  // LNet's largest message
// The key of the data that GETs read: the same on every node.
inline constexpr std::uint64_t kGetKey = 0x6c6e6574;

// The identification in a PUT's header data; the match bits name the run.
struct PutLabel {
  static constexpr unsigned kSequenceBits = 40;
  static constexpr std::uint64_t kSequenceMask = (std::uint64_t{1} << kSequenceBits) - 1;

  std::uint64_t sequence = 0;
  std::uint32_t length = 0;

  [[nodiscard]] std::uint64_t packed() const {
    return std::uint64_t{length} << kSequenceBits | (sequence & kSequenceMask);
  }
  [[nodiscard]] static PutLabel of(std::uint64_t packed) {
    return {packed & kSequenceMask, static_cast<std::uint32_t>(packed >> kSequenceBits)};
  }
};
static_assert(kBytesMax < std::uint64_t{1} << (64 - PutLabel::kSequenceBits));

}  // namespace plnet::traffic
