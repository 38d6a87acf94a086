// SPDX-License-Identifier: BSD-3-Clause
#include <array>

#include <gtest/gtest.h>

#include "lib/base/random.hpp"
#include "lib/lnet/names/nid64.hpp"
#include "lib/lnet/names/nid_text.hpp"
#include "lib/lnet/wire/header_codec.hpp"
#include "lib/lnet/wire/process_id_codec.hpp"
#include "tests/unit/lib/lnet/nid.hpp"

namespace plnet::lnet::wire_header_test {
namespace {

MessageHeader random_header(Random& random) {
  MessageHeader header;
  header.destination_pid = static_cast<std::uint32_t>(random.next());
  header.source_pid = static_cast<std::uint32_t>(random.next());
  header.type = static_cast<MessageType>(random.below(6));
  header.payload_length = static_cast<std::uint32_t>(random.next());
  for (auto& byte : header.type_area)
    byte = static_cast<std::byte>(random.next());
  header.destination = from_nid64(random.next());
  header.source = from_nid64(random.next());
  return header;
}

void expect_same(const MessageHeader& a, const MessageHeader& b) {
  EXPECT_EQ(a.destination, b.destination);
  EXPECT_EQ(a.source, b.source);
  EXPECT_EQ(a.destination_pid, b.destination_pid);
  EXPECT_EQ(a.source_pid, b.source_pid);
  EXPECT_EQ(a.type, b.type);
  EXPECT_EQ(a.payload_length, b.payload_length);
  EXPECT_EQ(a.type_area, b.type_area);
}

TEST(HeaderCodec, BothFormsAreReversible) {
  Random random(4);
  for (int i = 0; i < 2000; ++i) {
    MessageHeader header = random_header(random);
    std::array<std::byte, kHeaderNid4Bytes> small{};
    ASSERT_TRUE(encode_header_nid4(header, small).has_value());
    expect_same(decode_header_nid4(small).value(), header);
    header.source = nid("2001:db8::14@tcp");
    std::array<std::byte, kHeaderNid16Bytes> large{};
    encode_header_nid16(header, large);
    expect_same(decode_header_nid16(large).value(), header);
  }
}

TEST(HeaderCodec, ShortInputIsMalformed) {
  const std::array<std::byte, kHeaderNid16Bytes + 10> bytes{};
  const std::span<const std::byte> all(bytes);
  for (std::size_t length = 0; length <= all.size(); ++length) {
    const auto nid4 = decode_header_nid4(all.first(length));
    const auto nid16 = decode_header_nid16(all.first(length));
    EXPECT_EQ(nid4.has_value(), length >= 72);
    EXPECT_EQ(nid16.has_value(), length >= 96);
    EXPECT_TRUE(nid4 || nid4.error() == Errc::kMalformed);
    EXPECT_TRUE(nid16 || nid16.error() == Errc::kMalformed);
  }
}

TEST(HeaderCodec, LargeNidsDoNotFitTheShortForm) {
  for (const bool large_source : {false, true}) {
    MessageHeader header;
    header.destination = nid(large_source ? "10.0.0.1@tcp" : "2001:db8::1@tcp1");
    header.source = nid(large_source ? "2001:db8::1@tcp1" : "10.0.0.1@tcp");
    std::array<std::byte, kHeaderNid4Bytes> out{};
    out.fill(std::byte{0xee});
    const auto refused = encode_header_nid4(header, out);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error(), Errc::kNotSupported);
    for (const std::byte byte : out)
      ASSERT_EQ(byte, std::byte{0xee});
    encode_header_nid4_truncating(header, out);
    const auto decoded = decode_header_nid4(out).value();
    EXPECT_EQ(large_source ? decoded.source : decoded.destination, nid("32.1.13.184@tcp1"));
    EXPECT_EQ(large_source ? decoded.destination : decoded.source, nid("10.0.0.1@tcp"));
  }
}

TEST(HeaderCodec, WildcardsTravelInBothForms) {
  MessageHeader header;
  header.destination = Nid::any();
  header.source = Nid::any();
  std::array<std::byte, kHeaderNid4Bytes> small{};
  ASSERT_TRUE(encode_header_nid4(header, small).has_value());
  EXPECT_EQ(decode_header_nid4(small).value().destination, Nid::any());
  std::array<std::byte, kHeaderNid16Bytes> large{};
  encode_header_nid16(header, large);
  EXPECT_EQ(decode_header_nid16(large).value().source, Nid::any());
}

TEST(ProcessIdCodec, ReportsATruncatedNid) {
  std::array<std::byte, kProcessIdBytes> bytes{};
  EXPECT_TRUE(encode_process_id({nid("10.0.0.1@tcp"), 7}, bytes));
  EXPECT_EQ(decode_process_id(bytes), (ProcessId{nid("10.0.0.1@tcp"), 7}));
  EXPECT_FALSE(encode_process_id({nid("2001:db8::1@tcp"), 7}, bytes));
}

}  // namespace
}  // namespace plnet::lnet::wire_header_test
