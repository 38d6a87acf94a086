// SPDX-License-Identifier: BSD-3-Clause
// Two kernels talking to each other, replayed: every stream of a capture, both directions, through
// the readers and the framing. The capture lies beside the tree, not in it.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <tuple>

#include <gtest/gtest.h>

#include "lib/socklnd/hello_reader.hpp"
#include "lib/socklnd/request_reader.hpp"
#include "tests/unit/lib/socklnd/framed_stream.hpp"

namespace plnet::socklnd {
namespace {

using Bytes = std::vector<std::byte>;
using Flow = std::tuple<std::uint32_t, std::uint16_t, std::uint32_t, std::uint16_t>;

std::uint32_t big_endian(std::span<const std::byte> at, std::size_t bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i)
    value = value << 8 | std::to_integer<std::uint32_t>(at[i]);
  return value;
}

// One direction of a connection, put together from its segments.
struct Direction {
  std::uint32_t next = 0;
  bool begun = false;
  unsigned gaps = 0;
  Bytes bytes;

  void add(std::uint32_t sequence, std::span<const std::byte> data, bool syn) {
    if (syn) {
      next = sequence + 1;
      begun = true;
      return;
    }
    if (!begun || data.empty()) return;
    const auto behind = static_cast<std::int32_t>(next - sequence);
    if (behind < 0) {
      ++gaps;
      return;
    }
    if (static_cast<std::size_t>(behind) >= data.size()) return;  // sent again
    const auto fresh = data.subspan(static_cast<std::size_t>(behind));
    bytes.insert(bytes.end(), fresh.begin(), fresh.end());
    next += static_cast<std::uint32_t>(fresh.size());
  }
};

std::map<Flow, Direction> directions_of(const Bytes& file) {
  constexpr std::size_t kFileHeader = 24;
  constexpr std::size_t kRecordHeader = 16;
  constexpr std::size_t kEthernet = 14;
  std::map<Flow, Direction> flows;
  for (std::size_t at = kFileHeader; at + kRecordHeader <= file.size();) {
    std::uint32_t length = 0;
    std::memcpy(&length, &file[at + 8], 4);
    const auto packet = std::span(file).subspan(at + kRecordHeader, length);
    at += kRecordHeader + length;
    if (packet.size() < kEthernet + 40 || big_endian(packet.subspan(12), 2) != 0x0800) continue;
    const auto ip = packet.subspan(kEthernet);
    if (std::to_integer<unsigned>(ip[9]) != 6) continue;
    const std::size_t ip_bytes = 4 * (std::to_integer<std::size_t>(ip[0]) & 15U);
    const auto tcp = ip.subspan(ip_bytes, big_endian(ip.subspan(2), 2) - ip_bytes);
    const Flow flow{big_endian(ip.subspan(12), 4), static_cast<std::uint16_t>(big_endian(tcp, 2)),
                    big_endian(ip.subspan(16), 4),
                    static_cast<std::uint16_t>(big_endian(tcp.subspan(2), 2))};
    const std::size_t tcp_bytes = 4 * (std::to_integer<std::size_t>(tcp[12]) >> 4U);
    flows[flow].add(big_endian(tcp.subspan(4), 4), tcp.subspan(tcp_bytes),
                    (std::to_integer<unsigned>(tcp[13]) & 2U) != 0);
  }
  return flows;
}

std::filesystem::path capture_file() {
  const char* const given = std::getenv("PLNET_SHARED");
  const std::filesystem::path shared = given != nullptr ? given : PLNET_SOURCE_ROOT "/../shared";
  return shared / "captures" / "kernel-2.17-tcp.pcap";
}

TEST(SocklndCapture, EveryByteOfTwoKernelsIsUnderstood) {
  std::ifstream stream(capture_file(), std::ios::binary);
  if (!stream) GTEST_SKIP() << "no capture at " << capture_file();
  const std::string raw((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  const auto begin = reinterpret_cast<const std::byte*>(raw.data());
  const Bytes file(begin, begin + raw.size());
  unsigned introductions = 0;
  unsigned streams = 0;
  std::size_t messages = 0;
  std::map<std::int32_t, unsigned> types;
  for (const auto& [flow, direction] : directions_of(file)) {
    const bool active = std::get<3>(flow) == 988;
    if (direction.bytes.empty()) continue;
    SCOPED_TRACE("from port " + std::to_string(std::get<1>(flow)));
    ++streams;
    ASSERT_EQ(direction.gaps, 0U);
    std::span<const std::byte> rest(direction.bytes);
    if (active) {
      RequestReader request;
      rest = rest.subspan(request.take(rest));
      ASSERT_EQ(request.state(), RequestReader::State::kDone);
      EXPECT_EQ(request.target().address32(), std::get<2>(flow));
      std::array<std::byte, kAcceptorV2Bytes> again{};
      const std::size_t length = encode_acceptor_request(request.target(), again);
      EXPECT_TRUE(std::ranges::equal(std::span(again).first(length),
                                     std::span(direction.bytes).first(length)));
      EXPECT_LE(std::get<1>(flow), 1023);
      ++introductions;
    }
    HelloReader hello;
    const auto at_hello = rest;
    rest = rest.subspan(hello.take(rest));
    ASSERT_EQ(hello.state(), HelloReader::State::kDone);
    EXPECT_EQ(hello.hello().protocol, Protocol::kV3);
    EXPECT_EQ(hello.hello().source.address32(), std::get<0>(flow));
    EXPECT_EQ(hello.hello().source_pid, lnet::kLustrePid);
    ++types[hello.hello().type];
    std::array<std::byte, kHelloV4Bytes> again{};
    ASSERT_EQ(encode_hello(hello.hello(), again), kHelloNid4Bytes);
    EXPECT_TRUE(std::ranges::equal(std::span(again).first(kHelloNid4Bytes),
                                   at_hello.first(kHelloNid4Bytes)))
        << "our HELLO would have been the same";

    FramedStream whole(hello.hello().protocol, hello.swapped(), 1);
    whole.feed(rest, false);
    EXPECT_FALSE(whole.framing().failed());
    EXPECT_TRUE(whole.framing().at_boundary());
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      FramedStream cut(hello.hello().protocol, hello.swapped(), seed);
      cut.feed(rest, true);
      ASSERT_EQ(cut.messages, whole.messages) << "seed " << seed;
    }
    messages += whole.messages.size();
    for (const FramedMessage& message : whole.messages)
      EXPECT_LE(static_cast<std::uint32_t>(message.header.type), 3U);
  }
  EXPECT_EQ(introductions, 3U);
  EXPECT_EQ(streams, 6U);
  EXPECT_EQ(messages, 44U);
  EXPECT_EQ(types[1] + types[2] + types[3], 6U);
}

}  // namespace
}  // namespace plnet::socklnd
