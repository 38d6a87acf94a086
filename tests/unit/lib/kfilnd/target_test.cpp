// SPDX-License-Identifier: BSD-3-Clause
// The rows of the table for messages that come: what is read, written or answered at the peer.
#include <gtest/gtest.h>

#include "tests/unit/lib/kfilnd/scripted_endpoint.hpp"

namespace plnet::kfilnd {
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
  for (const Errc cause : {Errc::kTimedOut, Errc::kNoSpace}) {
    bulk_arrives(Kind::kBulkPut);
    node.done(kRemoteDone, node.endpoint.take(Call::kRead), std::unexpected(cause));
    EXPECT_EQ(node.state(), PeerState::kStale);
    node.meet();
  }
  EXPECT_EQ(node.core->tally().receive_failures, 2U);
  node.endpoint.fail_next(Call::kRead, Errc::kIo);
  bulk_arrives(Kind::kBulkPut);
  EXPECT_EQ(node.core->tally().receive_failures, 3U);
}

TEST_F(TargetRows, OperationsThatAreRefusedFirst) {
  node.endpoint.fail_next(Call::kRead, Errc::kAgain, 2);
  bulk_arrives(Kind::kBulkPut);
  for (int i = 0; i < 3; ++i)
    node.turn();
  node.done(kRemoteDone, node.endpoint.take(Call::kRead));
  EXPECT_EQ(node.core->tally().puts, 1U);
}

TEST_F(TargetRows, NothingWanted) {
  bulk_arrives(Kind::kBulkPut, 2, 0);
  const auto answer = node.endpoint.take(Call::kAnswer);
  EXPECT_EQ(answer.data, 0U);
  EXPECT_EQ(answer.tag, 0x5678'0042U);
  node.done(kRemoteDone, answer);
  EXPECT_EQ(node.core->tally().puts, 1U) << "a length of 0 is an ordinary case";
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
}  // namespace plnet::kfilnd
