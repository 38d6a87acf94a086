// SPDX-License-Identifier: BSD-3-Clause
// ACKs for descriptors of another shard: that shard delivers the event while the connection
// continues here.
#include "tests/unit/lib/lnet/move/held_lnd.hpp"

namespace plnet::lnet::ack_note_test {
namespace {

constexpr std::uint32_t kSender = 2;
const Nid kFar = Nid::of(NetType::kTcp, 7, kSender);

class AckNotes : public testing::Test {
 protected:
  // An ACK arrives on shard 0; a received one ends at once, as with LNDs.
  RxVerdict offer(const MdHandle& md, std::uint32_t through = kSender) {
    const bool direct = through == kSender;
    MessageHeader header{.destination = HeldNode::nid(1),
                         .source = direct ? HeldNode::nid(kSender) : kFar};
    header.type = MessageType::kAck;
    header.set_area(AckArea{.destination = encode_handle(md, rig.node.shared().interface_cookie),
                            .match_bits = 77,
                            .accepted_length = 55});
    const RxHandle rx{1, ++number};
    const RxVerdict verdict =
        rig.port()
            .on_header({.header = header, .from = HeldNode::nid(through), .link = link, .rx = rx})
            .verdict;
    if (verdict == RxVerdict::kReceive) rig.port().on_received(rx, {}, Health::kOk);
    return verdict;
  }
  // A PUT that requests an ACK has left shard 1.
  MdHandle wait_for_ack(std::int32_t threshold = kThresholdInfinite) {
    const MdHandle md = rig.bind(recorder, 100, 1, threshold);
    EXPECT_TRUE(rig.put(md, kSender, 77, true));
    rig.settle();
    for (HeldLnd* const lnd : rig.lnds) {
      while (!lnd->held.empty())
        lnd->end(0);
    }
    rig.settle();
    return md;
  }
  void SetUp() override {
    // The first message of a sender waits until it is a peer.
    (void)rig.node.add_peer(HeldNode::nid(kSender), 0);
    (void)rig.node.add_peer(HeldNode::nid(kSender + 1), 0);
    rig.settle();
  }
  [[nodiscard]] std::uint64_t both(Statistic id) {
    return rig.statistic(id, 0) + rig.statistic(id, 1);
  }

  HeldNode rig{{.shards = 2,
                .limits = {.peer_ports = 16,
                           .extra_links = 16,
                           .messages = 64,
                           .receives = 4,
                           .descriptors = 64,
                           .match_entries = 64}}};
  Recorder recorder;
  PeerLink* link = nullptr;
  std::uint32_t number = 0;
};

TEST_F(AckNotes, TheOwnerIsNotifiedWithoutAWait) {
  const MdHandle md = wait_for_ack();
  EXPECT_EQ(offer(md), RxVerdict::kReceive);
  EXPECT_EQ(recorder.count(EventKind::kAck), 0U) << "it is another shard's to tell";
  rig.settle();
  const Event ack = recorder.only(EventKind::kAck);
  EXPECT_EQ(ack.match_bits, 77U);
  EXPECT_EQ(ack.accepted_length, 55U);
  EXPECT_EQ(ack.initiator.nid, HeldNode::nid(kSender));
  EXPECT_EQ(ack.sender, HeldNode::nid(kSender));
  EXPECT_EQ(ack.target.nid, HeldNode::nid(1));
  EXPECT_EQ(both(Statistic::kReceiveCount), 1U);
  EXPECT_EQ(both(Statistic::kDropCount), 0U);
  EXPECT_EQ(rig.cause(Cause::kCrossedMatch), 1U);
  rig.expect_conserved();
}

TEST_F(AckNotes, ALateOneIsCountedOnceAsDropped) {
  const MdHandle md = wait_for_ack();
  (void)rig.node.shard(1).unlink(md);
  rig.settle();
  EXPECT_EQ(offer(md), RxVerdict::kReceive);
  rig.settle();
  EXPECT_EQ(recorder.count(EventKind::kAck), 0U);
  EXPECT_EQ(rig.cause(Cause::kDroppedAckNoMd, 1), 1U);
  EXPECT_EQ(both(Statistic::kDropCount), 1U);
  EXPECT_EQ(both(Statistic::kReceiveCount), 0U);
  rig.expect_conserved();
}

TEST_F(AckNotes, TheNextOneWaitsWhenAllNotesAreInUse) {
  const MdHandle md = wait_for_ack();
  for (unsigned i = 0; i < 4; ++i)
    EXPECT_EQ(offer(md), RxVerdict::kReceive);
  EXPECT_EQ(offer(md), RxVerdict::kPark);
  rig.settle();
  ASSERT_EQ(rig.lnds[0]->resumed.size(), 1U);
  const auto [rx, decision] = rig.lnds[0]->resumed[0];
  EXPECT_EQ(decision.verdict, RxVerdict::kReceive);
  rig.port().on_received(rx, {}, Health::kOk);
  rig.settle();
  EXPECT_EQ(recorder.count(EventKind::kAck), 5U);
  EXPECT_EQ(offer(md), RxVerdict::kReceive) << "they are home again";
  rig.settle();
  EXPECT_EQ(both(Statistic::kReceiveCount), 6U);
  rig.expect_conserved();
}

// ACKs that arrive through a gateway ask the other shard like other messages.
TEST_F(AckNotes, RoutedAcksAskTheOtherShard) {
  const MdHandle md = wait_for_ack();
  EXPECT_EQ(offer(md, kSender + 1), RxVerdict::kPark);
  rig.settle();
  EXPECT_EQ(recorder.count(EventKind::kAck), 1U);
  for (const auto& [rx, decision] : std::exchange(rig.lnds[0]->resumed, {}))
    rig.port().on_received(rx, {}, Health::kOk);
  rig.settle();
  EXPECT_EQ(both(Statistic::kReceiveCount), 1U);
  rig.expect_conserved();
}

}  // namespace
}  // namespace plnet::lnet::ack_note_test
