// SPDX-License-Identifier: BSD-3-Clause
// Messages that our requester never sends, and replies that our responder never gives.
#include <algorithm>
#include <utility>

#include <gtest/gtest.h>

#include "tests/unit/lib/selftest/rpc_fixture.hpp"

namespace plnet::selftest::rpc_strangers_test {
namespace {

class RpcStrangers : public RpcTest {};

TEST_P(RpcStrangers, InvalidRequestsAreDropped) {
  server.responder.open();
  RawPeer stranger(nodes, 0);
  const auto bits = static_cast<std::uint64_t>(Service::kPing);
  const auto send = [&](std::uint32_t length = kMessageBytes) {
    stranger.put(nodes.id(1), kTestPortal, bits, length);
    settle();
  };
  encode(0, PingRequest{}, stranger.out());
  send(159);
  encode(0, BrwRequest{}, stranger.out());
  send();
  encode(Header{.magic = 5, .type = MessageType::kPingRequest}, PingRequest{}, stranger.out());
  send();
  EXPECT_EQ(server.requests, 0U);
  EXPECT_EQ(server.statistics.get(RpcCount::kReceived), 3U);
  EXPECT_EQ(server.statistics.get(RpcCount::kDropped), 3U);
  EXPECT_EQ(server.statistics.get(RpcCount::kMalformed), 3U);
  EXPECT_EQ(server.responder.posted_buffers(), 2 * kBuffers);
  expect_clean();
}

TEST_P(RpcStrangers, AnotherVersionIsRefused) {
  server.responder.open();
  RawPeer stranger(nodes, 0);
  stranger.listen(kRdmaPortal, 77, nodes.id(1));
  encode(Header{.version = 2, .type = MessageType::kPingRequest}, PingRequest{.reply_id = 77},
         stranger.out());
  stranger.put(nodes.id(1), kTestPortal, static_cast<std::uint64_t>(Service::kPing));
  settle();
  EXPECT_EQ(server.requests, 0U);
  ASSERT_EQ(stranger.heard(), 1U);
  const auto reply = decode_message(stranger.in());
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(std::get<PingReply>(reply->body).status, Status::kProtocol);
  expect_clean();
}

TEST_P(RpcStrangers, ARequestOfTheOtherByteOrderIsUnderstood) {
  server.responder.open();
  RawPeer stranger(nodes, 0);
  stranger.listen(kRdmaPortal, 0x6553f1000000000b, nodes.id(1));
  encode(0, PingRequest{.reply_id = 0x6553f1000000000b, .sequence = 41}, stranger.out());
  for (const auto& [at, length] : {std::pair{0, 4}, {4, 4}, {8, 4}, {24, 8}, {32, 4}, {36, 4}})
    std::reverse(stranger.out().begin() + at, stranger.out().begin() + at + length);
  stranger.put(nodes.id(1), kTestPortal, static_cast<std::uint64_t>(Service::kPing));
  settle();
  ASSERT_EQ(stranger.heard(), 1U);
  const auto reply = decode_message(stranger.in());
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(std::get<PingReply>(reply->body).sequence, 41U);
}

TEST_P(RpcStrangers, AReplyToSomethingElseIsAnError) {
  for (const bool short_one : {false, true}) {
    RawPeer liar(nodes, 1);
    liar.listen(kTestPortal, static_cast<std::uint64_t>(Service::kPing));
    ping(1);
    settle();
    ASSERT_EQ(liar.heard(), 1U);
    const auto request = decode_message(liar.in());
    ASSERT_TRUE(request.has_value());
    const std::uint64_t reply_id = std::get<PingRequest>(request->body).reply_id;
    if (short_one) {
      encode(0, PingReply{}, liar.out());
    } else {
      encode(0, BrwReply{}, liar.out());
    }
    liar.put(nodes.id(0), kRdmaPortal, reply_id, short_one ? 36 : kMessageBytes);
    settle();
  }
  ASSERT_EQ(outcomes.size(), 2U);
  EXPECT_EQ(outcomes[0].error(), Errc::kMalformed);
  EXPECT_EQ(outcomes[1].error(), Errc::kMalformed);
  EXPECT_EQ(nodes.descriptors(0), 0U);
}

INSTANTIATE_TEST_SUITE_P(Wires, RpcStrangers, testing::Values(Wire::kStream, Wire::kRdma),
                         [](const auto& wire) {
                           return wire.param == Wire::kStream ? "stream" : "rdma";
                         });

}  // namespace
}  // namespace plnet::selftest::rpc_strangers_test
