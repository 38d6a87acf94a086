// SPDX-License-Identifier: BSD-3-Clause
// Every row of the table of states and events, with both orders of a request's completion and its
// buffer's completion.
#include "lib/kfilnd/transitions.hpp"

#include <gtest/gtest.h>

#include "tests/unit/lib/kfilnd/scripted_endpoint.hpp"

namespace plnet::kfilnd::transitions_test {
namespace {

using Call = ScriptedEndpoint::Call;
using enum FabricEvent;

constexpr std::uint32_t kBulk = 65536;
const std::unexpected<Errc> kTimedOut(Errc::kTimedOut);

TEST(KfilndTable, KnowsExactlyTheRowsOfTheSpecAndOurs) {
  std::size_t rows = 0;
  for (const auto& state : kTransitions) {
    for (const TransactionAction action : state)
      rows += action == TransactionAction::kNone ? 0U : 1U;
  }
  EXPECT_EQ(rows, 46U);
  for (std::size_t event = 0; event < kTransactionEvents; ++event) {
    EXPECT_EQ(kTransitions[0][event], TransactionAction::kNone) << "INVALID is over";
    EXPECT_EQ(action_for(TransactionState::kWaitTimeoutComp, static_cast<TransactionEvent>(event)),
              TransactionAction::kNone)
        << "a timer here is cancelled or has fired, never between the two";
  }
}

TEST(KfilndTable, NamesAndNumbersAreTheKernels) {
  EXPECT_EQ(name_of(TransactionState::kWaitTimeoutTagComp), "WAIT_TOUT_TAG_COMP");
  EXPECT_EQ(static_cast<int>(TransactionState::kWaitTagRmaComp), 12);
}

class Rows : public testing::Test {
 public:
  Rows() { node.meet(); }
  ~Rows() override { node.expect_clean(); }

  void expect_end(Result<void> status, Health health) {
    ASSERT_EQ(node.completions(), 1U);
    EXPECT_EQ(node.last().status, status);
    EXPECT_EQ(node.last().health, health);
    EXPECT_EQ(node.lnd->transactions(), node.endpoint.waiting(Call::kSend)) << "HELLOs only";
  }
  struct Bulk {
    ScriptedEndpoint::Post tagged;
    ScriptedEndpoint::Post request;
  };
  Bulk begin(bool put = true) {
    put ? (void)node.put(kBulk) : (void)node.get(kBulk);
    return {node.endpoint.take(Call::kPostTagged), node.endpoint.take(Call::kSend)};
  }

