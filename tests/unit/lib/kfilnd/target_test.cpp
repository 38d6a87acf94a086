// SPDX-License-Identifier: BSD-3-Clause
// The rows of the table for incoming messages: data read from, written to, or answered at the peer.
#include <algorithm>

#include <gtest/gtest.h>

#include "tests/unit/lib/kfilnd/scripted_endpoint.hpp"

namespace plnet::kfilnd::target_test {
namespace {

using Call = ScriptedEndpoint::Call;
using enum FabricEvent;

constexpr std::uint32_t kTransfer = 65536;

class TargetRows : public testing::Test {
 public:
  TargetRows() { node.meet(); }
  ~TargetRows() override { node.expect_clean(); }

  void bulk_arrives(Kind kind, std::uint16_t version = 2, std::uint32_t length = kTransfer) {
    const auto type = kind == Kind::kBulkPut ? lnet::MessageType::kPut : lnet::MessageType::kGet;
    Message message = lnet_message(1, 0, kind, version, type, length);
    message.response_rx = 9;
    message.key = 0x42;
    message.session_key = 0x1234'5678;
    if (kind == Kind::kBulkPut)
      message.header.set_area(lnet::PutArea{.ack_handle = {}, .match_bits = 1});
    node.arrive(bytes_of(message));
  }

