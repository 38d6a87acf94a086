// SPDX-License-Identifier: BSD-3-Clause
// The share of one peer of a shard's receive records.
#include <utility>

#include <gtest/gtest.h>

#include "tests/unit/lib/lnet/move/held_lnd.hpp"

namespace plnet::lnet::receive_shares_test {
namespace {

constexpr std::uint32_t kReceives = 64;
constexpr std::uint32_t kGreedy = 9;
constexpr std::uint32_t kModest = 8;

// A node whose LND sends nothing until the test releases it, so no response leaves.
struct Rig : HeldNode {
  explicit Rig(unsigned shards = 1)
      : HeldNode({.shards = shards,
                  .limits = {.peer_ports = 64,
                             .extra_links = 4,
                             .messages = kReceives,
                             .receives = kReceives,
                             .descriptors = 8,
                             .match_entries = 8}}) {
    attach(target);
  }

  // A PUT that requests an ACK, on its own connection, up to the point where its ACK waits.
  RxVerdict ask(std::uint32_t from) {
    const RxHandle rx{next_++, 1};
    const RxDecision decision = offer_put(from, rx, 10, true);
    if (decision.verdict == RxVerdict::kReceive) port().on_received(rx, {}, Health::kOk);
    if (decision.verdict == RxVerdict::kPark) parked.push_back(rx);
    settle();
    return decision.verdict;
  }
  // Sends requests until no record is available; returns the number accepted.
  std::uint32_t flood(std::uint32_t from) {
    for (std::uint32_t i = 0; i < kReceives; ++i) {
      if (ask(from) != RxVerdict::kReceive) return i;
    }
    return kReceives;
  }
  // A parked message was decided: it is received, and its ACK is made.
  unsigned go_on(RxVerdict expected) {
    const auto decided = std::exchange(lnds[0]->resumed, {});
    for (const auto& [rx, decision] : decided) {
      EXPECT_EQ(decision.verdict, expected);
      if (decision.verdict == RxVerdict::kReceive) port().on_received(rx, {}, Health::kOk);
    }
    settle();
    return static_cast<unsigned>(decided.size());
  }
  void send_one() {
    lnds[0]->end(0);
    settle();
  }
  void send_all() {
    while (!lnds[0]->held.empty()) {
      send_one();
      go_on(RxVerdict::kReceive);
    }
  }
  [[nodiscard]] std::size_t used() {
    return core().receives.capacity() - core().receives.free_count();
  }

  Recorder target;
  std::vector<RxHandle> parked;

