// SPDX-License-Identifier: BSD-3-Clause
#include "lib/trace/file/capture_writer.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <span>

#include "lib/lnet/names/nid_text.hpp"
#include "lib/lnet/wire/header_codec.hpp"
#include "lib/socklnd/wire.hpp"
#include "lib/trace/decode/message.hpp"
#include "lib/trace/file/packet.hpp"
#include "lib/trace/file/pcapng.hpp"
#include "lib/trace/file/record_comment.hpp"

namespace plnet::trace {

namespace {

constexpr std::uint16_t kServerPort = 988;
constexpr std::uint16_t kClientPort = 1023;
constexpr std::size_t kSegmentMax = 60000;
constexpr std::size_t kHeadBytes = socklnd::kFrameBytes + lnet::kHeaderNid4Bytes;

template <class Number>
void put(std::string& out, Number number) {
  out.append(reinterpret_cast<const char*>(&number), sizeof number);
}
template <class Number>
void put_big(std::string& out, Number number) {
  put(out, std::byteswap(number));
}
void put_padded(std::string& out, std::string_view text) {
  out += text;
  out.append((4 - text.size() % 4) % 4, '\0');
}
void put_option(std::string& out, std::uint16_t code, std::string_view value) {
  put(out, code);
  put(out, static_cast<std::uint16_t>(value.size()));
  put_padded(out, value);
}
void put_tag(std::string& out, std::uint16_t tag, std::string_view value) {
  put_big(out, tag);
  put_big(out, static_cast<std::uint16_t>((value.size() + 3) / 4 * 4));
  put_padded(out, value);
}
std::string big_word(std::uint32_t value) {
  std::string text;
  put_big(text, value);
  return text;
}

std::string_view view_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Frame and header, which stock Wireshark reads.
std::string head_of(const RecordHeader& record) {
  std::array<std::byte, kHeadBytes> bytes{};
  const std::span<std::byte, kHeadBytes> all(bytes);
  socklnd::encode_frame({.type = socklnd::kFrameLnet}, all.first<socklnd::kFrameBytes>());
  lnet::encode_header_nid4_truncating(header_of(record),
                                      all.subspan<socklnd::kFrameBytes, lnet::kHeaderNid4Bytes>());
  return std::string(view_of(bytes));
}

// The IPv4 address that represents a NID: of a large one the last four bytes.
std::uint32_t address_of(const lnet::Nid& nid) {
  if (!nid.is_large()) return nid.address32();
  std::uint32_t last = 0;
  std::memcpy(&last, &nid.address_be[nid.address_be.size() - sizeof last], sizeof last);
  return std::byteswap(last);
}

// Requests go to the port of the server, replies and other answers come from it.
bool goes_to_server(const Record& record) {
  const auto portal = record.portal();
  if (!portal) return false;
  const PortalUse use = use_of(*portal);
  return use != PortalUse::kReply && use != PortalUse::kBulk;
}

std::uint16_t checksum(std::string_view bytes, std::uint32_t sum) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto byte = static_cast<std::uint8_t>(bytes[i]);
    sum += i % 2 == 0 ? std::uint32_t{byte} << 8U : byte;
    sum = (sum & 0xffffU) + (sum >> 16U);
  }
  return static_cast<std::uint16_t>(~sum);
}

struct Ends {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint16_t from_port = 0;
  std::uint16_t to_port = 0;
};

std::string ip_header(const Ends& ends, std::size_t payload) {
  constexpr std::uint16_t kBytes = 20;
  std::string ip("\x45\0", 2);
  put_big(ip, static_cast<std::uint16_t>(kBytes + payload));
  ip += std::string("\0\0\x40\0\x40\x06\0\0", 8);  // do not fragment, 64 hops, TCP
  put_big(ip, ends.from);
  put_big(ip, ends.to);
  const std::uint16_t sum = std::byteswap(checksum(ip, 0));
  std::memcpy(&ip[10], &sum, sizeof sum);
  return ip;
}

// Without its checksum if the data is incomplete.
std::string tcp_segment(const Ends& ends, std::uint32_t sequence, std::uint32_t acknowledged,
                        std::string_view data, std::size_t length) {
  std::string tcp;
  put_big(tcp, ends.from_port);
  put_big(tcp, ends.to_port);
  put_big(tcp, sequence);
  put_big(tcp, acknowledged);
  tcp += std::string("\x50\x18\xff\xff\0\0\0\0", 8);  // PSH, ACK
  const std::string ip = ip_header(ends, tcp.size() + length);
  tcp += data;
  if (data.size() == length) {
    std::uint32_t pseudo = 6 + static_cast<std::uint32_t>(tcp.size());
    for (const std::uint32_t address : {ends.from, ends.to})
      pseudo += (address >> 16U) + (address & 0xffffU);
    const std::uint16_t sum = std::byteswap(checksum(tcp, pseudo));
    std::memcpy(&tcp[16], &sum, sizeof sum);
  }
  return ip + tcp;
}

}  // namespace

CaptureWriter::CaptureWriter(PacketStyle style, std::string_view application) : style_(style) {
  std::string body;
  put(body, pcapng::kSectionMagic);
  put(body, std::uint16_t{1});
  put(body, std::uint16_t{0});
  put(body, std::int64_t{-1});
  put_option(body, pcapng::kOptionApplication, application);
  put(body, std::uint32_t{0});
  write_block(pcapng::kSection, body);
}

