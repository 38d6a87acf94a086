// SPDX-License-Identifier: BSD-3-Clause
// Messages that wait for credits: order, reports and end.
#include <array>
#include <cstdint>

#include "tests/unit/lib/lnet/move/held_lnd.hpp"

namespace plnet::lnet::credits_test {
namespace {

TEST(Credits, MessagesBeyondThePeersCreditsWaitInOrder) {
  HeldNode rig({.tunables = {.peer_credits = 2}});
  Recorder user;
  const MdHandle md = rig.bind(user);
  for (std::uint64_t bits = 0; bits < 5; ++bits)
    ASSERT_TRUE(rig.put(md, 9, bits));
  rig.settle();
  HeldLnd& lnd = *rig.lnds[0];
  ASSERT_EQ(lnd.held.size(), 2U);
  const PeerPort& peer = rig.peer_port(9);
  EXPECT_EQ(peer.tx_credits(), -3);
  EXPECT_EQ(peer.tx_credits_min, -3);
  EXPECT_EQ(peer.peer_ni->tx_credits.get(), -3);
  EXPECT_EQ(peer.peer_ni->queued_bytes.get(), 5U * (100 + 72));
  for (std::uint64_t bits = 0; bits < 5; ++bits) {
    EXPECT_EQ(lnd.bits(0), bits);
    lnd.end(0);
    rig.settle();
    EXPECT_EQ(user.count(EventKind::kSend), bits + 1);
    EXPECT_EQ(peer.peer_ni->tx_credits.get(), static_cast<std::int32_t>(bits) - 2);
  }
  EXPECT_EQ(peer.peer_ni->queued_bytes.get(), 0U);
  EXPECT_EQ(peer.tx_credits_min, -3);
  rig.expect_conserved();
}

TEST(Credits, MoreThanFourGibibytesMayWaitForAPeer) {
  constexpr std::uint32_t kCount = 4097;
  constexpr std::uint32_t kLength = 1U << 20;
  HeldNode rig({.limits = {.peer_ports = 4,
                           .extra_links = 1,
                           .messages = kCount,
                           .receives = 4,
                           .descriptors = 4,
                           .match_entries = 4},
                .tunables = {.peer_credits = 1}});
  Recorder user;
  std::array<Fragment, 16> pieces;
  pieces.fill({{0, 0}, kLength / 16});  // the same bytes, never read
  const MdHandle md = rig.node.shard(0)
                          .bind({.fragments = pieces,
                                 .length = kLength,
                                 .threshold = kThresholdInfinite,
                                 .handler = &user})
                          .value();
  for (std::uint32_t i = 0; i < kCount; ++i)
    ASSERT_TRUE(rig.put(md, 9, i));
  rig.settle();
  const PeerPort& peer = rig.peer_port(9);
  EXPECT_EQ(peer.waiting_count, kCount - 1);
  constexpr std::uint64_t kSum = std::uint64_t{kCount} * (kLength + 72);
  EXPECT_EQ(peer.queued_bytes, kSum);
  EXPECT_EQ(peer.peer_ni->queued_bytes.get(), kSum) << "of two gateways this is the busier one";
  while (!rig.lnds[0]->held.empty()) {
    rig.lnds[0]->end(0);
    rig.settle();
  }
  EXPECT_EQ(peer.peer_ni->queued_bytes.get(), 0U);
  rig.expect_conserved();
}

TEST(Credits, MessagesBeyondTheInterfacesCreditsWaitInOrder) {
  HeldNode rig({.tunables = {.peer_credits = 8, .credits = 2}});
  Recorder user;
  const MdHandle md = rig.bind(user);
  for (std::uint32_t i = 0; i < 6; ++i)
    ASSERT_TRUE(rig.put(md, 9 + i % 3, i));
  rig.settle();
  HeldLnd& lnd = *rig.lnds[0];
  ASSERT_EQ(lnd.held.size(), 2U);
  EXPECT_EQ(rig.port().tx_credits(), -4);
  EXPECT_EQ(rig.node.ni(1).tx_credits_of_all(), -4);
  std::uint64_t expected = 0;
  while (!lnd.held.empty()) {
    EXPECT_EQ(lnd.bits(0), expected++);
    lnd.end(0);
    rig.settle();
  }
  EXPECT_EQ(expected, 6U);
  EXPECT_EQ(rig.port().tx_credits_min(), -4);
  EXPECT_EQ(rig.node.ni(1).tx_credits_of_all(), 2);
  rig.expect_conserved();
}

TEST(Credits, BackPressureOfTheLndLosesNothing) {
  HeldNode rig({});
  Recorder user;
  const MdHandle md = rig.bind(user);
  rig.lnds[0]->room = 0;
  for (std::uint32_t i = 0; i < 6; ++i)
    ASSERT_TRUE(rig.put(md, 9, i));
  rig.settle();
  EXPECT_EQ(rig.port().next_deadline(), Instant::min()) << "it is asked again";
  rig.lnds[0]->room = 4;
  rig.settle();
  for (std::uint64_t i = 0; i < 6; ++i) {
    EXPECT_EQ(rig.lnds[0]->bits(0), i);
    rig.lnds[0]->end(0);
    rig.settle();
  }
  EXPECT_EQ(user.count(EventKind::kSend), 6U);
  rig.expect_conserved();
}

TEST(Credits, MessagesWaitingForThePeerTimeOut) {
  for (const unsigned shards : {1U, 2U}) {
    HeldNode rig({.shards = shards, .tunables = {.peer_credits = 1}});
    Recorder user;
    rig.node.add_peer(HeldNode::nid(9), static_cast<ShardId>(shards - 1));
    const MdHandle md = rig.bind(user);
    for (std::uint32_t i = 0; i < 3; ++i)
      ASSERT_TRUE(rig.put(md, 9, i));
    rig.settle();
    rig.pass(std::chrono::seconds(149));
    EXPECT_EQ(user.events.size(), 0U);
    rig.pass(std::chrono::seconds(4));
    ASSERT_EQ(user.count(EventKind::kSend), 2U);
    EXPECT_EQ(user.events[0].status.error(), Errc::kTimedOut);
    EXPECT_EQ(rig.cause(Cause::kTxDeadline, shards - 1), 2U);
    EXPECT_EQ(rig.statistic(Statistic::kDropCount, shards - 1), 2U);
    EXPECT_EQ(rig.statistic(Statistic::kDropLength, shards - 1), 200U);
    EXPECT_EQ(rig.port(shards - 1).traffic.get(LnetTraffic::Id::kDroppedPut), 2U);
    EXPECT_EQ(rig.peer_port(9, shards - 1).traffic.get(LnetTraffic::Id::kDroppedPut), 2U);
    EXPECT_EQ(rig.statistic(Statistic::kNetworkTimeout), 0U) << "too late to be anyone's fault";
    EXPECT_EQ(rig.statistic(Statistic::kSendCount), 0U);
    rig.lnds[shards - 1]->end(0);
    rig.settle();
    EXPECT_EQ(user.count(EventKind::kSend), 3U);
    rig.expect_conserved();
  }
}

TEST(Credits, MessagesWaitingForTheInterfaceTimeOutUnsent) {
  HeldNode rig({.tunables = {.credits = 1}});
  Recorder user;
  const MdHandle md = rig.bind(user);
  for (std::uint32_t i = 0; i < 4; ++i)
    ASSERT_TRUE(rig.put(md, 9 + i, i));
  rig.settle();
  rig.pass(std::chrono::seconds(152));
  rig.lnds[0]->end(0);
  rig.settle();
  EXPECT_TRUE(rig.lnds[0]->held.empty());
  EXPECT_EQ(user.count(EventKind::kSend), 4U);
  EXPECT_EQ(rig.cause(Cause::kTxDeadline), 3U);
  rig.expect_conserved();
}

TEST(Credits, AnUnlinkedDescriptorsMessageIsNotSentOnceItWouldBeItsTurn) {
  HeldNode rig({.tunables = {.peer_credits = 1}});
  Recorder user, other;
  const MdHandle first = rig.bind(other);
  const MdHandle md = rig.bind(user);
  ASSERT_TRUE(rig.put(first, 9, 0));
  ASSERT_TRUE(rig.put(md, 9, 1));
  ASSERT_TRUE(rig.put(first, 9, 2));
  rig.settle();
  ASSERT_TRUE(rig.node.shard(0).unlink(md));
  EXPECT_EQ(user.events.size(), 0U);
  rig.lnds[0]->end(0);
  rig.settle();
  const Event sent = user.only(EventKind::kSend);
  EXPECT_EQ(sent.status.error(), Errc::kCancelled);
  EXPECT_TRUE(sent.unlinked);
  EXPECT_EQ(rig.cause(Cause::kTxMdAborted), 1U);
  ASSERT_EQ(rig.lnds[0]->held.size(), 1U);
  EXPECT_EQ(rig.lnds[0]->bits(0), 2U);
  rig.lnds[0]->end(0);
  rig.settle();
  rig.expect_conserved();
}

TEST(Credits, AnUnlinkedDescriptorsMessageThatTheLndHasEndsItsLife) {
  HeldNode rig({});
  Recorder user;
  const MdHandle md = rig.bind(user);
  ASSERT_TRUE(rig.put(md, 9, 1));
  rig.settle();
  ASSERT_TRUE(rig.node.shard(0).unlink(md));
  EXPECT_FALSE(rig.node.shard(0).unlink(md).has_value());
  rig.lnds[0]->end(0);
  rig.settle();
  const Event sent = user.only(EventKind::kSend);
  EXPECT_EQ(sent.status.error(), Errc::kTimedOut) << "as in the kernel";
  EXPECT_TRUE(sent.unlinked);
  EXPECT_EQ(user.events.size(), 1U);
  rig.expect_conserved();
}

TEST(Credits, AnotherShardPostsForAHomeThatDoesNotServeTheInterface) {
  HeldNode rig({.shards = 3, .served = {ShardSet(0b010)}});
  Recorder user;
  rig.node.add_peer(HeldNode::nid(9), 2);
  const MdHandle md = rig.bind(user);
  ASSERT_TRUE(rig.put(md, 9, 1));
  rig.settle();
  ASSERT_EQ(rig.lnds[1]->held.size(), 1U);
  EXPECT_EQ(rig.cause(Cause::kCrossedHome, 0), 1U);
  EXPECT_EQ(rig.cause(Cause::kCrossedLane, 2), 1U);
  EXPECT_EQ(rig.peer_port(9, 2).tx_credits(), 7);
  rig.lnds[1]->end(0);
  rig.settle();
  EXPECT_EQ(user.count(EventKind::kSend), 1U);
  EXPECT_EQ(rig.peer_port(9, 2).tx_credits(), 8);
  EXPECT_EQ(rig.port(1).traffic.get(LnetTraffic::Id::kSentPut), 1U);
  rig.expect_conserved();
}

TEST(Credits, QuarantinedMemoryIsKeptUntilThePeerCannotWriteToIt) {
  for (const unsigned home : {0U, 1U}) {
    HeldNode rig({.shards = 2});
    Recorder user;
    rig.node.add_peer(HeldNode::nid(9), static_cast<ShardId>(home));
    const MdHandle md = rig.bind(user);
    ASSERT_TRUE(rig.node.shard(0).get(md, {.target = {HeldNode::nid(9)}}));
    rig.settle();
    Transmit& get = *rig.lnds[home]->held[0];
    rig.lnds[home]->end(0, {.status = std::unexpected(Errc::kTimedOut),
                            .health = Health::kNetworkTimeout,
                            .quarantined = true});
    rig.settle();
    EXPECT_EQ(user.only(EventKind::kSend).status.error(), Errc::kTimedOut);
    EXPECT_FALSE(user.events[0].unlinked);
    ASSERT_TRUE(rig.node.shard(0).unlink(md));
    rig.settle();
    EXPECT_EQ(user.events.size(), 1U) << "a writer may still use it";
    EXPECT_EQ(rig.statistic(Statistic::kMessagesAlloc), 1U);
    EXPECT_EQ(rig.peer_port(9, home).tx_credits(), 8) << "the credit is back";
    rig.port(home).on_quarantine_over(get);
    rig.settle();
    EXPECT_TRUE(user.only(EventKind::kUnlink).unlinked);
    rig.expect_conserved();
  }
}

TEST(Credits, FailuresAreCountedByTheirClassAndLowerTheInterfacesHealth) {
  const std::pair<Health, Statistic> rows[] = {
      {Health::kLocalInterrupt, Statistic::kLocalInterrupt},
      {Health::kLocalDropped, Statistic::kLocalDropped},
      {Health::kLocalAborted, Statistic::kLocalAborted},
      {Health::kLocalNoRoute, Statistic::kLocalNoRoute},
      {Health::kLocalError, Statistic::kLocalError},
      {Health::kLocalTimeout, Statistic::kLocalTimeout},
      {Health::kRemoteError, Statistic::kRemoteError},
      {Health::kRemoteDropped, Statistic::kRemoteDropped},
      {Health::kRemoteTimeout, Statistic::kRemoteTimeout},
      {Health::kNetworkTimeout, Statistic::kNetworkTimeout}};
  for (const auto& [health, counter] : rows) {
    HeldNode rig({});
    Recorder user;
    const MdHandle md = rig.bind(user);
    ASSERT_TRUE(rig.put(md, 9, 1));
    rig.settle();
    rig.lnds[0]->end(0, {.status = std::unexpected(Errc::kIo), .health = health});
    rig.settle();
    EXPECT_EQ(rig.statistic(counter), 1U);
    EXPECT_EQ(rig.statistic(Statistic::kSendCount), 0U);
    EXPECT_EQ(user.only(EventKind::kSend).status.error(), Errc::kIo);
    const bool remote = counter == Statistic::kRemoteError ||
                        counter == Statistic::kRemoteDropped ||
                        counter == Statistic::kRemoteTimeout;
    EXPECT_EQ(rig.node.ni(1).health.get(), remote ? kHealthMax : kHealthMax - 100);
    EXPECT_EQ(rig.port().traffic.get(LnetTraffic::Id::kSentPut), 0U);
    rig.expect_conserved();
  }
}

TEST(Credits, AFailurePastTheDeadlineDoesNotAffectHealth) {
  for (const bool late : {false, true}) {
    HeldNode rig({});
    Recorder user;
    ASSERT_TRUE(rig.put(rig.bind(user), 9, 1));
    rig.settle();
    if (late) rig.pass(std::chrono::seconds(151));
    rig.lnds[0]->end(0, {.status = std::unexpected(Errc::kIo), .health = Health::kLocalError});
    rig.settle();
    EXPECT_EQ(user.only(EventKind::kSend).status.error(), Errc::kIo);
    EXPECT_EQ(rig.statistic(Statistic::kLocalError), late ? 0U : 1U);
    EXPECT_EQ(rig.port().failures.get(LnetFailures::Id::kLocalError), late ? 0U : 1U);
    EXPECT_EQ(rig.node.ni(1).health.get(), late ? kHealthMax : kHealthMax - 100);
    rig.expect_conserved();
  }
}

TEST(Credits, AResponseThatNeverComesEndsTheDescriptorAndBlamesTheNextHop) {
  HeldNode rig({});
  Recorder user;
  const MdHandle md = rig.bind(user, 100, 0, 2);  // an MD without a limit is not tracked between
                                                  // messages
  ASSERT_TRUE(rig.put(md, 9, 1, true));
  rig.settle();
  rig.lnds[0]->end(0);
  rig.settle();
  rig.pass(std::chrono::seconds(152));
  EXPECT_TRUE(user.only(EventKind::kUnlink).unlinked);
  EXPECT_EQ(rig.statistic(Statistic::kResponseTimeouts), 1U);
  EXPECT_EQ(rig.node.directory().find(HeldNode::nid(9))->health.get(), kHealthMax - 100);
  rig.expect_conserved();
}

// --- Exhausted pools ---

TEST(Exhaustion, WithoutAFreeMessageACallIsRefusedAndAnAnswerWaits) {
  HeldNode rig({.limits = {.peer_ports = 16,
                           .extra_links = 4,
                           .messages = 4,
                           .receives = 8,
                           .descriptors = 8,
                           .match_entries = 8}});
  Recorder user, target;
  rig.node.add_peer(HeldNode::nid(9));
  const MdHandle md = rig.bind(user);
  rig.attach(target);
  for (std::uint32_t i = 0; i < 4; ++i)
    ASSERT_TRUE(rig.put(md, 9, i));
  EXPECT_EQ(rig.put(md, 9, 4).error(), Errc::kNoMemory);
  rig.settle();
  for (std::uint32_t i = 0; i < 3; ++i) {
    ASSERT_EQ(rig.offer_put(9, {i, 1}, 10, true).verdict, RxVerdict::kReceive);
    rig.port().on_received({i, 1}, {}, Health::kOk);
  }
  rig.settle();
  EXPECT_EQ(rig.cause(Cause::kAnswersWaited), 3U);
  EXPECT_EQ(target.count(EventKind::kPut), 3U);
  HeldLnd& lnd = *rig.lnds[0];
  unsigned acks = 0;
  for (unsigned i = 0; i < 7; ++i) {
    ASSERT_FALSE(lnd.held.empty());
    acks += lnd.held[0]->header.type == MessageType::kAck ? 1 : 0;
    lnd.end(0);
    rig.settle();
  }
  EXPECT_EQ(acks, 3U);
  EXPECT_EQ(user.count(EventKind::kSend), 4U);
  rig.expect_conserved();
}

TEST(Exhaustion, WithoutAFreeReceiveAMessageIsDropped) {
  HeldNode rig({.limits = {.peer_ports = 16,
                           .extra_links = 4,
                           .messages = 8,
                           .receives = 2,
                           .descriptors = 8,
                           .match_entries = 8}});
  Recorder target;
  rig.node.add_peer(HeldNode::nid(9));
  rig.attach(target);
  for (std::uint32_t i = 0; i < 2; ++i)
    ASSERT_EQ(rig.offer_put(9, {i, 1}).verdict, RxVerdict::kReceive);
  EXPECT_EQ(rig.offer_put(9, {2, 1}, 33).verdict, RxVerdict::kDrop);
  EXPECT_EQ(rig.cause(Cause::kDroppedNoReceive), 1U);
  EXPECT_EQ(rig.statistic(Statistic::kDropLength), 33U);
  for (std::uint32_t i = 0; i < 2; ++i)
    rig.port().on_received({i, 1}, {}, Health::kOk);
  EXPECT_EQ(rig.offer_put(9, {2, 2}).verdict, RxVerdict::kReceive);
  rig.port().on_received({2, 2}, {}, Health::kOk);
  rig.settle();
  rig.expect_conserved();
}

TEST(Exhaustion, WithoutAPortOrLinkTheNextPeerIsRefused) {
  HeldNode rig({.limits = {.peer_ports = 1,
                           .extra_links = 1,
                           .messages = 8,
                           .receives = 8,
                           .descriptors = 8,
                           .match_entries = 8}});
  Recorder user, target;
  rig.node.add_peer(HeldNode::nid(8));
  rig.node.add_peer(HeldNode::nid(9));
  rig.attach(target);
  const MdHandle md = rig.bind(user);
  ASSERT_TRUE(rig.put(md, 8, 1));
  ASSERT_TRUE(rig.put(md, 9, 2));
  rig.settle();
  EXPECT_EQ(user.only(EventKind::kSend).status.error(), Errc::kNoMemory);
  EXPECT_EQ(rig.statistic(Statistic::kLocalDropped), 1U);
  EXPECT_EQ(rig.offer_put(9, {0, 1}).verdict, RxVerdict::kDrop);
  EXPECT_EQ(rig.cause(Cause::kDroppedNoPeer), 1U);
  rig.lnds[0]->end(0);
  rig.settle();
  rig.node.delete_peer(HeldNode::nid(8));
  rig.settle();
  EXPECT_EQ(rig.offer_put(9, {0, 2}).verdict, RxVerdict::kReceive);
  rig.port().on_received({0, 2}, {}, Health::kOk);
  rig.settle();
  rig.expect_conserved();
}

// The network is removed and added again with other tunables.
void come_back_with(HeldNode& rig, std::int32_t peer_credits) {
  rig.node.ni(1).tunables.peer_credits = peer_credits;
  rig.node.directory().net_added(HeldNode::nid(1).net());
}

TEST(Credits, MoreCreditsReleaseWaitingMessages) {
  HeldNode rig({.tunables = {.peer_credits = 1}});
  Recorder user;
  const MdHandle md = rig.bind(user);
  for (std::uint64_t bits = 0; bits < 5; ++bits)
    ASSERT_TRUE(rig.put(md, 9, bits));
  rig.settle();
  HeldLnd& lnd = *rig.lnds[0];
  ASSERT_EQ(lnd.held.size(), 1U);
  come_back_with(rig, 3);
  rig.pass(std::chrono::seconds(2));
  EXPECT_EQ(lnd.held.size(), 3U) << "though nothing has ended";
  EXPECT_EQ(rig.peer_port(9).tx_credits(), -2);
  EXPECT_EQ(rig.peer_port(9).tx_credits_max, 3);
  while (!lnd.held.empty()) {
    lnd.end(0);
    rig.settle();
  }
  EXPECT_EQ(user.count(EventKind::kSend), 5U);
  rig.expect_conserved();
}

TEST(Credits, FewerCreditsHoldLaterMessages) {
  HeldNode rig({.tunables = {.peer_credits = 3}});
  Recorder user;
  const MdHandle md = rig.bind(user);
  ASSERT_TRUE(rig.put(md, 9, 0));
  ASSERT_TRUE(rig.put(md, 9, 1));
  rig.settle();
  HeldLnd& lnd = *rig.lnds[0];
  ASSERT_EQ(lnd.held.size(), 2U);
  come_back_with(rig, 1);
  ASSERT_TRUE(rig.put(md, 9, 2));
  rig.settle();
  EXPECT_EQ(lnd.held.size(), 2U) << "two are over the one there is";
  lnd.end(0);
  rig.settle();
  EXPECT_EQ(lnd.held.size(), 1U);
  lnd.end(0);
  rig.settle();
  ASSERT_EQ(lnd.held.size(), 1U);
  EXPECT_EQ(lnd.bits(0), 2U);
  lnd.end(0);
  rig.settle();
  EXPECT_EQ(rig.peer_port(9).tx_credits_max, 1);
  rig.expect_conserved();
}

}  // namespace
}  // namespace plnet::lnet::credits_test
