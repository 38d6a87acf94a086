// SPDX-License-Identifier: BSD-3-Clause
// The ends of messages: health by cause, and the order after an error: disconnect, wait for every
// completion, and only then release memory.
#include "tests/unit/lib/o2iblnd/scripted_verbs.hpp"

namespace plnet::o2iblnd::ends_test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t kLarge = 1U << 20U;

TEST(O2iblndTransitions, EachStateEndsSomehow) {
  for (std::size_t i = 1; i < kTxStates; ++i) {
    const auto state = static_cast<TxState>(i);
    SCOPED_TRACE(name_of(state));
    const auto has = [&](TxEvent event) { return action_for(state, event) != TxAction::kNone; };
    EXPECT_TRUE(has(TxEvent::kClose) || has(TxEvent::kDrain) || has(TxEvent::kGiveUp));
    // Only a drained queue pair releases memory that the peer may write.
    const bool open = state == TxState::kQuarantined || state == TxState::kDraining;
    EXPECT_EQ(has(TxEvent::kSent) && action_for(state, TxEvent::kSent) == TxAction::kGoOn,
              open || state == TxState::kGranted);
  }
  EXPECT_EQ(action_for(TxState::kFree, TxEvent::kSent), TxAction::kNone);
}

TEST(O2iblndTransitions, ADeadlineHasTheHealthOfItsCause) {
  EXPECT_EQ(health_when_late(TxState::kQueued), Health::kLocalTimeout);
  EXPECT_EQ(health_when_late(TxState::kGranted), Health::kLocalTimeout);
  EXPECT_EQ(health_when_late(TxState::kSending), Health::kNetworkTimeout);
  EXPECT_EQ(health_when_late(TxState::kAsking), Health::kNetworkTimeout);
  EXPECT_EQ(health_when_late(TxState::kWriting), Health::kNetworkTimeout);
  EXPECT_EQ(health_when_late(TxState::kAsked), Health::kRemoteTimeout);
  EXPECT_EQ(health_when_late(TxState::kWaiting), Health::kNetworkTimeout);
}

// --- Deadlines ---

TEST(O2iblndEnds, NeverLeftTheQueue) {
  ScriptedNode node;
  for (unsigned i = 0; i < 9; ++i)
    (void)node.core->put(ScriptedNode::nid(2), 10, false);
  node.turn();
  node.establish();
  while (!node.pair().chains.empty())
    node.sent();
  EXPECT_EQ(node.completions(), 8U);
  node.pass(49s);
  EXPECT_FALSE(node.pair().in_error);
  node.pass(3s);
  EXPECT_TRUE(node.pair().in_error);
  EXPECT_EQ(node.count(LndId::kTimeouts), 1U);
  node.expect_end(Errc::kAborted, Health::kLocalTimeout);
  node.end();
  EXPECT_EQ(node.core->notices().back(), lnet::PeerNotice::kLost);
  node.expect_clean();
}

TEST(O2iblndEnds, PostedAndNotCompleted) {
  ScriptedNode node;
  (void)node.put(10);
  node.establish();
  node.pass(52s);
  EXPECT_TRUE(node.pair().in_error);
  EXPECT_EQ(node.completions(), 0U);  // the device still has its buffer
  node.end();
  node.expect_end(Errc::kAborted, Health::kNetworkTimeout);
  node.expect_clean();
}

TEST(O2iblndEnds, CompletedAndNotAnswered) {
  ScriptedNode node;
  (void)node.put(kLarge);
  node.establish();
  node.sent();
  node.pass(52s);
  node.expect_end(Errc::kAborted, Health::kRemoteTimeout);
  node.end();
  EXPECT_EQ(node.completions(), 1U);
  node.expect_clean();
}

TEST(O2iblndEnds, WaitingForAConnection) {
  ScriptedNode node;
  (void)node.put(10, node.now + 2s);
  node.pass(4s);
  node.expect_end(Errc::kTimedOut, Health::kNetworkTimeout);
  node.expect_clean();
}

