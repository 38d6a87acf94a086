// SPDX-License-Identifier: BSD-3-Clause
#include "lib/trace/file/link.hpp"

#include <algorithm>
#include <string_view>

#include "lib/trace/decode/captured.hpp"

namespace plnet::trace {

namespace {

using Bytes = std::span<const std::byte>;

constexpr std::uint16_t kIpv4 = 0x0800;
constexpr std::uint16_t kIpv6 = 0x86dd;
constexpr std::uint16_t kVlan = 0x8100;
constexpr std::uint16_t kServiceVlan = 0x88a8;
constexpr std::uint8_t kTcp = 6;
constexpr std::uint8_t kUdp = 17;

template <class Number>
Number big_endian(Bytes bytes, std::size_t offset) {
  return number_at<Number>(bytes, offset, true).value_or(0);
}
std::uint8_t byte_at(Bytes bytes, std::size_t offset) {
  return offset < bytes.size() ? std::to_integer<std::uint8_t>(bytes[offset]) : 0;
}
Bytes rest(Bytes bytes, std::size_t from) {
  return bytes.subspan(std::min(from, bytes.size()));
}

// An IP packet and the content that its headers describe; the payload may be cut off.
struct Ip {
  Flow flow;
  std::uint8_t protocol = 0;
  std::size_t length = 0;  // of the payload
  Bytes payload;
};

LinkContent tcp(const Ip& ip) {
  const std::size_t header = std::size_t{byte_at(ip.payload, 12)} / 16 * 4;
  if (ip.payload.size() < 20 || header < 20 || header > ip.length) return {};
  const std::uint8_t flags = byte_at(ip.payload, 13);
  TcpSegment segment{.flow = ip.flow,
                     .sequence = big_endian<std::uint32_t>(ip.payload, 4),
                     .syn = (flags & 2U) != 0,
                     .end = (flags & 5U) != 0,
                     .length = static_cast<std::uint32_t>(ip.length - header)};
  segment.flow.from_port = big_endian<std::uint16_t>(ip.payload, 0);
  segment.flow.to_port = big_endian<std::uint16_t>(ip.payload, 2);
  const Bytes data = rest(ip.payload, header);
  segment.bytes = data.first(std::min<std::size_t>(data.size(), segment.length));
  return segment;
}

LinkContent udp(const Ip& ip) {
  constexpr std::size_t kHeader = 8;
  const std::size_t length = big_endian<std::uint16_t>(ip.payload, 4);
  if (ip.payload.size() < kHeader || length < kHeader || length > ip.length) return {};
  UdpDatagram datagram{.flow = ip.flow, .length = static_cast<std::uint32_t>(length - kHeader)};
  datagram.flow.from_port = big_endian<std::uint16_t>(ip.payload, 0);
  datagram.flow.to_port = big_endian<std::uint16_t>(ip.payload, 2);
  const Bytes data = rest(ip.payload, kHeader);
  datagram.bytes = data.first(std::min<std::size_t>(data.size(), datagram.length));
  return datagram;
}

FlowAddress address(Bytes bytes, std::size_t offset, std::size_t size) {
  FlowAddress address{};
  for (std::size_t i = 0; i < size; ++i)
    address[address.size() - size + i] = byte_at(bytes, offset + i);
  return address;
}

LinkContent transport(const Ip& ip) {
  if (ip.protocol == kTcp) return tcp(ip);
  if (ip.protocol == kUdp) return udp(ip);
  return {};
}

LinkContent ipv4(Bytes bytes) {
  const std::size_t header = std::size_t{byte_at(bytes, 0) & 15U} * 4;
  const std::size_t total = big_endian<std::uint16_t>(bytes, 2);
  const bool fragment = (big_endian<std::uint16_t>(bytes, 6) & 0x3fffU) != 0;
  if (bytes.size() < 20 || header < 20 || total < header || fragment) return {};
  Ip ip{.protocol = byte_at(bytes, 9), .length = total - header};
  ip.flow.from = address(bytes, 12, 4);
  ip.flow.to = address(bytes, 16, 4);
  const Bytes data = rest(bytes, header);
  ip.payload = data.first(std::min(data.size(), ip.length));
  return transport(ip);
}

LinkContent ipv6(Bytes bytes) {
  constexpr std::size_t kHeader = 40;
  if (bytes.size() < kHeader) return {};
  Ip ip{.protocol = byte_at(bytes, 6), .length = big_endian<std::uint16_t>(bytes, 4)};
  ip.flow.from = address(bytes, 8, 16);
  ip.flow.to = address(bytes, 24, 16);
  const Bytes data = rest(bytes, kHeader);
  ip.payload = data.first(std::min(data.size(), ip.length));
  return transport(ip);
}

LinkContent raw_ip(Bytes bytes) {
  const unsigned version = byte_at(bytes, 0) >> 4U;
  if (version == 4) return ipv4(bytes);
  if (version == 6) return ipv6(bytes);
  return {};
}

LinkContent by_ethertype(std::uint16_t type, Bytes bytes) {
  for (int tags = 0; tags < 2 && (type == kVlan || type == kServiceVlan); ++tags) {
    type = big_endian<std::uint16_t>(bytes, 2);
    bytes = rest(bytes, 4);
  }
  if (type == kIpv4) return ipv4(bytes);
  if (type == kIpv6) return ipv6(bytes);
  return {};
}

LinkContent upper_pdu(const Packet& packet) {
  constexpr std::uint16_t kEnd = 0;
  constexpr std::uint16_t kTable = 14;
  constexpr std::uint16_t kTableValue = 32;
  UpperPdu pdu;
  bool is_tcp_port = false;
  Bytes bytes = packet.bytes;
  while (bytes.size() >= 4) {
    const auto tag = big_endian<std::uint16_t>(bytes, 0);
    const std::size_t length = big_endian<std::uint16_t>(bytes, 2);
    bytes = bytes.subspan(4);
    if (tag == kEnd) {
      const auto head = static_cast<std::size_t>(bytes.data() - packet.bytes.data());
      if (!is_tcp_port) pdu.port = 0;
      pdu.bytes = bytes;
      pdu.length = static_cast<std::uint32_t>(
          std::max<std::size_t>(packet.length, packet.bytes.size()) - head);
      return pdu;
    }
    if (length > bytes.size()) return {};
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), length);
    if (tag == kTable) is_tcp_port = text.substr(0, text.find('\0')) == "tcp.port";
    if (tag == kTableValue) pdu.port = big_endian<std::uint32_t>(bytes.first(length), 0);
    bytes = rest(bytes, length);
  }
  return {};
}

}  // namespace

LinkContent dissect(const Packet& packet) {
  const Bytes bytes = packet.bytes;
  switch (packet.link) {
    case LinkType::kEthernet:
      return by_ethertype(big_endian<std::uint16_t>(bytes, 12), rest(bytes, 14));
    case LinkType::kLinuxCooked:
      return by_ethertype(big_endian<std::uint16_t>(bytes, 14), rest(bytes, 16));
    case LinkType::kLinuxCooked2:
      return by_ethertype(big_endian<std::uint16_t>(bytes, 0), rest(bytes, 20));
    case LinkType::kRaw: return raw_ip(bytes);
    case LinkType::kNull: return raw_ip(rest(bytes, 4));
    case LinkType::kUpperPdu: return upper_pdu(packet);
  }
  return {};
}

}  // namespace plnet::trace
