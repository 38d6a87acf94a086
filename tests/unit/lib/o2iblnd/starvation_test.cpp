// SPDX-License-Identifier: BSD-3-Clause
// Messages that wait for a descriptor retry when one is returned, not in each turn.
#include "tests/unit/lib/o2iblnd/scripted_verbs.hpp"

namespace plnet::o2iblnd::starvation_test {
namespace {

constexpr std::uint32_t kLarge = 60000;
constexpr unsigned kTurns = 100;

O2ibLndConfig with_replies(std::size_t replies) {
  O2ibLndConfig config = ScriptedNode::small();
  config.replies_max = replies;
  return config;
}

Message put_request(const ScriptedNode& node, std::uint64_t cookie) {
  Message one = node.message(Kind::kPutRequest);
  one.header.type = lnet::MessageType::kPut;
  one.header.destination = ScriptedNode::nid(1);
  one.header.source = ScriptedNode::nid(2);
  one.header.payload_length = kLarge;
  one.cookie = cookie;
  return one;
}

Message put_done(const ScriptedNode& node, const Message& ack) {
  Message done = node.message(Kind::kPutDone);
  done.cookie = ack.sink_cookie;
  done.status = static_cast<std::int32_t>(kLarge);
  return done;
}

// Skips the core's acknowledgements.
Message next_but_acks(ScriptedNode& node) {
  Message one = node.next();
  while (one.kind == Kind::kImmediate && !testing::Test::HasFailure())
    one = node.next();
  return one;
}

// Completes all requests posted on the queue pair.
void send_all(ScriptedNode& node, std::size_t index) {
  while (!node.pair(index).chains.empty())
    node.sent(index);
}

// The number of attempts in many turns without events.
std::uint64_t attempts_in_vain(ScriptedNode& node) {
  const std::uint64_t before = node.count(LndId::kNoReply);
  for (unsigned i = 0; i < kTurns; ++i) {
    EXPECT_GT(node.lnd->next_deadline(), node.now);  // the shard may sleep
    node.turn();
  }
  return node.count(LndId::kNoReply) - before;
}

TEST(O2iblndStarvation, AnAnswerWaitsUntilADescriptorIsGivenBack) {
  ScriptedNode node(with_replies(1));
  const std::size_t index = node.accepted();
  for (const std::uint64_t cookie : {0x11U, 0x12U, 0x13U})
    node.receive(put_request(node, cookie), index);
  Message ack = next_but_acks(node);
  EXPECT_EQ(ack.cookie, 0x11U);
  send_all(node, index);
  EXPECT_LE(node.count(LndId::kNoReply), 2U);
  EXPECT_EQ(attempts_in_vain(node), 0U);
  for (const std::uint64_t cookie : {0x12U, 0x13U}) {
    node.receive(put_done(node, ack), index);
    ack = next_but_acks(node);
    EXPECT_EQ(ack.cookie, cookie);
    send_all(node, index);
  }
  EXPECT_LE(node.count(LndId::kNoReply), 8U);
  EXPECT_EQ(attempts_in_vain(node), 0U);
  node.receive(put_done(node, ack), index);
  EXPECT_EQ(node.core->tally().puts, 3U);
  node.expect_clean();
}

// On several connections: one attempt for each returned descriptor, and every waiting message gets
// its turn.
TEST(O2iblndStarvation, EachThatWaitsHasItsTurn) {
  ScriptedNode node(with_replies(2));
  constexpr std::size_t kConnections = 6;
  for (std::size_t i = 0; i < kConnections; ++i) {
    const std::size_t index = node.accepted();
    node.receive(put_request(node, 0x20 + i), index);
  }
  const std::uint64_t waited = node.count(LndId::kNoReply);
  EXPECT_EQ(waited, kConnections - 2);
  EXPECT_EQ(attempts_in_vain(node), 0U);
  for (std::size_t i = 0; i < kConnections; ++i) {
    const Message ack = next_but_acks(node);
    EXPECT_EQ(ack.cookie, 0x20 + i);
    send_all(node, i);
    node.receive(put_done(node, ack), i);
  }
  EXPECT_EQ(node.core->tally().puts, kConnections);
  EXPECT_LE(node.count(LndId::kNoReply), waited + 8 * kConnections);
  node.expect_clean();
}

TEST(O2iblndStarvation, ANoopWaitsUntilADescriptorIsGivenBack) {
  ScriptedNode node(with_replies(1));
  const std::size_t first = node.accepted();
  const std::size_t second = node.accepted();
  node.receive(put_request(node, 0x11), first);
  const Message grant = next_but_acks(node);
  send_all(node, first);
  Message ack = node.message(Kind::kImmediate);
  ack.header.type = lnet::MessageType::kAck;
  for (unsigned i = 0; i < 4; ++i)
    node.receive(ack, second);
  EXPECT_TRUE(node.driver.sent.empty());
  EXPECT_EQ(attempts_in_vain(node), 0U);
  node.receive(put_done(node, grant), first);
  const Message noop = next_but_acks(node);
  EXPECT_EQ(noop.kind, Kind::kNoop);
  EXPECT_EQ(noop.credits, 4);
  node.expect_clean();
}

TEST(O2iblndStarvation, AMessageIsOfferedWhenThereIsAPlaceForIt) {
  O2ibLndConfig config = ScriptedNode::small();
  config.receives_max = 1;
  ScriptedNode node(config);
  const std::size_t index = node.accepted();
  node.receive(put_request(node, 0x11), index);
  node.receive(put_request(node, 0x12), index);
  const Message ack = next_but_acks(node);
  send_all(node, index);
  EXPECT_TRUE(node.driver.sent.empty());
  EXPECT_EQ(attempts_in_vain(node), 0U);
  node.receive(put_done(node, ack), index);
  EXPECT_EQ(next_but_acks(node).cookie, 0x12U);
  node.expect_clean();
}

}  // namespace
}  // namespace plnet::o2iblnd::starvation_test
