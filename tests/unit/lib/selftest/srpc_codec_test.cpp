// SPDX-License-Identifier: BSD-3-Clause
#include "lib/selftest/srpc_codec.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include <gtest/gtest.h>

namespace plnet::selftest::srpc_codec_test {
namespace {

using Bytes = std::array<std::byte, kMessageBytes>;

TEST(SrpcCodec, OnlyWholeMessagesWithTheMagicAreRead) {
  std::vector<std::byte> bytes(kMessageBytes);
  EXPECT_EQ(decode_header(bytes).error(), Errc::kProtocol);
  encode(kFeatureBulkLength, PingRequest{.reply_id = 1}, std::span(bytes).first<kMessageBytes>());
  ASSERT_TRUE(decode_header(bytes).has_value());
  EXPECT_FALSE(decode_header(bytes)->swapped);
  EXPECT_EQ(decode_header(std::span(bytes).first(159)).error(), Errc::kMalformed);
  EXPECT_EQ(decode_header({}).error(), Errc::kMalformed);
  bytes.resize(kMessageBytes + 1);
  EXPECT_EQ(decode_header(bytes).error(), Errc::kMalformed);
}

TEST(SrpcCodec, TheResponderChecksTheVersion) {
  Bytes bytes{};
  encode(Header{.version = 7, .type = MessageType::kPingRequest}, PingRequest{}, bytes);
  EXPECT_EQ(decode_header(bytes)->header.version, 7U);
}

TEST(SrpcCodec, TheTailIsZero) {
  Bytes bytes{};
  bytes.fill(std::byte{0xff});
  encode(0, BrwReply{.status = Status::kInvalid}, bytes);
  EXPECT_TRUE(std::all_of(bytes.begin() + 28, bytes.end(),
                          [](std::byte byte) { return byte == std::byte{0}; }));
  bytes.fill(std::byte{0xff});
  encode(0, TestRequest{.parameters = PingParameters{.size = 1, .flags = 2}}, bytes);
  EXPECT_TRUE(std::all_of(bytes.begin() + 90, bytes.end(),
                          [](std::byte byte) { return byte == std::byte{0}; }));
}

TEST(SrpcCodec, UnknownTypesAreNoMessage) {
  Bytes bytes{};
  encode(Header{.type = MessageType::kInvalid}, BrwReply{}, bytes);
  EXPECT_EQ(decode_message(bytes).error(), Errc::kNotSupported);
  encode(Header{.type = static_cast<MessageType>(~0U)}, BrwReply{}, bytes);
  EXPECT_EQ(decode_message(bytes).error(), Errc::kNotSupported);
}

TEST(SrpcCodec, ParametersFollowServiceAndFeatures) {
  Bytes bytes{};
  const auto kind = [&bytes](Service service, std::uint32_t features) {
    TestRequest test{.service = service, .parameters = RawParameters{std::byte{1}}};
    encode(features, test, bytes);
    const auto received = decode_header(bytes);
    return decode_body<TestRequest>(bytes, *received).parameters;
  };
  EXPECT_EQ(kind(Service::kPing, kFeatureBulkLength), TestParameters(PingParameters{.size = 1}));
  EXPECT_EQ(kind(Service::kBrw, kFeatureBulkLength),
            TestParameters(BulkParametersV1{.operation = 1}));
  EXPECT_EQ(kind(Service::kBrw, 0), TestParameters(BulkParametersV0{.operation = 1}));
  EXPECT_EQ(kind(static_cast<Service>(13), 0), TestParameters(RawParameters{std::byte{1}}));
}

TEST(SrpcCodec, NamesEndWhereTheyMust) {
  EXPECT_EQ(text_of(name_from("bulk")), "bulk");
  EXPECT_EQ(text_of(name_from("")), "");
  const std::string_view long_name = "0123456789012345678901234567890123456789";
  EXPECT_EQ(text_of(name_from(long_name)), long_name.substr(0, 31));
  Name unterminated;
  unterminated.fill('x');
  EXPECT_EQ(text_of(unterminated).size(), 32U);
}

TEST(SrpcCodec, RequestsRepliesAndPortals) {
  EXPECT_EQ(request_of(Service::kJoin), MessageType::kJoinRequest);
  EXPECT_EQ(request_of(static_cast<Service>(7)), MessageType::kInvalid);
  EXPECT_EQ(reply_to(MessageType::kBrwRequest), MessageType::kBrwReply);
  EXPECT_EQ(portal_of(Service::kJoin), kFrameworkPortal);
  EXPECT_EQ(portal_of(Service::kBrw), kTestPortal);
}

}  // namespace
}  // namespace plnet::selftest::srpc_codec_test