 private:
  std::uint32_t next_ = 0;
};

TEST(ReceiveShares, APeerThatTakesNoAnswersDoesNotStarveAnother) {
  Rig rig;
  rig.node.add_peer(HeldNode::nid(kGreedy));
  rig.node.add_peer(HeldNode::nid(kModest));
  EXPECT_EQ(rig.flood(kGreedy), kReceives / 4);
  for (unsigned i = 0; i < kReceivesAlways; ++i)
    EXPECT_EQ(rig.ask(kModest), RxVerdict::kReceive);
  EXPECT_EQ(rig.cause(Cause::kDroppedNoReceive), 0U);
  EXPECT_EQ(rig.cause(Cause::kHeldPeerShare), 1U);
  rig.send_all();
  EXPECT_EQ(rig.target.count(EventKind::kPut), kReceives / 4 + 1 + kReceivesAlways);
  rig.expect_conserved();
}

TEST(ReceiveShares, WaitingMessagesContinueWithAReturnedRecord) {
  Rig rig;
  rig.node.add_peer(HeldNode::nid(kGreedy));
  rig.flood(kGreedy);
  ASSERT_EQ(rig.parked.size(), 1U);
  EXPECT_EQ(rig.ask(kGreedy), RxVerdict::kPark) << "of another connection";
  EXPECT_TRUE(rig.lnds[0]->resumed.empty());
  unsigned went_on = 0;
  for (unsigned sent = 1; sent <= 4; ++sent) {
    rig.send_one();
    went_on += rig.go_on(RxVerdict::kReceive);
    EXPECT_LE(went_on, sent) << "no more than came back";
  }
  EXPECT_EQ(went_on, 2U);
  rig.send_all();
  rig.expect_conserved();
}

TEST(ReceiveShares, SomethingIsLeftHoweverManyPeersTakeNoAnswers) {
  Rig rig;
  constexpr std::uint32_t kPeers = 5;
  for (std::uint32_t peer = 0; peer <= kPeers; ++peer)
    rig.node.add_peer(HeldNode::nid(10 + peer));
  for (std::uint32_t peer = 0; peer < kPeers; ++peer) {
    const std::uint32_t most = rig.flood(10 + peer);
    EXPECT_GE(most, kReceivesAlways);
    EXPECT_LE(most, kReceives / 4);
  }
  EXPECT_EQ(rig.ask(10 + kPeers), RxVerdict::kReceive);
  EXPECT_EQ(rig.cause(Cause::kDroppedNoReceive), 0U);
  rig.send_all();
  rig.expect_conserved();
}

TEST(ReceiveShares, RequestsAreDroppedAfterALongWaitSoThatResponsesAreRead) {
  Rig rig;
  rig.node.add_peer(HeldNode::nid(kGreedy));
  rig.flood(kGreedy);
  rig.pass(kShareStall - std::chrono::seconds(1));
  EXPECT_TRUE(rig.lnds[0]->resumed.empty());
  rig.pass(std::chrono::seconds(3));
  EXPECT_EQ(rig.go_on(RxVerdict::kDrop), 1U);
  EXPECT_EQ(rig.ask(kGreedy), RxVerdict::kDrop);
  EXPECT_EQ(rig.cause(Cause::kDroppedPeerShare), 2U);
  rig.send_one();  // it moves again
  EXPECT_EQ(rig.ask(kGreedy), RxVerdict::kReceive);
  EXPECT_EQ(rig.ask(kGreedy), RxVerdict::kPark);
  rig.send_all();
  rig.expect_conserved();
}

TEST(ReceiveShares, AnAnswerIsNeverHeldBack) {
  Rig rig;
  rig.node.add_peer(HeldNode::nid(kGreedy));
  rig.flood(kGreedy);
  MessageHeader header{
      .destination = HeldNode::nid(1), .source = HeldNode::nid(kGreedy), .type = MessageType::kAck};
  header.set_area(AckArea{.destination = {1, 1}});
  const RxHandle rx{1000, 1};
  EXPECT_EQ(
      rig.port().on_header({.header = header, .from = HeldNode::nid(kGreedy), .rx = rx}).verdict,
      RxVerdict::kDrop);
  EXPECT_EQ(rig.cause(Cause::kDroppedAckNoMd), 1U);
  rig.port().on_parked_gone(rig.parked[0], Errc::kReset);
  rig.send_all();
  rig.expect_conserved();
}

TEST(ReceiveShares, WaitingMessagesEndWithTheirConnection) {
  Rig rig;
  rig.node.add_peer(HeldNode::nid(kGreedy));
  rig.flood(kGreedy);
  const std::size_t before = rig.used();
  rig.port().on_parked_gone(rig.parked[0], Errc::kReset);
  EXPECT_EQ(rig.used(), before - 1);
  EXPECT_EQ(rig.cause(Cause::kDroppedConnectionLost), 1U);
  rig.pass(2 * kShareStall);
  EXPECT_EQ(rig.cause(Cause::kDroppedPeerShare), 0U) << "nothing waited any more";
  rig.send_all();
  rig.expect_conserved();
}

TEST(ReceiveShares, APeerThatIsDeletedLeavesNothingBehind) {
  Rig rig;
  rig.node.add_peer(HeldNode::nid(kGreedy));
  rig.flood(kGreedy);
  rig.node.delete_peer(HeldNode::nid(kGreedy));
  for (unsigned i = 0; i < 20; ++i)
    rig.settle();
  rig.go_on(RxVerdict::kReceive);  // its sender was created anew
  rig.send_all();
  rig.expect_conserved();
  EXPECT_EQ(rig.flood(kGreedy), kReceives / 4) << "and begins with nothing";
  rig.port().on_parked_gone(rig.parked.back(), Errc::kReset);
  rig.send_all();
  rig.expect_conserved();
}

TEST(ReceiveShares, HoldWhereMessagesArriveWhereverTheHomeIs) {
  Rig rig(2);
  rig.node.add_peer(HeldNode::nid(kGreedy), ShardId{1});
  rig.node.add_peer(HeldNode::nid(kModest), ShardId{1});
  EXPECT_EQ(rig.flood(kGreedy), kReceives / 4);
  EXPECT_EQ(rig.ask(kModest), RxVerdict::kReceive);
  EXPECT_EQ(rig.cause(Cause::kHeldPeerShare, 0), 1U);
  const auto send_all = [&] {
    for (HeldLnd* const lnd : rig.lnds) {
      for (; !lnd->held.empty(); rig.settle())
        lnd->end(0);
    }
  };
  send_all();
  EXPECT_EQ(rig.go_on(RxVerdict::kReceive), 1U);
  send_all();
  rig.expect_conserved();
}

}  // namespace
}  // namespace plnet::lnet::receive_shares_test