void CaptureWriter::write_block(std::uint32_t type, std::string_view body) {
  const auto length = static_cast<std::uint32_t>(12 + body.size());
  put(out_, type);
  put(out_, length);
  out_ += body;
  put(out_, length);
}

std::uint32_t CaptureWriter::interface_number(const lnet::Nid& interface) {
  constexpr std::string_view kNanoseconds("\x09", 1);
  const auto found = std::ranges::find(interfaces_, interface);
  if (found != interfaces_.end()) {
    return static_cast<std::uint32_t>(found - interfaces_.begin());
  }
  // The limit of a node; further ones are shown as the last one.
  if (interfaces_.size() == kRecordInterfacesMax) return kRecordInterfacesMax - 1;
  interfaces_.push_back(interface);
  std::string body;
  put(body, static_cast<std::uint16_t>(style_ == PacketStyle::kTcp ? LinkType::kRaw
                                                                   : LinkType::kUpperPdu));
  put(body, std::uint16_t{0});
  put(body, std::uint32_t{0});
  put_option(body, pcapng::kOptionInterfaceName,
             interface.type == 0 ? "unknown" : lnet::text_of(interface));
  put_option(body, pcapng::kOptionResolution, kNanoseconds);
  put(body, std::uint32_t{0});
  write_block(pcapng::kInterface, body);
  return static_cast<std::uint32_t>(interfaces_.size() - 1);
}

void CaptureWriter::write_packet(std::uint32_t interface, const RecordHeader& header,
                                 const Segment& packet) {
  std::string body;
  put(body, interface);
  put(body, static_cast<std::uint32_t>(header.time_ns >> 32U));
  put(body, static_cast<std::uint32_t>(header.time_ns));
  put(body, static_cast<std::uint32_t>(packet.bytes.size()));
  put(body, static_cast<std::uint32_t>(packet.length));
  put_padded(body, packet.bytes);
  std::string flags;
  put(flags, std::uint32_t{header.direction == Direction::kReceived ? pcapng::kInbound
                           : header.direction == Direction::kSent   ? pcapng::kOutbound
                                                                    : 0U});
  put_option(body, pcapng::kOptionPacketFlags, flags);
  put_option(body, pcapng::kOptionComment, comment_of(header));
  put(body, std::uint32_t{0});
  write_block(pcapng::kEnhancedPacket, body);
}

void CaptureWriter::add(const Record& record, const lnet::Nid& interface) {
  const std::uint32_t number = interface_number(interface);
  const std::string head = head_of(record.header);
  if (style_ == PacketStyle::kTcp) return write_segments(number, record, head);
  write_packet(number, record.header, upper_pdu(record, head));
}

CaptureWriter::Segment CaptureWriter::upper_pdu(const Record& record, std::string_view head) const {
  constexpr std::uint32_t kTcpPort = 2;
  const bool to_server = goes_to_server(record);
  std::string bytes;
  put_tag(bytes, 14, "tcp.port");
  put_tag(bytes, 32, big_word(kServerPort));
  for (const auto& [nid, small, large] : {std::tuple(&record.header.source, 20, 22),
                                          std::tuple(&record.header.destination, 21, 23)}) {
    if (nid->is_large()) {
      put_tag(bytes, static_cast<std::uint16_t>(large),
              view_of(std::as_bytes(std::span(nid->address_be))));
    } else {
      put_tag(bytes, static_cast<std::uint16_t>(small), big_word(nid->address32()));
    }
  }
  put_tag(bytes, 24, big_word(kTcpPort));
  put_tag(bytes, 25, big_word(to_server ? kClientPort : kServerPort));
  put_tag(bytes, 26, big_word(to_server ? kServerPort : kClientPort));
  put_tag(bytes, 0, {});
  bytes += head;
  const std::uint64_t length = bytes.size() + std::uint64_t{record.header.payload_length};
  bytes += view_of(record.payload);
  return {std::move(bytes), length};
}

// The sequence advances by the whole message; segments of which nothing was captured are left out.
void CaptureWriter::write_segments(std::uint32_t interface, const Record& record,
                                   std::string_view head) {
  const bool to_server = goes_to_server(record);
  const Ends ends{.from = address_of(record.header.source),
                  .to = address_of(record.header.destination),
                  .from_port = to_server ? kClientPort : kServerPort,
                  .to_port = to_server ? kServerPort : kClientPort};
  const std::uint64_t from = std::uint64_t{ends.from} << 16U | ends.from_port;
  const std::uint64_t to = std::uint64_t{ends.to} << 16U | ends.to_port;
  std::uint32_t& sequence = sequences_[{from, to}];
  const auto other = sequences_.find({to, from});
  const std::uint32_t acknowledged = other != sequences_.end() ? other->second : 0;
  std::string bytes(head);
  bytes += view_of(record.payload);
  const std::uint64_t length = head.size() + std::uint64_t{record.header.payload_length};
  for (std::uint64_t at = 0; at < length; at += kSegmentMax) {
    const std::size_t here = std::min<std::uint64_t>(kSegmentMax, length - at);
    if (at >= bytes.size()) break;
    const auto data = std::string_view(bytes).substr(at, here);
    Segment packet{.bytes = tcp_segment(ends, sequence + static_cast<std::uint32_t>(at),
                                        acknowledged, data, here)};
    packet.length = packet.bytes.size() + (here - data.size());
    write_packet(interface, record.header, packet);
  }
  sequence += static_cast<std::uint32_t>(length);
}

}  // namespace plnet::trace
