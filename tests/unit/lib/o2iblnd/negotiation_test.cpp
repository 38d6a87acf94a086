// SPDX-License-Identifier: BSD-3-Clause
// Answers to connection requests, and the reactions to answers, row by row.
#include "lib/o2iblnd/negotiation.hpp"

#include <algorithm>
#include <array>

#include <gtest/gtest.h>

namespace plnet::o2iblnd::negotiation_test {
namespace {

constexpr std::uint64_t kOwn = 0x0005'0000'0a00'0002;
constexpr std::uint64_t kPeer = 0x0005'0000'0a00'0001;
constexpr Identity kSelf{.nid = kOwn, .incarnation = 77};

using Data = std::array<std::byte, 196>;  // padded, as it arrives

Message request() {
  return {.kind = Kind::kConnectRequest,
          .source_nid = kPeer,
          .source_stamp = 5,
          .destination_nid = kOwn,
          .parameters = {.queue_depth = 8, .max_frags = 257}};
}

Data data_of(const Message& message) {
  Data data{};
  (void)encode(message, 0, data);
  return data;
}

std::optional<RejectReason> judged(const Message& message, const Tunables& tunables = {},
                                   const Identity& self = kSelf, std::uint16_t port = 1023) {
  Message out;
  const auto result = judge_request(data_of(message), port, self, tunables, out);
  return result ? std::nullopt : std::optional(result.error());
}

TEST(O2iblndNegotiation, ASoundRequestIsTaken) {
  EXPECT_EQ(judged(request()), std::nullopt);
  Message other = request();
  other.version = kVersion1;
  other.parameters.max_frags = 256;
  EXPECT_EQ(judged(other), std::nullopt);
  other = request();
  other.destination_stamp = 77;
  EXPECT_EQ(judged(other), std::nullopt);
}

TEST(O2iblndNegotiation, EachCheckHasItsReason) {
  EXPECT_EQ(judged(request(), {.require_privileged_port = 1}, kSelf, 1024), RejectReason::kFatal);
  EXPECT_EQ(judged(request(), {.require_privileged_port = 1}, kSelf, 1023), std::nullopt);
  EXPECT_EQ(judged(request(), {}, {.nid = kOwn, .incarnation = 77, .ready = false}),
            RejectReason::kEarly);
  Message one = request();
  one.destination_nid = kPeer;
  EXPECT_EQ(judged(one), RejectReason::kFatal);
  one = request();
  one.destination_stamp = 78;
  EXPECT_EQ(judged(one), RejectReason::kStale);
  one = request();
  one.kind = Kind::kConnectAck;
  EXPECT_EQ(judged(one), RejectReason::kFatal);
  one = request();
  one.parameters.queue_depth = 9;
  EXPECT_EQ(judged(one), RejectReason::kQueueDepth);
  EXPECT_EQ(judged(one, {.peer_credits = 32}), std::nullopt);
  one.version = kVersion1;
  EXPECT_EQ(judged(one, {.peer_credits = 32}), RejectReason::kFatal);
  one = request();
  one.parameters.max_frags = 258;
  EXPECT_EQ(judged(one), RejectReason::kFragments);
  one = request();
  one.parameters.max_msg_size = 4097;
  EXPECT_EQ(judged(one), RejectReason::kFatal);
  one = request();
  one.parameters.queue_depth = 0;
  EXPECT_EQ(judged(one), RejectReason::kFatal);
}

TEST(O2iblndNegotiation, NonsenseIsRejectedWithOurVersion) {
  Message out;
  for (std::size_t length = 0; length < kConnectBytes; ++length) {
    const Data data = data_of(request());
    const auto result = judge_request(std::span(data).first(length), 1, kSelf, {}, out);
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error(), RejectReason::kFatal);
    EXPECT_EQ(rejection(result.error(), out, kSelf, {}).version, kVersion2);
  }
  Data data = data_of(request());
  data[4] = std::byte{0x13};  // a future version
  EXPECT_FALSE(judge_request(data, 1, kSelf, {}, out).has_value());
  EXPECT_EQ(out.version, kVersion2);
}

TEST(O2iblndNegotiation, ARejectionContainsOurLimits) {
  Message one = request();
  one.parameters.queue_depth = 64;
  Message out;
  const Tunables tunables{.peer_credits = 16};
  ASSERT_FALSE(judge_request(data_of(one), 1, kSelf, tunables, out).has_value());
  const auto reject =
      decode_reject(encode(rejection(RejectReason::kQueueDepth, out, kSelf, tunables)));
  ASSERT_TRUE(reject.has_value());
  EXPECT_EQ(reject->incarnation, 77U);
  EXPECT_EQ(reject->parameters, (Parameters{.queue_depth = 16, .max_frags = 257}));
}

TEST(O2iblndNegotiation, AnAnswerGrantsNoMoreThanWasAsked) {
  const Offer asked{.queue_depth = 8};
  Message ack{.kind = Kind::kConnectAck,
              .source_nid = kPeer,
              .source_stamp = 5,
              .destination_nid = kOwn,
              .destination_stamp = 77,
              .parameters = {.queue_depth = 8, .max_frags = 257}};
  Message out;
  const auto judge = [&](const Message& message) {
    const auto result = judge_ack(data_of(message), asked, kSelf, out);
    return result ? std::nullopt : std::optional(result.error());
  };
  EXPECT_EQ(judge(ack), std::nullopt);
  ack.parameters.queue_depth = 4;
  EXPECT_EQ(judge(ack), std::nullopt);
  ack.parameters.queue_depth = 9;
  EXPECT_EQ(judge(ack), Errc::kProtocol);
  ack.parameters = {.queue_depth = 8, .max_frags = 258};
  EXPECT_EQ(judge(ack), Errc::kProtocol);
  ack.parameters = {.queue_depth = 8, .max_frags = 257, .max_msg_size = 8192};
  EXPECT_EQ(judge(ack), Errc::kProtocol);
  ack.parameters = {.queue_depth = 0, .max_frags = 257};
  EXPECT_EQ(judge(ack), Errc::kProtocol);
  ack.parameters = {.queue_depth = 8, .max_frags = 257};
  ack.version = kVersion1;
  EXPECT_EQ(judge(ack), Errc::kProtocol);
  ack.version = kVersion2;
  ack.destination_stamp = 76;
  EXPECT_EQ(judge(ack), Errc::kStale);
  ack.kind = Kind::kConnectRequest;
  EXPECT_EQ(judge(ack), Errc::kProtocol);
}

Retry retry_of(const Reject& reject, const Offer& asked = {.queue_depth = 8}) {
  std::array<std::byte, 148> data{};
  std::ranges::copy(encode(reject), data.begin());
  return judge_reject(RejectKind::kByPeer, data, asked);
}

TEST(O2iblndNegotiation, EachReasonHasItsRetry) {
  const Parameters limits{.queue_depth = 4, .max_frags = 256};
  const auto why = [&](RejectReason reason) {
    return retry_of({.why = reason, .incarnation = 9, .parameters = limits});
  };
  EXPECT_TRUE(why(RejectReason::kRace).again);
  EXPECT_TRUE(why(RejectReason::kRace).race);
  EXPECT_FALSE(why(RejectReason::kNoResources).again);
  EXPECT_FALSE(why(RejectReason::kFatal).again);
  EXPECT_FALSE(why(RejectReason::kServiceId).again);
  EXPECT_FALSE(why(RejectReason::kEarly).again);
  EXPECT_EQ(why(RejectReason::kEarly).cause, Errc::kRefused);
  EXPECT_TRUE(why(RejectReason::kStale).again);
  EXPECT_EQ(why(RejectReason::kStale).incarnation, 9U);
  EXPECT_TRUE(why(RejectReason::kIncompatible).again);
  EXPECT_EQ(why(RejectReason::kFragments).max_frags, 256);
  EXPECT_TRUE(why(RejectReason::kFragments).again);
  EXPECT_EQ(why(RejectReason::kQueueDepth).queue_depth, 4);
  EXPECT_TRUE(why(RejectReason::kQueueDepth).again);
  // Limits that are not lower than the requested ones change nothing.
  EXPECT_FALSE(
      retry_of({.why = RejectReason::kQueueDepth, .parameters = limits}, {.queue_depth = 4}).again);
  EXPECT_FALSE(retry_of({.why = RejectReason::kFragments, .parameters = limits},
                        {.queue_depth = 8, .max_frags = 256})
                   .again);
  EXPECT_FALSE(why(static_cast<RejectReason>(200)).again);
}

TEST(O2iblndNegotiation, AnOldPeerIsAskedInItsVersion) {
  const Retry retry = retry_of({.version = kVersion1, .why = RejectReason::kFatal});
  EXPECT_TRUE(retry.again);
  EXPECT_EQ(retry.version, kVersion1);
  EXPECT_EQ(retry.incarnation, ~0ULL);
  // With the same version the reason is final.
  EXPECT_FALSE(retry_of({.version = kVersion1, .why = RejectReason::kFatal},
                        {.version = kVersion1, .queue_depth = 8})
                   .again);
}

TEST(O2iblndNegotiation, OtherRejections) {
  const Offer asked{.queue_depth = 8};
  EXPECT_EQ(judge_reject(RejectKind::kNobodyListens, {}, asked).cause, Errc::kNoRoute);
  EXPECT_TRUE(judge_reject(RejectKind::kStaleConnection, {}, asked).again);
  EXPECT_FALSE(judge_reject(RejectKind::kOther, {}, asked).again);
  std::array<std::byte, kRejectBytes> data = encode(Reject{.why = RejectReason::kStale});
  for (std::size_t length = 0; length < kRejectBytesMin; ++length)
    EXPECT_FALSE(judge_reject(RejectKind::kByPeer, std::span(data).first(length), asked).again);
  // The shortest valid one has no incarnation.
  const auto retry = judge_reject(RejectKind::kByPeer, std::span(data).first(7), asked);
  EXPECT_TRUE(retry.again);
  EXPECT_EQ(retry.incarnation, ~0ULL);
  data[0] = std::byte{0};
  EXPECT_FALSE(judge_reject(RejectKind::kByPeer, data, asked).again);
  // In the other byte order.
  data = encode(Reject{.why = RejectReason::kQueueDepth,
                       .incarnation = 9,
                       .parameters = Parameters{.queue_depth = 5, .max_frags = 9}});
  for (const auto& [at, length] : {std::pair{0, 4}, {4, 2}, {8, 8}, {16, 2}, {18, 2}, {20, 4}})
    std::ranges::reverse(
        std::span(data).subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(length)));
  EXPECT_EQ(judge_reject(RejectKind::kByPeer, data, asked).queue_depth, 5);
}

}  // namespace
}  // namespace plnet::o2iblnd::negotiation_test
