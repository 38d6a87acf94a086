// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "lib/socklnd/checksum.hpp"
#include "tests/unit/lib/lnet/vectors.hpp"
#include "tests/unit/lib/socklnd/framed_stream.hpp"

namespace plnet::socklnd {
namespace {

namespace vectors = lnet::vectors;
using lnet::MessageHeader;
using lnet::MessageType;
using lnet::Nid;
using vectors::Bytes;

void append(Bytes& stream, std::span<const std::byte> bytes) {
  stream.insert(stream.end(), bytes.begin(), bytes.end());
}

void append_frame(Bytes& stream, const Frame& frame) {
  std::array<std::byte, kFrameBytes> out{};
  encode_frame(frame, out);
  append(stream, out);
}

void append_message(Bytes& stream, Protocol protocol, std::uint32_t length,
                    std::array<std::uint64_t, 2> cookies = {}) {
  append_frame(stream, {.type = kFrameLnet, .cookies = cookies});
  MessageHeader header{.destination = Nid::of(lnet::NetType::kTcp, 0, 1),
                       .source = Nid::of(lnet::NetType::kTcp, 0, 2),
                       .type = MessageType::kPut,
                       .payload_length = length};
  std::array<std::byte, lnet::kHeaderNid16Bytes> out{};
  if (protocol == Protocol::kV4) {
    encode_header_nid16(header, out);
  } else {
    ASSERT_TRUE(encode_header_nid4(header, std::span(out).first<lnet::kHeaderNid4Bytes>()));
  }
  append(stream, std::span(out).first(lnet_header_bytes(protocol)));
  for (std::uint32_t i = 0; i < length; ++i)
    stream.push_back(static_cast<std::byte>(i * 7 + length));
}

Bytes everything(Protocol protocol) {
  Bytes stream;
  for (const std::uint32_t length : {0U, 1U, 64U, 927U, 5000U, 0U, 70'000U}) {
    append_message(stream, protocol, length, {length % 3 == 0 ? length : 0, 0});
    append_frame(stream, {.type = kFrameNoop, .cookies = {0, 40 + length}});
    append_message(stream, protocol, length / 2, {0, 9});
  }
  return stream;
}

TEST(SocklndFraming, CutsDoNotChangeTheResult) {
  for (const Protocol protocol : {Protocol::kV2, Protocol::kV3, Protocol::kV4}) {
    const Bytes stream = everything(protocol);
    for (const auto wants : {FramedStream::Wants::kAll, FramedStream::Wants::kSome}) {
      FramedStream whole(protocol, false, 1, wants);
      whole.feed(stream, false);
      ASSERT_EQ(whole.messages.size(), 14U);
      EXPECT_EQ(whole.noops, 7U);
      EXPECT_EQ(whole.acknowledged.size(), 14U);
      EXPECT_TRUE(whole.framing().at_boundary());
      for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        FramedStream cut(protocol, false, seed, wants);
        cut.feed(stream, true);
        ASSERT_EQ(cut.messages, whole.messages) << "seed " << seed;
        ASSERT_EQ(cut.acknowledged, whole.acknowledged) << "seed " << seed;
        EXPECT_TRUE(cut.framing().at_boundary());
      }
    }
  }
}

TEST(SocklndFraming, ThePayloadEqualsTheSentBytes) {
  Bytes stream;
  append_message(stream, Protocol::kV3, 900);
  FramedStream reader(Protocol::kV3, false, 3);
  reader.feed(stream, true);
  ASSERT_EQ(reader.messages.size(), 1U);
  EXPECT_EQ(reader.messages[0].payload, Bytes(stream.end() - 900, stream.end()));
}

TEST(SocklndFraming, AnEndIsOrderlyBetweenMessagesOnly) {
  Bytes stream;
  append_message(stream, Protocol::kV3, 20);
  for (std::size_t length = 0; length <= stream.size(); ++length) {
    FramedStream reader(Protocol::kV3, false, 1);
    reader.feed(std::span(stream).first(length), false);
    EXPECT_EQ(reader.framing().at_boundary(), length == 0 || length == stream.size()) << length;
  }
}

// The acknowledgement is sent when the accepted part has arrived, before the rest is skipped.
TEST(SocklndFraming, AcceptedPayloadIsDoneBeforeTheRestIsSkipped) {
  Bytes stream;
  append_message(stream, Protocol::kV3, 30, {77, 0});
  stream.resize(stream.size() - 5);
  FramedStream reader(Protocol::kV3, false, 1, FramedStream::Wants::kSome);
  reader.feed(stream, false);
  ASSERT_EQ(reader.messages.size(), 1U);
  EXPECT_TRUE(reader.messages[0].whole);
  EXPECT_EQ(reader.messages[0].request_cookie, 77U);
  EXPECT_FALSE(reader.framing().at_boundary());
}

TEST(SocklndFraming, GoldenMessagesWithChecksumsPassAndOneWrongBitFails) {
  unsigned checked = 0;
  for (const auto& vector : vectors::all()) {
    if (vectors::name(vector).find("/csum-v2/") == std::string::npos) continue;
    SCOPED_TRACE(vectors::name(vector));
    const Bytes bytes = vectors::bytes_of(vector);
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      FramedStream good(Protocol::kV2, false, seed);
      good.feed(bytes, seed > 0);
      EXPECT_FALSE(good.framing().failed());
      EXPECT_TRUE(good.framing().at_boundary());
    }
    for (std::size_t at = 8; at < bytes.size(); ++at) {
      if (at >= kFrameBytes + 28 && at < kFrameBytes + 32) continue;  // these change the length
      Bytes wrong = bytes;
      wrong[at] ^= std::byte{0x10};
      FramedStream bad(Protocol::kV2, false, at);
      bad.feed(wrong, true);
      const bool noop = bytes.size() == kFrameBytes;
      EXPECT_EQ(bad.framing().failure(),
                noop ? Framing::Failure::kNoopChecksum : Framing::Failure::kPayloadChecksum)
          << "byte " << at;
      if (!noop) {
        EXPECT_FALSE(bad.messages.at(0).whole);
      }
      ++checked;
    }
  }
  EXPECT_GT(checked, 500U);
}

TEST(SocklndFraming, ATruncatedMessageHasNoChecksumToCompare) {
  for (const auto& vector : vectors::group("ksock_msg.nid4.PUT")) {
    if (vectors::name(vector) != "ksock_msg.nid4.PUT/csum-v2/push") continue;
    Bytes bytes = vectors::bytes_of(vector);
    bytes.back() ^= std::byte{1};
    FramedStream reader(Protocol::kV2, false, 1, FramedStream::Wants::kSome);
    reader.feed(bytes, true);
    EXPECT_FALSE(reader.framing().failed());
    EXPECT_TRUE(reader.messages.at(0).whole);
  }
}

Framing::Failure failure_of(const Frame& frame, Protocol protocol = Protocol::kV3) {
  Bytes stream;
  append_frame(stream, frame);
  FramedStream reader(protocol, false, 1);
  reader.feed(stream, false);
  return reader.framing().failure();
}

// Peers of V3 and later send no checksums. If one comes anyway, the kernel compares it with the sum
// over the payload alone.
TEST(SocklndFraming, AChecksumOnV3IsComparedWithThatOfThePayload) {
  for (const Protocol protocol : {Protocol::kV3, Protocol::kV4}) {
    Bytes stream;
    append_message(stream, protocol, 100);
    const std::size_t head = kFrameBytes + lnet_header_bytes(protocol);
    const auto whole = std::span<const std::byte>(stream);
    for (const auto& [sum, right] :
         {std::pair{add_to_checksum(kChecksumStart, whole.subspan(head)), true},
          {add_to_checksum(kChecksumStart, whole), false}}) {
      Bytes summed = stream;
      set_frame_checksum(sum, std::span(summed).first<kFrameBytes>());
      FramedStream reader(protocol, false, 1);
      reader.feed(summed, false);
      EXPECT_EQ(reader.framing().failed(), !right);
    }
    for (const std::uint32_t sum : {kChecksumStart, kChecksumStart - 1}) {
      Bytes noop;
      append_frame(noop, {.type = kFrameNoop, .checksum = sum});
      FramedStream reader(protocol, false, 1);
      reader.feed(noop, false);
      EXPECT_EQ(reader.framing().failed(), sum != kChecksumStart);
    }
  }
}

TEST(SocklndFraming, ProtocolViolationsFail) {
  using Failure = Framing::Failure;
  EXPECT_EQ(failure_of({.type = 0xc2}), Failure::kFrameType);
  EXPECT_EQ(failure_of({.type = 0}), Failure::kFrameType);
  EXPECT_EQ(failure_of({.type = kFrameNoop, .checksum = 1}), Failure::kNoopChecksum);
  EXPECT_EQ(failure_of({.type = kFrameNoop, .cookies = {5, 1}}), Failure::kCookies);
  EXPECT_EQ(failure_of({.type = kFrameNoop, .cookies = {0, 1}}), Failure::kNone);
}

TEST(SocklndFraming, ASenderOfTheOtherByteOrderIsUnderstood) {
  for (const auto& vector : vectors::all()) {
    if (vectors::name(vector) != "opposite-order/ksock_msg_hdr/real/noop-zcack-42") continue;
    FramedStream reader(Protocol::kV3, true, 1);
    reader.feed(vectors::bytes_of(vector), false);
    ASSERT_EQ(reader.acknowledged.size(), 1U);
    EXPECT_EQ(reader.acknowledged[0].first, 42U);
  }
}

}  // namespace
}  // namespace plnet::socklnd
