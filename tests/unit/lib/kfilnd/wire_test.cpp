// SPDX-License-Identifier: BSD-3-Clause
// Messages that are refused, and messages that are accepted.
#include "lib/kfilnd/wire.hpp"

#include <gtest/gtest.h>

#include "tests/unit/lib/kfilnd/messages.hpp"

namespace plnet::kfilnd::wire_test {
namespace {

using Bytes = std::vector<std::byte>;

std::optional<Refusal> refusal_of(const Bytes& bytes, bool verify = true) {
  Message message;
  return decode(bytes, {.own_nid = nid64_of(1), .verify_checksum = verify}, message);
}

void put16(Bytes& bytes, std::size_t at, unsigned value) {
  bytes[at] = static_cast<std::byte>(value);
  bytes[at + 1] = static_cast<std::byte>(value >> 8U);
}

Bytes hello(Kind kind = Kind::kHelloRequest, const Hello& what = {.session_key = 7}) {
  return bytes_of(hello_message(0, 1, kind, what));
}
Bytes immediate(std::uint32_t payload) {
  return bytes_of(lnet_message(0, 1, Kind::kImmediate, 2, lnet::MessageType::kPut, payload),
                  payload);
}
Bytes bulk(std::uint16_t version, Kind kind = Kind::kBulkPut) {
  const auto type = kind == Kind::kBulkPut ? lnet::MessageType::kPut : lnet::MessageType::kGet;
  return bytes_of(lnet_message(0, 1, kind, version, type, 65536));
}

// 38, 106, 110 and 100 + n bytes.
TEST(KfilndWire, Sizes) {
  EXPECT_EQ(hello().size(), 38U);
  EXPECT_EQ(bulk(1).size(), 106U);
  EXPECT_EQ(bulk(2).size(), 110U);
  for (const std::uint32_t payload : {0U, 1U, 3995U, 3996U})
    EXPECT_EQ(immediate(payload).size(), 100U + payload);
  EXPECT_EQ(refusal_of(hello()), std::nullopt);
  EXPECT_EQ(refusal_of(hello(Kind::kHelloResponse)), std::nullopt);
  EXPECT_EQ(refusal_of(immediate(3996)), std::nullopt);
  EXPECT_EQ(refusal_of(bulk(1)), std::nullopt);
  EXPECT_EQ(refusal_of(bulk(2, Kind::kBulkGet)), std::nullopt);
}

TEST(KfilndWire, EveryTruncationIsRefused) {
  for (const Bytes& whole : {hello(), immediate(100), bulk(1), bulk(2)}) {
    for (std::size_t length = 0; length < whole.size(); ++length) {
      const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
      EXPECT_EQ(refusal_of(cut), length < kCommonBytes ? Refusal::kShort : Refusal::kTruncated);
    }
  }
}

// The message is complete and consistent; but it is longer than senders may send, and longer than
// the buffers that it is copied to.
TEST(KfilndWire, LongerThanAMessageIsRefused) {
  constexpr std::size_t kPayloadLengthAt = kCommonBytes + 28;
  Bytes bytes = immediate(3996);
  bytes.resize(4097);
  put16(bytes, 8, 4097);
  put16(bytes, kPayloadLengthAt, 3997);
  EXPECT_EQ(refusal_of(bytes), Refusal::kLength);
  put16(bytes, 8, 4096);
  put16(bytes, kPayloadLengthAt, 3996);
  EXPECT_EQ(refusal_of(bytes), std::nullopt);
}

// A HELLO of 28 to 37 bytes, which the kernel reads past its end.
TEST(KfilndWire, ShortHelloIsRefused) {
  for (unsigned nob = 0; nob < kHelloBytes; ++nob) {
    Bytes bytes = hello();
    put16(bytes, 8, nob);
    EXPECT_EQ(refusal_of(bytes), Refusal::kTooSmall) << nob;
  }
}

TEST(KfilndWire, InvalidHello) {
  EXPECT_EQ(refusal_of(hello(Kind::kHelloRequest, {.rx_count = 0})), Refusal::kHello);
  EXPECT_EQ(refusal_of(hello(Kind::kHelloRequest, {.version = 0})), Refusal::kHello);
  EXPECT_EQ(refusal_of(hello(Kind::kHelloRequest, {.rx_base = 256})), Refusal::kHello);
  EXPECT_EQ(refusal_of(hello(Kind::kHelloResponse, {.version = 3})), Refusal::kHello);
  EXPECT_EQ(refusal_of(hello(Kind::kHelloRequest, {.version = 3})), std::nullopt)
      << "a request says the highest version that its sender speaks";
}

TEST(KfilndWire, EachRule) {
  Bytes bytes = immediate(10);
  bytes[0] = std::byte{0};
  EXPECT_EQ(refusal_of(bytes), Refusal::kWrongMagic);
  bytes = immediate(10);
  put16(bytes, 4, 3);
  EXPECT_EQ(refusal_of(bytes), Refusal::kVersion);
  bytes = immediate(10);
  put16(bytes, 8, 111);
  EXPECT_EQ(refusal_of(bytes), Refusal::kTruncated);
  bytes = immediate(10);
  bytes[20] ^= std::byte{1};
  EXPECT_EQ(refusal_of(bytes), Refusal::kNotForUs);
  for (const std::size_t at : {16U, 18U}) {  // the number of the source's network, its kind
    bytes = immediate(10);
    bytes[at] ^= std::byte{1};
    EXPECT_EQ(refusal_of(bytes), Refusal::kNoSource);
  }
  bytes = immediate(10);
  std::fill_n(bytes.begin() + 12, 8, std::byte{0xff});
  EXPECT_EQ(refusal_of(bytes), Refusal::kNoSource);
  bytes = immediate(10);
  put16(bytes, 4, 0);
  EXPECT_EQ(refusal_of(bytes), Refusal::kType) << "version 0 is HELLO's";
  bytes = hello();
  put16(bytes, 4, 1);
  EXPECT_EQ(refusal_of(bytes), Refusal::kType) << "and HELLO's is 0";
  for (const unsigned type : {0U, 6U, 255U}) {
    bytes = immediate(10);
    bytes[6] = static_cast<std::byte>(type);
    EXPECT_EQ(refusal_of(bytes), Refusal::kType) << type;
  }
  bytes = bulk(2);
  put16(bytes, 8, 109);
  EXPECT_EQ(refusal_of(bytes), Refusal::kTooSmall);
  bytes = immediate(10);
  bytes[7] = std::byte{0xaa};
  EXPECT_EQ(refusal_of(bytes), std::nullopt) << "the kernel leaves this byte as it was";
}

TEST(KfilndWire, HeaderAndBytesMustGoTogether) {
  Bytes bytes = immediate(10);
  bytes.push_back(std::byte{0});
  EXPECT_EQ(refusal_of(bytes), std::nullopt) << "bytes behind the message do not belong to it";
  put16(bytes, 8, 111);
  EXPECT_EQ(refusal_of(bytes), Refusal::kLength);
  bytes = bulk(2, Kind::kBulkGet);
  bytes[6] = static_cast<std::byte>(Kind::kBulkPut);
  EXPECT_EQ(refusal_of(bytes), Refusal::kLength) << "a GET is no PUT";
}

TEST(KfilndWire, ChecksumIsLookedAtOnlyIfThereIsOneAndWeWant) {
  Bytes bytes = immediate(11);
  Checksum checksum;
  checksum.add(std::span(bytes).first(7));  // odd pieces
  checksum.add(std::span(bytes).subspan(7));
  set_checksum(checksum.value(), bytes);
  EXPECT_EQ(refusal_of(bytes), std::nullopt);
  bytes.back() ^= std::byte{1};
  EXPECT_EQ(refusal_of(bytes), Refusal::kChecksum);
  EXPECT_EQ(refusal_of(bytes, false), std::nullopt);
  set_checksum(0, bytes);
  EXPECT_EQ(refusal_of(bytes), std::nullopt);
}

TEST(KfilndWire, TagsContainTheLowHalfOfTheSessionKey) {
  EXPECT_EQ(tag_of(0x0001'2345, 0x6789), 0x2345'6789U);
  EXPECT_EQ(tag_of(0x0002'2345, 0x6789), tag_of(0x0001'2345, 0x6789));
}

}  // namespace
}  // namespace plnet::kfilnd::wire_test
