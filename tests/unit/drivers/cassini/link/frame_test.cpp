// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/cassini/soft/link/frame.hpp"

#include <array>
#include <cstring>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "drivers/net/cassini/soft/link/crc32c.hpp"
#include "lib/base/random.hpp"

namespace plnet::cassini::soft::link::frame_test {
namespace {

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

constexpr Frame kSample{.destination_mac = {{2, 0, 0, 0, 0, 7}},
                        .source_mac = {{2, 0, 0, 0, 0, 9}},
                        .type = FrameType::kData,
                        .flags = kEchoes,
                        .destination = 0x12345,
                        .source = 0xabcde,
                        .destination_epoch = 0x01020304,
                        .source_epoch = 0x05060708,
                        .sequence = 0x11121314,
                        .ack = 0x21222324,
                        .sent_at = 0x31323334,
                        .echo = 0x41424344};

std::vector<std::byte> encoded(const Frame& frame, std::span<const std::byte> payload) {
  std::vector<std::byte> bytes(kFrameHeaderBytes + payload.size());
  if (!payload.empty())
    std::memcpy(bytes.data() + kFrameHeaderBytes, payload.data(), payload.size());
  encode_frame(frame, payload.size(), payload_checksum(payload),
               std::span(bytes).first<kFrameHeaderBytes>());
  return bytes;
}

// Replaces bytes and corrects the checksum, so that a refusal has another cause.
template <class T>
std::vector<std::byte> with(std::vector<std::byte> bytes, std::size_t offset, T value) {
  std::memcpy(bytes.data() + kEthernetBytes + offset, &value, sizeof value);
  FrameWire wire;
  std::memcpy(&wire, bytes.data() + kEthernetBytes, sizeof wire);
  const std::span<const std::byte> all(bytes);
  const std::size_t length = std::min<std::size_t>(wire.length, all.size() - kFrameHeaderBytes);
  std::uint32_t crc = crc32c(kCrcStart, all.subspan(kFrameHeaderBytes, length));
  crc = crc32c(crc, all.first(12));
  crc = ~crc32c(crc, all.subspan(kEthernetBytes, 44));
  std::memcpy(bytes.data() + kEthernetBytes + 44, &crc, sizeof crc);
  return bytes;
}

TEST(Crc32c, IsTheOneOfIscsi) {
  EXPECT_EQ(~crc32c(kCrcStart, bytes_of("123456789")), 0xe3069283U);
  EXPECT_EQ(~crc32c_by_table(kCrcStart, bytes_of("123456789")), 0xe3069283U);
  const std::vector<std::byte> zeros(32);  // RFC 3720 B.4
  EXPECT_EQ(~crc32c(kCrcStart, zeros), 0x8a9136aaU);
}

TEST(Crc32c, TableAndInstructionAgreeHoweverItIsCut) {
  Random random(3);
  std::vector<std::byte> bytes(300);
  for (auto& byte : bytes)
    byte = static_cast<std::byte>(random.next());
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    const std::span<const std::byte> part(bytes.data(), size);
    const std::size_t cut = size == 0 ? 0 : random.below(size);
    const std::uint32_t whole = crc32c_by_table(kCrcStart, part);
    EXPECT_EQ(crc32c(kCrcStart, part), whole);
    EXPECT_EQ(crc32c(crc32c(kCrcStart, part.first(cut)), part.subspan(cut)), whole);
  }
}

TEST(LinkFrame, LiesOnTheCableAsTheDocumentSays) {
  const auto bytes = encoded(kSample, bytes_of("hi"));
  const std::array<unsigned char, kFrameHeaderBytes - 4> expected = {
      2,    0,    0,   0,   0, 7, 2,    0,    0,    0,    0,    9,    0x88, 0xb5,  //
      'P',  'L',  'C', 'L', 1, 6, 2,    0,    0x45, 0x23, 0x01, 0,    0xde, 0xbc, 0x0a,
      0,    4,    3,   2,   1, 8, 7,    6,    5,    0x14, 0x13, 0x12, 0x11, 0x24, 0x23,
      0x22, 0x21, 1,   0,   0, 0, 0x34, 0x33, 0x32, 0x31, 0x44, 0x43, 0x42, 0x41};
  EXPECT_EQ(std::memcmp(bytes.data(), expected.data(), expected.size()), 0);
  EXPECT_EQ(bytes, with(bytes, 4, std::uint8_t{1}));  // the checksum is as `with` computes it
}

TEST(LinkFrame, ComesBackAsItWent) {
  const auto payload = bytes_of("a payload of some length");
  auto bytes = encoded(kSample, payload);
  const auto plain = decode_frame(bytes);
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->frame, kSample);
  EXPECT_EQ(std::vector(plain->payload.begin(), plain->payload.end()), payload);
  bytes.resize(bytes.size() + 46);  // Ethernet padding
  const auto padded = decode_frame(bytes);
  ASSERT_TRUE(padded);
  EXPECT_EQ(padded->payload.size(), payload.size());
}

TEST(LinkFrame, EveryDamagedBitIsSeen) {
  const auto whole = encoded(kSample, bytes_of("payload"));
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    auto bytes = whole;
    bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    EXPECT_FALSE(decode_frame(bytes)) << "bit " << bit;
  }
}

TEST(LinkFrame, EveryShorterFrameIsRefused) {
  const auto whole = encoded(kSample, bytes_of("payload"));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::vector<std::byte> cut(whole.begin(),
                                     whole.begin() + static_cast<std::ptrdiff_t>(size));
    const auto decoded = decode_frame(cut);
    ASSERT_FALSE(decoded) << size;
    EXPECT_EQ(decoded.error(),
              size < kFrameHeaderBytes ? FrameFault::kForeign : FrameFault::kMalformed);
  }
}

TEST(LinkFrame, ReportsTheReasonOfARefusal) {
  const auto whole = encoded(kSample, bytes_of("payload"));
  auto foreign = whole;
  foreign[12] = std::byte{0x08};
  foreign[13] = std::byte{0x00};
  EXPECT_EQ(decode_frame(foreign).error(), FrameFault::kForeign);
  EXPECT_EQ(decode_frame(with(whole, 0, 0x12345678U)).error(), FrameFault::kForeign);
  EXPECT_EQ(decode_frame(with(whole, 4, std::uint8_t{2})).error(), FrameFault::kVersion);
  EXPECT_EQ(decode_frame(with(whole, 5, std::uint8_t{0})).error(), FrameFault::kMalformed);
  EXPECT_EQ(decode_frame(with(whole, 5, std::uint8_t{9})).error(), FrameFault::kMalformed);
  EXPECT_EQ(decode_frame(with(whole, 6, std::uint16_t{8})).error(), FrameFault::kMalformed);
  EXPECT_EQ(decode_frame(with(whole, 8, 0x100000U)).error(), FrameFault::kMalformed);
  EXPECT_EQ(decode_frame(with(whole, 12, 0xfffffU)).error(), FrameFault::kMalformed);
  EXPECT_EQ(decode_frame(with(whole, 32, std::uint16_t{4})).error(), FrameFault::kMalformed);
  EXPECT_EQ(decode_frame(with(whole, 34, std::uint16_t{1})).error(), FrameFault::kMalformed);
  auto damaged = whole;
  damaged.back() ^= std::byte{1};
  EXPECT_EQ(decode_frame(damaged).error(), FrameFault::kChecksum);
}

}  // namespace
}  // namespace plnet::cassini::soft::link::frame_test