TEST(O2iblndEnds, AWriteStartsAnewDeadline) {
  ScriptedNode node;
  (void)node.put(kLarge);
  node.establish();
  const Message request = node.next();
  node.sent();
  node.pass(40s);
  Bytes sink(sizeof(FragmentWire));
  const FragmentWire wire{kLarge, 4096};
  std::memcpy(sink.data(), &wire, sizeof wire);
  Message ack = node.message(Kind::kPutAck);
  ack.cookie = request.cookie;
  ack.buffer = {77, {sink, false}};
  node.receive(ack);
  node.pass(20s);
  EXPECT_FALSE(node.pair().in_error);
  node.sent();
  EXPECT_TRUE(node.last().status.has_value());
}

// --- Closed for other reasons ---

TEST(O2iblndEnds, QueuedWhenTheConnectionEnds) {
  ScriptedNode node;
  for (unsigned i = 0; i < 9; ++i)
    (void)node.core->put(ScriptedNode::nid(2), 10, false);
  node.turn();
  node.establish();
  while (!node.pair().chains.empty())
    node.sent();
  node.end();
  node.expect_end(Errc::kAborted, Health::kLocalError);
  EXPECT_EQ(node.core->notices().back(), lnet::PeerNotice::kLost);
  node.expect_clean();
}

TEST(O2iblndEnds, AFailedSend) {
  ScriptedNode node;
  (void)node.put(10);
  node.establish();
  node.sent(0, std::unexpected(Errc::kTimedOut));
  EXPECT_TRUE(node.pair().in_error);
  node.expect_end(Errc::kIo, Health::kRemoteError);
  node.end();
  node.expect_clean();
}

// Only a message that the peer cannot have seen may be sent again.
TEST(O2iblndEnds, AFailedSendToAPeerWithoutAReceive) {
  ScriptedNode node;
  (void)node.put(10);
  node.establish();
  node.sent(0, std::unexpected(Errc::kNoSpace));
  node.expect_end(Errc::kIo, Health::kRemoteDropped);
  node.end();
  node.expect_clean();
}

TEST(O2iblndEnds, AFailedSendOfOurOwnFault) {
  for (const Errc cause : {Errc::kInvalid, Errc::kNetworkDown}) {
    ScriptedNode node;
    (void)node.put(10);
    node.establish();
    node.sent(0, std::unexpected(cause));
    node.expect_end(Errc::kIo, Health::kLocalError);
    node.end();
    node.expect_clean();
  }
}

TEST(O2iblndEnds, AFailedReceive) {
  ScriptedNode node;
  const std::size_t index = node.accepted();
  const ReceiveRequest request = node.pair(index).receives.front();
  node.pair(index).receives.pop_front();
  node.complete({.queue_pair = node.pair(index).id,
                 .event = WorkEvent::kReceived,
                 .status = std::unexpected(Errc::kTooBig),
                 .cookie = request.cookie});
  EXPECT_TRUE(node.pair(index).in_error);
  node.end(index);
  EXPECT_EQ(node.connections(), 0U);
  node.expect_clean();
}

TEST(O2iblndEnds, AFailedWriteIsFollowedByItsMessage) {
  ScriptedNode node;
  (void)node.put(10);
  node.establish();
  node.complete({.queue_pair = node.pair().id,
                 .status = std::unexpected(Errc::kNotPermitted),
                 .cookie = cookie_of(CookieKind::kWrite, 0)});
  EXPECT_TRUE(node.pair().in_error);
  node.end();
  node.expect_end(Errc::kIo, Health::kRemoteError);
  node.expect_clean();
}

TEST(O2iblndEnds, OursWhenWeShutDown) {
  ScriptedNode node;
  (void)node.put(10);
  node.establish();
  (void)node.put(kLarge);
  node.lnd->shut_down();
  node.turn();
  EXPECT_TRUE(node.pair().in_error);
  EXPECT_FALSE(node.lnd->idle());
  node.end();
  node.expect_end(Errc::kShutdown, Health::kLocalAborted);
  EXPECT_TRUE(node.lnd->idle());
  EXPECT_EQ(node.core->notices(), std::vector{lnet::PeerNotice::kAlive});
  node.expect_clean();
}

TEST(O2iblndEnds, CancelledBeforeItIsSent) {
  ScriptedNode node;
  lnet::Transmit& waiting = node.put(10);
  node.core->cancel(waiting);
  node.turn();
  node.expect_end(Errc::kCancelled, Health::kOk);
  node.establish();
  for (unsigned i = 0; i < 9; ++i)
    (void)node.core->put(ScriptedNode::nid(2), kLarge, false);
  lnet::Transmit& queued = node.put(kLarge);
  EXPECT_EQ(node.facts().reserved, 0U);
  node.core->cancel(queued);
  node.turn();
  node.expect_end(Errc::kCancelled, Health::kOk);
  EXPECT_EQ(node.completions(), 2U);
  node.expect_clean();
}

