// SPDX-License-Identifier: BSD-3-Clause
// Dissects a packet down to its TCP segment, UDP datagram or upper PDU.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>

#include "lib/trace/file/packet.hpp"

namespace plnet::trace {

// IPv4 in the last four bytes.
using FlowAddress = std::array<std::uint8_t, 16>;

struct Flow {
  FlowAddress from{};
  FlowAddress to{};
  std::uint16_t from_port = 0;
  std::uint16_t to_port = 0;

  friend auto operator<=>(const Flow&, const Flow&) = default;
};

struct TcpSegment {
  Flow flow;
  std::uint32_t sequence = 0;
  bool syn = false;
  bool end = false;                  // FIN or RST
  std::uint32_t length = 0;          // on the wire
  std::span<const std::byte> bytes;  // captured, at most `length`
};

struct UdpDatagram {
  Flow flow;
  std::uint32_t length = 0;
  std::span<const std::byte> bytes;
};

// Wireshark's exported PDU: the dissector table and value that the data is for, then the data.
struct UpperPdu {
  std::uint32_t port = 0;  // of the table tcp.port; 0: meant for another table
  std::span<const std::byte> bytes;
  std::uint32_t length = 0;
};

using LinkContent = std::variant<std::monostate, TcpSegment, UdpDatagram, UpperPdu>;

// Nothing: not IP, a fragment, another protocol, or cut off within a header.
[[nodiscard]] LinkContent dissect(const Packet& packet);

}  // namespace plnet::trace
