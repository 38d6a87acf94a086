// SPDX-License-Identifier: BSD-3-Clause
#include "tests/mocks/tcp_capture.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <utility>

namespace plnet::mocks {

namespace {

constexpr std::size_t kFileHeader = 24;
constexpr std::size_t kRecordHeader = 16;
constexpr std::size_t kEthernet = 14;
constexpr std::size_t kShortestPacket = kEthernet + 40;  // with IPv4 and TCP headers
constexpr std::uint32_t kIpv4 = 0x0800;
constexpr unsigned kTcp = 6;
constexpr unsigned kSyn = 2;

std::uint32_t big_endian(std::span<const std::byte> at, std::size_t bytes) {
  std::uint32_t value = 0;
  for (const std::byte byte : at.first(bytes))
    value = value << 8 | std::to_integer<std::uint32_t>(byte);
  return value;
}

struct Segment {
  CaptureEnd from;
  CaptureEnd to;
  std::uint32_t sequence = 0;
  bool syn = false;
  std::span<const std::byte> data;
};

std::optional<Segment> segment_in(std::span<const std::byte> packet) {
  if (packet.size() < kShortestPacket || big_endian(packet.subspan(12), 2) != kIpv4) return {};
  const auto ip = packet.subspan(kEthernet);
  if (std::to_integer<unsigned>(ip[9]) != kTcp) return {};
  const std::size_t ip_bytes = 4 * (std::to_integer<std::size_t>(ip[0]) & 15U);
  const auto tcp = ip.subspan(ip_bytes, big_endian(ip.subspan(2), 2) - ip_bytes);
  const auto port = [&](std::size_t at) {
    return static_cast<std::uint16_t>(big_endian(tcp.subspan(at), 2));
  };
  return Segment{.from = {big_endian(ip.subspan(12), 4), port(0)},
                 .to = {big_endian(ip.subspan(16), 4), port(2)},
                 .sequence = big_endian(tcp.subspan(4), 4),
                 .syn = (std::to_integer<unsigned>(tcp[13]) & kSyn) != 0,
                 .data = tcp.subspan(4 * (std::to_integer<std::size_t>(tcp[12]) >> 4U))};
}

void take(CapturedStream& stream, std::uint32_t& next, const Segment& segment, std::size_t packet) {
  const auto behind = static_cast<std::int32_t>(next - segment.sequence);
  if (behind < 0) {
    ++stream.gaps;
    return;
  }
  if (static_cast<std::size_t>(behind) >= segment.data.size()) return;  // a retransmission
  const auto fresh = segment.data.subspan(static_cast<std::size_t>(behind));
  stream.bytes.insert(stream.bytes.end(), fresh.begin(), fresh.end());
  stream.arrivals.push_back({stream.bytes.size(), packet});
  next += static_cast<std::uint32_t>(fresh.size());
}

}  // namespace

std::size_t CapturedStream::packet_of(std::size_t end) const {
  const auto at = std::ranges::lower_bound(arrivals, end, {}, &Arrival::end);
  return at == arrivals.end() ? ~std::size_t{0} : at->packet;
}

std::filesystem::path shared_capture(const char* name) {
  const char* const given = std::getenv("PLNET_SHARED");
  const std::filesystem::path shared = given != nullptr ? given : PLNET_SOURCE_ROOT "/../shared";
  return shared / "captures" / name;
}

std::optional<std::vector<CapturedStream>> read_tcp_capture(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  const std::string raw((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto all = std::as_bytes(std::span(raw));
  std::vector<CapturedStream> streams;
  std::vector<std::uint32_t> next;
  for (std::size_t at = kFileHeader, packet = 1; at + kRecordHeader <= all.size(); ++packet) {
    std::uint32_t length = 0;
    std::memcpy(&length, &all[at + 8], sizeof length);
    const auto segment = segment_in(all.subspan(at + kRecordHeader, length));
    at += kRecordHeader + length;
    if (!segment) continue;
    const auto found = std::ranges::find_if(streams, [&](const CapturedStream& stream) {
      return stream.from == segment->from && stream.to == segment->to;
    });
    if (segment->syn && found == streams.end()) {
      streams.push_back({.from = segment->from, .to = segment->to});
      next.push_back(segment->sequence + 1);
    } else if (found != streams.end() && !segment->syn) {
      take(*found, next[static_cast<std::size_t>(found - streams.begin())], *segment, packet);
    }
  }
  return streams;
}

}  // namespace plnet::mocks