  ScriptedNode node;
};

TEST_F(Rows, ImmediateSent) {
  node.put(100);
  const auto send = node.endpoint.take(Call::kSend);
  EXPECT_EQ(send.message.kind, Kind::kImmediate);
  EXPECT_EQ(send.message.version, 2);
  EXPECT_EQ(send.to.receive_context, 3) << "as its HELLO said";
  EXPECT_EQ(node.completions(), 0U);
  node.done(kSent, send);
  expect_end({}, Health::kOk);
}

TEST_F(Rows, ImmediateSendFails) {
  struct Case {
    Errc cause;
    Health health;
    PeerState then;
  };
  std::size_t ended = 0;
  for (const Case& one : {Case{Errc::kTimedOut, Health::kNetworkTimeout, PeerState::kStale},
                          Case{Errc::kIo, Health::kNetworkTimeout, PeerState::kStale},
                          Case{Errc::kNoSpace, Health::kRemoteError, PeerState::kStale},
                          Case{Errc::kRefused, Health::kRemoteError, PeerState::kStale},
                          Case{Errc::kNoRoute, Health::kRemoteError, PeerState::kDown}}) {
    node.put(100);
    node.done(kSent, node.endpoint.take(Call::kSend), std::unexpected(one.cause));
    ASSERT_EQ(node.completions(), ++ended);
    EXPECT_EQ(node.last().health, one.health);
    EXPECT_EQ(node.state(), one.then);
    node.meet();
  }
}

TEST_F(Rows, ImmediatePostIsRefusedThenTaken) {
  node.endpoint.fail_next(Call::kSend, Errc::kAgain, 3);
  node.put(100);
  for (int i = 0; i < 3; ++i)
    node.turn();
  EXPECT_EQ(node.count(LndId::kReplays), 3U);
  node.done(kSent, node.endpoint.take(Call::kSend));
  expect_end({}, Health::kOk);
}

// Otherwise a poller that may sleep never would.
TEST_F(Rows, ToFindNoRoomOnceMoreIsNoWork) {
  node.endpoint.fail_next(Call::kSend, Errc::kAgain, 3);
  node.put(100);
  for (std::uint64_t replays = 2; replays <= 3; ++replays) {
    EXPECT_EQ(node.lnd->flush(node.now), 0U);
    EXPECT_EQ(node.count(LndId::kReplays), replays);
    EXPECT_GT(node.lnd->next_deadline(), node.now);
    EXPECT_LE(node.lnd->next_deadline(), node.now + std::chrono::milliseconds(100));
  }
  EXPECT_EQ(node.lnd->flush(node.now), 1U);
  node.done(kSent, node.endpoint.take(Call::kSend));
  expect_end({}, Health::kOk);
}

TEST_F(Rows, PostsThatFail) {
  node.endpoint.fail_next(Call::kSend, Errc::kTooBig);
  node.put(100);
  expect_end(std::unexpected(Errc::kTooBig), Health::kLocalError);
  node.endpoint.fail_next(Call::kPostTagged, Errc::kNoMemory);
  node.put(kBulk);
  EXPECT_EQ(node.last().status, Result<void>(std::unexpected(Errc::kNoMemory)));
  EXPECT_EQ(node.last().health, Health::kLocalError);
  EXPECT_EQ(node.state(), PeerState::kUpToDate) << "the peer has nothing to do with it";
}

TEST_F(Rows, BulkPutInBothOrders) {
  for (const bool sent_first : {true, false}) {
    const std::size_t before = node.completions();
    const Bulk bulk = begin();
    EXPECT_TRUE(bulk.tagged.peer_reads);
    EXPECT_EQ(bulk.request.message.kind, Kind::kBulkPut);
    EXPECT_EQ(bulk.request.head.size(), kBulkV2Bytes);
    EXPECT_EQ(bulk.request.message.response_rx, 2) << "our context, where the buffer is";
    EXPECT_EQ(bulk.tagged.tag, tag_of(bulk.request.message.session_key, bulk.request.message.key));
    if (sent_first) node.done(kSent, bulk.request);
    EXPECT_EQ(node.completions(), before);
    node.done(kTaggedRead, bulk.tagged, {}, kBulk);
    if (!sent_first) node.done(kSent, bulk.request);
    ASSERT_EQ(node.completions(), before + 1);
    EXPECT_TRUE(node.last().status.has_value());
  }
}

// The kernel reports the posted length; we report the received one.
TEST_F(Rows, ABulkGetReportsTheReceivedLength) {
  const Bulk bulk = begin(false);
  EXPECT_FALSE(bulk.tagged.peer_reads);
  node.done(kSent, bulk.request);
  node.done(kTaggedWritten, bulk.tagged, {}, 1234);
  expect_end({}, Health::kOk);
  EXPECT_TRUE(node.last().reply_placed);
  EXPECT_EQ(node.last().reply_length, 1234U);
}

TEST_F(Rows, SkippedTransfers) {
  const Bulk get = begin(false);
  node.done(kSent, get.request);
  node.done(kTaggedMessage, get.tagged, {}, 0, 61);
  expect_end(std::unexpected(Errc::kNoData), Health::kOk);
  EXPECT_FALSE(node.last().reply_placed);
  const Bulk put = begin();
  node.done(kTaggedMessage, put.tagged, {}, 0, 0);  // before the completion of its request
  node.done(kSent, put.request);
  EXPECT_TRUE(node.last().status.has_value());
  const Bulk odd = begin();
  node.done(kSent, odd.request);
  node.done(kTaggedMessage, odd.tagged, {}, 0, ~0ULL);
  EXPECT_EQ(node.last().status, Result<void>(std::unexpected(Errc::kProtocol)));
}

TEST_F(Rows, RequestPostFails) {
  node.endpoint.fail_next(Call::kSend, Errc::kIo);
  node.put(kBulk);
  const auto tagged = node.endpoint.take(Call::kPostTagged);
  EXPECT_EQ(node.endpoint.take(Call::kCancel).tag, tagged.tag);
  EXPECT_EQ(node.completions(), 0U) << "the buffer is with the NIC";
  node.done(kTaggedCancelled, tagged);
  expect_end(std::unexpected(Errc::kIo), Health::kLocalError);
  EXPECT_EQ(node.state(), PeerState::kUpToDate) << "the tag is unknown";
}

TEST_F(Rows, RequestPostFailsAndCancelIsRefusedFirst) {
  node.endpoint.fail_next(Call::kSend, Errc::kIo);
  node.endpoint.fail_next(Call::kCancel, Errc::kAgain, 2);
  node.put(kBulk);
  for (int i = 0; i < 3; ++i)
    node.turn();
  const auto tagged = node.endpoint.take(Call::kPostTagged);
  EXPECT_EQ(node.endpoint.waiting(Call::kCancel), 1U);
  node.done(kTaggedCancelled, tagged);
  expect_end(std::unexpected(Errc::kIo), Health::kLocalError);
}

TEST_F(Rows, RequestIsRefusedThenTaken) {
  node.endpoint.fail_next(Call::kSend, Errc::kAgain, 2);
  node.put(kBulk);
  node.turn();
  node.turn();
  EXPECT_EQ(node.endpoint.waiting(Call::kPostTagged), 1U) << "posted once";
  const auto tagged = node.endpoint.take(Call::kPostTagged);
  node.done(kSent, node.endpoint.take(Call::kSend));
  node.done(kTaggedRead, tagged, {}, kBulk);
  expect_end({}, Health::kOk);
}

TEST_F(Rows, RequestSendFailsAndTheTagIsForgotten) {
  const std::uint32_t session = node.lnd->peer(nid_of(1))->local_session_key;
  const Bulk bulk = begin();
  node.done(kSent, bulk.request, std::unexpected(Errc::kNoSpace));
  EXPECT_EQ(node.lnd->peer(nid_of(1)), nullptr) << "it may know the tag";
  EXPECT_EQ(node.core->notices().back(), lnet::PeerNotice::kDown);
  EXPECT_EQ(node.completions(), 0U);
  node.done(kTaggedCancelled, bulk.tagged);
  expect_end(std::unexpected(Errc::kNoSpace), Health::kRemoteError);
  node.meet();
  EXPECT_NE(node.lnd->peer(nid_of(1))->local_session_key, session);
}

TEST_F(Rows, RequestSendFailsButTheTransferWasDone) {
  const Bulk bulk = begin();
  node.endpoint.fail_next(Call::kCancel, Errc::kNotFound);
  node.done(kSent, bulk.request, kTimedOut);
  node.done(kTaggedRead, bulk.tagged, {}, kBulk);
  expect_end({}, Health::kOk);
}

TEST_F(Rows, RequestSendFailsAndCancelIsRefusedFirst) {
  const Bulk bulk = begin();
  node.endpoint.fail_next(Call::kCancel, Errc::kAgain);
  node.done(kSent, bulk.request, kTimedOut);
  node.turn();
  EXPECT_EQ(node.endpoint.waiting(Call::kCancel), 1U);
  node.done(kTaggedFailed, bulk.tagged, std::unexpected(Errc::kIo));
  expect_end(kTimedOut, Health::kNetworkTimeout);
}

TEST_F(Rows, BufferFailsBeforeTheRequestIsSent) {
  for (const bool send_ok : {true, false}) {
    const Bulk bulk = begin();
    node.done(kTaggedFailed, bulk.tagged, std::unexpected(Errc::kIo));
    EXPECT_EQ(node.lnd->peer(nid_of(1)), nullptr);
    node.done(kSent, bulk.request, send_ok ? Result<void>() : kTimedOut);
    EXPECT_EQ(node.last().status, Result<void>(std::unexpected(Errc::kIo)));
    EXPECT_EQ(node.last().health, Health::kLocalError);
    node.meet();
  }
}

// A Cassini does not tell whether the peer failed; other drivers do.
TEST_F(Rows, HealthAfterAFailedBuffer) {
  struct Case {
    Errc cause;
    Health health;
  };
  for (const Case& one :
       {Case{Errc::kTimedOut, Health::kNetworkTimeout}, Case{Errc::kReset, Health::kRemoteError},
        Case{Errc::kNoRoute, Health::kRemoteError}, Case{Errc::kClosed, Health::kRemoteError},
        Case{Errc::kRefused, Health::kRemoteError}, Case{Errc::kNoMemory, Health::kLocalError}}) {
    const Bulk before = begin();
    node.done(kTaggedFailed, before.tagged, std::unexpected(one.cause));
    node.done(kSent, before.request);
    EXPECT_EQ(node.last().health, one.health) << "before its request was sent";
    node.meet();
    const Bulk after = begin(false);
    node.done(kSent, after.request);
    node.done(kTaggedFailed, after.tagged, std::unexpected(one.cause));
    EXPECT_EQ(node.last().health, one.health);
    node.meet();
    const Bulk late = begin();
    node.done(kSent, late.request);
    node.turn(std::chrono::seconds(126));
    node.endpoint.take(Call::kCancel);
    node.done(kTaggedFailed, late.tagged, std::unexpected(one.cause));
    EXPECT_EQ(node.last().health, one.health) << "after the timeout";
    EXPECT_EQ(node.last().status, Result<void>(std::unexpected(one.cause)));
    node.meet();
  }
}

TEST_F(Rows, BufferFailsAfterTheRequestWasSent) {
  const Bulk bulk = begin();
  node.done(kSent, bulk.request);
  node.done(kTaggedFailed, bulk.tagged, std::unexpected(Errc::kIo));
  expect_end(std::unexpected(Errc::kIo), Health::kLocalError);
  EXPECT_EQ(node.lnd->peer(nid_of(1)), nullptr) << "it may use the tag yet";
}

TEST_F(Rows, TransferDoneAndThenTheSendFails) {
  const Bulk bulk = begin();
  node.done(kTaggedRead, bulk.tagged, {}, kBulk);
  node.done(kSent, bulk.request, kTimedOut);
  expect_end(kTimedOut, Health::kNetworkTimeout);
  EXPECT_EQ(node.state(), PeerState::kStale);
}

TEST_F(Rows, ASilentPeer) {
  const Bulk bulk = begin();
  node.done(kSent, bulk.request);
  node.turn(std::chrono::seconds(124));
  EXPECT_EQ(node.endpoint.waiting(Call::kCancel), 0U);
  node.turn(std::chrono::seconds(2));
  EXPECT_EQ(node.endpoint.take(Call::kCancel).tag, bulk.tagged.tag);
  EXPECT_EQ(node.completions(), 0U);
  node.done(kTaggedCancelled, bulk.tagged);
  expect_end(kTimedOut, Health::kNetworkTimeout);
  EXPECT_EQ(node.lnd->peer(nid_of(1)), nullptr);
  EXPECT_EQ(node.count(LndId::kTimeouts), 1U);
}

TEST_F(Rows, TheAnswerWinsAgainstTheTimeout) {
  const Bulk bulk = begin(false);
  node.done(kSent, bulk.request);
  node.endpoint.fail_next(Call::kCancel, Errc::kNotFound);
  node.turn(std::chrono::seconds(126));
  node.done(kTaggedWritten, bulk.tagged, {}, kBulk);
  expect_end({}, Health::kOk);
  EXPECT_EQ(node.last().reply_length, kBulk);
}

TEST_F(Rows, TheBufferFailsAfterTheTimeout) {
  const Bulk bulk = begin();
  node.done(kSent, bulk.request);
  node.endpoint.fail_next(Call::kCancel, Errc::kAgain);
  node.turn(std::chrono::seconds(126));
  node.turn();
  EXPECT_EQ(node.endpoint.waiting(Call::kCancel), 1U);
  node.done(kTaggedFailed, bulk.tagged, std::unexpected(Errc::kIo));
  expect_end(std::unexpected(Errc::kIo), Health::kLocalError);
  EXPECT_EQ(node.lnd->peer(nid_of(1)), nullptr);
}

// Not in the kernel's table: a NIC that never releases its memory.
TEST_F(Rows, QuarantineUntilTheNicIsDone) {
  const Bulk bulk = begin(false);
  node.done(kSent, bulk.request);
  node.turn(std::chrono::seconds(126));
  node.turn(std::chrono::seconds(2));
  ASSERT_EQ(node.completions(), 1U);
  EXPECT_TRUE(node.last().quarantined);
  EXPECT_EQ(node.last().health, Health::kNetworkTimeout);
  EXPECT_FALSE(node.core->settled());
  node.done(kTaggedCancelled, bulk.tagged);
  EXPECT_TRUE(node.core->settled());
  EXPECT_EQ(node.completions(), 1U);
}

TEST_F(Rows, ASendThatNeverCompletesBlocksNothing) {
  node.put(100);
  const auto immediate = node.endpoint.take(Call::kSend);
  const Bulk bulk = begin();
  node.turn(std::chrono::seconds(126));
  node.turn(std::chrono::seconds(2));
  ASSERT_EQ(node.completions(), 2U);
  for (const lnet::Completion& completion : node.core->completions()) {
    EXPECT_TRUE(completion.quarantined);
    EXPECT_EQ(completion.status, Result<void>(kTimedOut));
  }
  node.done(kSent, immediate, kTimedOut);
  node.done(kTaggedCancelled, bulk.tagged);
  node.done(kSent, bulk.request, kTimedOut);
  EXPECT_TRUE(node.core->settled());
}

}  // namespace
}  // namespace plnet::kfilnd::transitions_test