// --- Memory that the peer may write ---

// A write into released memory must not happen: the core gives the sink to the next user when the
// quarantine ends.
TEST(O2iblndEnds, AnOpenSinkIsQuarantinedUntilTheQueuePairHasDrained) {
  ScriptedNode node;
  (void)node.get(kLarge);
  node.establish();
  (void)node.next();
  node.sent();
  node.pass(52s);
  EXPECT_TRUE(node.pair().in_error);  // disconnected first
  node.expect_end(Errc::kAborted, Health::kRemoteTimeout, true);
  EXPECT_EQ(node.core->tally().quarantined, 1U);
  EXPECT_FALSE(node.core->settled());
  node.disconnect();
  node.flush();  // every completion has arrived
  EXPECT_FALSE(node.core->settled());
  EXPECT_FALSE(node.lnd->idle());
  node.drain();  // now it may be released
  EXPECT_TRUE(node.core->settled());
  EXPECT_TRUE(node.lnd->idle());
  node.expect_clean();
}

TEST(O2iblndEnds, AnOpenSinkOfAPutWaitsForTheDrain) {
  ScriptedNode node;
  const std::size_t index = node.accepted();
  Message request = node.message(Kind::kPutRequest);
  request.header.type = lnet::MessageType::kPut;
  request.header.payload_length = kLarge;
  request.cookie = 1;
  node.receive(request, index);
  EXPECT_EQ(node.next().kind, Kind::kPutAck);
  node.disconnect(index);
  EXPECT_EQ(node.core->tally().receive_failures, 0U);
  node.flush(index);
  EXPECT_EQ(node.core->tally().receive_failures, 0U);
  node.drain(index);
  EXPECT_EQ(node.core->tally().receive_failures, 1U);
  node.expect_clean();
}

TEST(O2iblndEnds, AnUnsentSinkNeedsNoQuarantine) {
  ScriptedNode node;
  (void)node.put(10);
  node.establish(0, 1);
  (void)node.get(kLarge);  // waits for a credit
  node.sent();
  node.disconnect();
  node.expect_end(Errc::kAborted, Health::kLocalError);
  EXPECT_EQ(node.core->tally().quarantined, 0U);
  node.flush();
  node.drain();
  node.expect_clean();
}

TEST(O2iblndEnds, AnAnsweredSinkIsClosed) {
  ScriptedNode node;
  (void)node.get(kLarge);
  node.establish();
  Message done = node.message(Kind::kGetDone);
  done.cookie = node.next().cookie;
  done.status = 100;
  node.receive(done);
  node.end();  // before the request's completion: the answer proves its delivery
  EXPECT_TRUE(node.last().status.has_value());
  EXPECT_TRUE(node.last().reply_placed);
  EXPECT_EQ(node.core->tally().quarantined, 0U);
  node.expect_clean();
}

TEST(O2iblndEnds, ReceivesAreReusedAfterTheDrain) {
  O2ibLndConfig config = ScriptedNode::small();
  config.connections_max = 1;
  ScriptedNode node(config);
  (void)node.put(10);
  node.establish();
  node.sent();
  node.disconnect();
  (void)node.put(10);  // no second queue pair fits yet
  node.expect_end(Errc::kNoMemory, Health::kLocalDropped);
  node.flush();
  node.drain();
  (void)node.put(10);
  EXPECT_EQ(node.driver.pairs.size(), 2U);
  node.expect_clean();
}

TEST(O2iblndEnds, APeerIsReleasedAfterItsMessages) {
  ScriptedNode node;
  (void)node.get(kLarge);
  node.establish();
  node.core->release_peer(ScriptedNode::nid(2));
  node.turn();
  EXPECT_TRUE(node.pair().in_error);
  EXPECT_EQ(node.core->tally().peers_released, 0U);
  node.end();
  EXPECT_EQ(node.core->tally().peers_released, 1U);
  node.expect_clean();
}

}  // namespace
}  // namespace plnet::o2iblnd::ends_test