  ScriptedNode node;
};

TEST_F(TargetRows, PutIsReadFromTheInitiatorsContext) {
  bulk_arrives(Kind::kBulkPut);
  const auto read = node.endpoint.take(Call::kRead);
  EXPECT_EQ(read.to.receive_context, 9);
  EXPECT_EQ(read.tag, 0x5678'0042U);
  EXPECT_EQ(read.payload.length, kTransfer);
  EXPECT_EQ(node.core->tally().puts, 0U);
  node.done(kRemoteDone, read);
  EXPECT_EQ(node.core->tally().puts, 1U);
}

TEST_F(TargetRows, VersionOneTakesTheSessionKeyOfTheHello) {
  bulk_arrives(Kind::kBulkGet, 1);
  const auto write = node.endpoint.take(Call::kWrite);
  EXPECT_EQ(write.tag, tag_of(77, 0x42));
  node.done(kRemoteDone, write);
  EXPECT_EQ(node.core->tally().served_by_lnd, 1U);
}

TEST_F(TargetRows, OperationsThatFail) {
  for (const Errc cause : {Errc::kTimedOut, Errc::kNoSpace, Errc::kRefused}) {
    bulk_arrives(Kind::kBulkPut);
    node.done(kRemoteDone, node.endpoint.take(Call::kRead), std::unexpected(cause));
    EXPECT_EQ(node.state(), PeerState::kStale);
    node.meet();
  }
  EXPECT_EQ(node.core->tally().receive_failures, 3U);
  EXPECT_EQ(std::ranges::count(node.core->notices(), lnet::PeerNotice::kLost), 0);
  node.endpoint.fail_next(Call::kRead, Errc::kIo);
  bulk_arrives(Kind::kBulkPut);
  EXPECT_EQ(node.core->tally().receive_failures, 4U);
}

// It cannot be answered, and our interface is not at fault.
TEST_F(TargetRows, AContextThatNoProcessHas) {
  for (const Kind kind : {Kind::kBulkPut, Kind::kBulkGet}) {
    const auto type = kind == Kind::kBulkPut ? lnet::MessageType::kPut : lnet::MessageType::kGet;
    Message message = lnet_message(1, 0, kind, 2, type, kTransfer);
    message.response_rx = 16;
    node.arrive(bytes_of(message));
  }
  EXPECT_EQ(node.count(LndId::kNoContext), 2U);
  node.hello(Kind::kHelloRequest, {.rx_base = 16, .session_key = 5});
  node.hello(Kind::kHelloResponse, {.rx_base = 255, .session_key = 5});
  EXPECT_EQ(node.count(LndId::kNoContext), 4U);
  EXPECT_EQ(node.lnd->peer(nid_of(1))->rx_base, 3) << "as it was";
  EXPECT_EQ(node.lnd->peer(nid_of(1))->remote_session_key, 77U);
  EXPECT_TRUE(node.endpoint.posts.empty());
  EXPECT_EQ(node.lnd->transactions(), 0U);
  EXPECT_EQ(node.core->tally().receive_failures, 0U);
  node.hello(Kind::kHelloRequest, {.rx_base = 15, .session_key = 77});
  EXPECT_EQ(node.endpoint.take(Call::kSend).to.receive_context, 15) << "the last that there is";
}

TEST_F(TargetRows, OperationsThatAreRefusedFirst) {
  node.endpoint.fail_next(Call::kRead, Errc::kAgain, 2);
  bulk_arrives(Kind::kBulkPut);
  for (int i = 0; i < 3; ++i)
    node.turn();
  node.done(kRemoteDone, node.endpoint.take(Call::kRead));
  EXPECT_EQ(node.core->tally().puts, 1U);
}

TEST_F(TargetRows, EmptyTransfers) {
  bulk_arrives(Kind::kBulkPut, 2, 0);
  const auto answer = node.endpoint.take(Call::kAnswer);
  EXPECT_EQ(answer.data, 0U);
  EXPECT_EQ(answer.tag, 0x5678'0042U);
  node.done(kRemoteDone, answer);
  EXPECT_EQ(node.core->tally().puts, 1U) << "a length of 0 is an ordinary case";
}

// A core that asks for more bytes than the message has.
class GreedyCore final : public lnet::LndUpcalls {
 public:
  lnet::RxDecision on_header(const lnet::RxOffer& /*offer*/) override {
    return {.verdict = lnet::RxVerdict::kReceive,
            .target = {{&place_, 1}, 0, kTransfer + 1},
            .length = kTransfer + 1};
  }
  void on_received(lnet::RxHandle, Result<void> status, Health health) override {
    received.emplace_back(status, health);
  }
  void on_sent(std::span<const lnet::Completion>) override {}
  void on_parked_gone(lnet::RxHandle, Errc) override {}
  void on_quarantine_over(lnet::Transmit&) override {}
  void on_lane(lnet::PeerLink&, lnet::LaneId, bool, bool) override {}
  void on_peer(const lnet::Nid&, lnet::PeerNotice, Instant) override {}
  void on_peer_released(lnet::PeerLink&) override {}
  void on_interface(lnet::InterfaceState, Errc) override {}

  std::vector<std::pair<Result<void>, Health>> received;

 private:
  const Fragment place_{{0, 1U << 19U}, 2 * kTransfer};
};

TEST(KfilndDecision, LongerThanTheRequestedLength) {
  std::vector<std::byte> bytes(1U << 20U);
  ArenaTable arenas;
  const ArenaId arena = arenas.add({.base = bytes.data(), .size = bytes.size()}).value();
  ScriptedEndpoint endpoint;
  GreedyCore core;
  KfiLnd lnd({.nid = nid_of(0), .arenas = &arenas, .receive_memory = {{arena, 0}, 1U << 18U}}, core,
             endpoint);
  std::uint32_t offset = 0;
  const auto arrive = [&](const Message& message) {
    const std::vector<std::byte> what = bytes_of(message);
    std::ranges::copy(what, bytes.begin() + offset);
    const FabricCompletion completion{.event = kMessage,
                                      .cookie = 0,
                                      .length = static_cast<std::uint32_t>(what.size()),
                                      .offset = offset};
    offset += completion.length;
    lnd.on_completions({&completion, 1});
    (void)lnd.flush({});
  };
  arrive(hello_message(1, 0, Kind::kHelloRequest, {.session_key = 4}));
  arrive(lnet_message(1, 0, Kind::kBulkPut, 2, lnet::MessageType::kPut, kTransfer));
  arrive(lnet_message(1, 0, Kind::kBulkGet, 2, lnet::MessageType::kGet, kTransfer));
  EXPECT_EQ(endpoint.waiting(Call::kRead) + endpoint.waiting(Call::kWrite), 0U);
  for (int i = 0; i < 2; ++i) {
    const auto answer = endpoint.take(Call::kAnswer);
    EXPECT_EQ(answer.data, static_cast<std::uint64_t>(errno_of(Errc::kProtocol)));
    const FabricCompletion done{.event = kRemoteDone, .cookie = answer.cookie};
    lnd.on_completions({&done, 1});
  }
  ASSERT_EQ(core.received.size(), 2U);
  for (const auto& [status, health] : core.received) {
    EXPECT_EQ(status, Result<void>(std::unexpected(Errc::kProtocol)));
    EXPECT_EQ(health, Health::kLocalError);
  }
}

TEST(KfilndDropping, BulkIsAnsweredAndImmediateIsNot) {
  ScriptedNode node({}, 0, 100);
  node.meet();
  Message message = lnet_message(1, 0, Kind::kBulkGet, 2, lnet::MessageType::kGet, kTransfer);
  node.arrive(bytes_of(message));
  auto answer = node.endpoint.take(Call::kAnswer);
  EXPECT_EQ(answer.data, 61U) << "ENODATA";
  node.done(kRemoteDone, answer);
  message = lnet_message(1, 0, Kind::kBulkPut, 2, lnet::MessageType::kPut, kTransfer);
  node.endpoint.fail_next(Call::kAnswer, Errc::kAgain);
  node.arrive(bytes_of(message));
  node.turn();
  answer = node.endpoint.take(Call::kAnswer);
  EXPECT_EQ(answer.data, 0U);
  node.done(kRemoteDone, answer, std::unexpected(Errc::kTimedOut));
  EXPECT_EQ(node.state(), PeerState::kStale);
  node.arrive(bytes_of(lnet_message(1, 0, Kind::kImmediate, 2, lnet::MessageType::kPut, 9), 9));
  EXPECT_EQ(node.endpoint.waiting(Call::kAnswer), 0U);
  EXPECT_EQ(node.core->tally().dropped, 3U);
  EXPECT_LE(node.lnd->transactions(), 1U) << "a HELLO to the stale peer";
  node.expect_clean();
}

}  // namespace
}  // namespace plnet::kfilnd::target_test
