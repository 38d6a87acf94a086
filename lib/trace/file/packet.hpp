// SPDX-License-Identifier: BSD-3-Clause
// One packet of a capture file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "lib/trace/record/record.hpp"

namespace plnet::trace {

// Link types of capture files (https://www.tcpdump.org/linktypes.html).
enum class LinkType : std::uint16_t {
  kNull = 0,
  kEthernet = 1,
  kRaw = 101,
  kLinuxCooked = 113,
  kUpperPdu = 252,
  kLinuxCooked2 = 276,
};

struct Packet {
  std::uint64_t time_ns = 0;
  LinkType link = LinkType::kEthernet;
  std::uint32_t length = 0;            // on the wire
  std::span<const std::byte> bytes;    // captured
  std::optional<Direction> direction;  // pcapng may say
  std::string_view interface;          // its name in a pcapng file
  std::string_view comment;
};

}  // namespace plnet::trace
