// SPDX-License-Identifier: BSD-3-Clause
// Peers and interfaces that are removed while messages to and from them are in flight.
#include "tests/unit/lib/lnet/move/held_lnd.hpp"

namespace plnet::lnet::release_test {
namespace {

TEST(Release, MessagesWaitingForAPeerEndWithIt) {
  for (const unsigned shards : {1U, 2U, 4U}) {
    for (unsigned home = 0; home < shards; ++home) {
      HeldNode rig({.shards = shards, .tunables = {.peer_credits = 2}});
      Recorder user;
      rig.node.add_peer(HeldNode::nid(9), static_cast<ShardId>(home));
      for (unsigned i = 0; i < shards; ++i) {
        const MdHandle md = rig.bind(user, 100, i);
        for (unsigned k = 0; k < 5; ++k)
          ASSERT_TRUE(rig.put(md, 9, k));
      }
      rig.settle();
      rig.node.delete_peer(HeldNode::nid(9));
      rig.settle();
      EXPECT_EQ(user.count(EventKind::kSend), 5U * shards - 2);
      for (const Event& event : user.events)
        EXPECT_EQ(event.status.error(), Errc::kShutdown);
      EXPECT_EQ(rig.cause(Cause::kTxReleased, home), 5U * shards - 2);
      EXPECT_TRUE(rig.node.directory().waiting()) << "two are under way";
      EXPECT_NE(rig.node.shard(home).next_deadline(), Instant::min()) << "and cost no turns";
      while (!rig.lnds[home]->held.empty())
        rig.lnds[home]->end(0);
      rig.settle();
      EXPECT_EQ(user.count(EventKind::kSend), 5U * shards);
      EXPECT_FALSE(rig.node.directory().waiting());
      EXPECT_EQ(rig.core(home).peers.links_of(1), 0U);
      EXPECT_EQ(rig.core(home).peers.pool().free_count(), rig.core(home).peers.pool().capacity());
      rig.expect_conserved();
    }
  }
}

TEST(Release, TheSamePeerCanBeUsedAgain) {
  for (const unsigned shards : {1U, 2U, 4U}) {
    HeldNode rig({.shards = shards});
    Recorder user;
    const MdHandle md = rig.bind(user);
    for (unsigned round = 0; round < 20; ++round) {
      ASSERT_TRUE(rig.put(md, 9, round));
      if (round % 3 == 0) rig.node.turn(rig.now);
      rig.node.delete_peer(HeldNode::nid(9));
      for (unsigned i = 0; i < 50; ++i) {
        rig.settle();
        for (HeldLnd* const lnd : rig.lnds) {
          while (!lnd->held.empty())
            lnd->end(0);
        }
      }
      EXPECT_EQ(user.count(EventKind::kSend), round + 1);
    }
    rig.expect_conserved();
  }
}

// The LND learns of the link with the first decision; before that it cannot relate the message to
// the link.
TEST(Release, AParkedMessageOutlivesALinkUnknownToTheLnd) {
  HeldNode rig({});
  Recorder target;
  rig.node.set_lazy(5, true);
  ASSERT_EQ(rig.offer_put(9, {3, 1}).verdict, RxVerdict::kPark);
  rig.settle();
  ASSERT_NE(rig.node.directory().find(HeldNode::nid(9)), nullptr);
  rig.node.delete_peer(HeldNode::nid(9));
  rig.settle();
  EXPECT_EQ(rig.core().peers.pool().free_count(), rig.core().peers.pool().capacity());
  rig.attach(target);
  rig.settle();
  ASSERT_EQ(rig.lnds[0]->resumed.size(), 1U);
  EXPECT_EQ(rig.lnds[0]->resumed[0].second.verdict, RxVerdict::kReceive);
  EXPECT_EQ(rig.lnds[0]->resumed[0].second.link, nullptr);
  rig.port().on_received({3, 1}, {}, Health::kOk);
  rig.settle();
  EXPECT_EQ(target.count(EventKind::kPut), 1U);
  rig.expect_conserved();
}

// Another shard decided in the same turn in which the sender's peer was deleted; the held LND
// checks that every link it receives is valid.
TEST(Release, ADecisionInFlightNamesNoRemovedLink) {
  for (unsigned delay = 0; delay < 16; ++delay) {
    HeldNode rig({.shards = 2});
    Recorder target;
    rig.node.set_lazy(5, true);
    rig.node.add_peer(HeldNode::nid(9), 1);
    ASSERT_EQ(rig.offer_put(9, {3, 1}).verdict, RxVerdict::kPark);
    rig.settle();
    rig.node.delete_peer(HeldNode::nid(9));
    for (unsigned i = 0; i < delay; ++i)
      rig.node.turn(rig.now);
    rig.attach(target, 1);
    rig.settle();
    ASSERT_EQ(rig.lnds[0]->resumed.size(), 1U);
    rig.port().on_received({3, 1}, {}, Health::kOk);
    rig.settle();
    EXPECT_EQ(target.count(EventKind::kPut), 1U);
    rig.expect_conserved();
  }
}

TEST(Release, AParkedMessageThatGoesIsDroppedOnceWhereverItsConversationIs) {
  for (unsigned turns = 0; turns < 8; ++turns) {
    HeldNode rig({.shards = 3});
    Recorder target;
    rig.attach(target, 2);
    ASSERT_EQ(rig.offer_put(9, {3, 1}).verdict, RxVerdict::kPark);
    for (unsigned i = 0; i < turns && rig.lnds[0]->resumed.empty(); ++i)
      rig.node.turn(rig.now);
    const bool resumed = !rig.lnds[0]->resumed.empty();
    if (resumed) {
      rig.port().on_received({3, 1}, std::unexpected(Errc::kReset), Health::kRemoteDropped);
    } else {
      rig.port().on_parked_gone({3, 1}, Errc::kReset);
    }
    rig.settle();
    EXPECT_EQ(rig.cause(Cause::kDroppedConnectionLost), resumed ? 0U : 1U);
    EXPECT_EQ(rig.statistic(Statistic::kDropCount), resumed ? 0U : 1U);
    EXPECT_EQ(rig.port().traffic.get(LnetTraffic::Id::kDroppedPut), resumed ? 0U : 1U);
    EXPECT_EQ(rig.cause(Cause::kReceiveFailed), resumed ? 1U : 0U);
    for (const Event& event : target.events)
      EXPECT_EQ(event.status.error(), Errc::kReset);
    rig.expect_conserved();
  }
}

// An ACK is complete with its header, so its event is delivered regardless of the connection.
TEST(Release, AnAckIsDeliveredOnceThoughItsConnectionEnds) {
  unsigned told_though_gone = 0;
  for (unsigned turns = 0; turns < 8; ++turns) {
    HeldNode rig({.shards = 3});
    Recorder user;
    MessageHeader header{.destination = HeldNode::nid(1), .source = Nid::of(NetType::kTcp, 7, 9)};
    header.set_area(AckArea{.destination = rig.core(2).match.wire_handle(rig.bind(user, 100, 2))});
    // Through another peer: the other shard is asked.
    const RxOffer offer{.header = header, .from = HeldNode::nid(8), .rx = {3, 1}};
    ASSERT_EQ(rig.port().on_header(offer).verdict, RxVerdict::kPark);
    for (unsigned i = 0; i < turns && rig.lnds[0]->resumed.empty(); ++i)
      rig.node.turn(rig.now);
    const bool resumed = !rig.lnds[0]->resumed.empty();
    if (resumed) {
      EXPECT_EQ(rig.lnds[0]->resumed[0].second.verdict, RxVerdict::kReceive);
      rig.port().on_received({3, 1}, {}, Health::kOk);
      EXPECT_EQ(rig.statistic(Statistic::kMessagesAlloc), 0U) << "no repeated request";
    } else {
      rig.port().on_parked_gone({3, 1}, Errc::kReset);
    }
    rig.settle();
    const std::size_t told = user.count(EventKind::kAck);
    EXPECT_EQ(told + rig.cause(Cause::kDroppedConnectionLost), 1U);
    EXPECT_EQ(rig.statistic(Statistic::kReceiveCount), told);
    for (const Event& event : user.events)
      EXPECT_TRUE(event.status.has_value());
    if (told == 1 && !resumed) ++told_though_gone;
    rig.expect_conserved();
  }
  EXPECT_GT(told_though_gone, 0U);
}

TEST(Release, AnInterfaceGoesWithAllThatWaitsForItAndItsLinks) {
  for (const unsigned shards : {1U, 2U, 4U}) {
    HeldNode rig({.shards = shards, .tunables = {.peer_credits = 3, .credits = 2}});
    Recorder user;
    for (unsigned i = 0; i < shards; ++i) {
      const MdHandle md = rig.bind(user, 100, i);
      for (unsigned k = 0; k < 12; ++k)
        ASSERT_TRUE(rig.put(md, 9 + k % 2, k));
    }
    rig.settle();
    Ni& ni = rig.node.ni(1);
    for (unsigned i = 0; i < shards; ++i) {
      rig.node.shard(i).close_port(ni);
      rig.node.shard(i).close_port(ni);  // a second call has no effect
    }
    rig.settle();
    EXPECT_EQ(user.count(EventKind::kSend), 12U * shards);
    for (unsigned i = 0; i < shards; ++i) {
      EXPECT_EQ(rig.core(i).peers.links_of(1), 0U);
      ASSERT_TRUE(rig.node.shard(i).port_idle(ni));
      EXPECT_EQ(rig.port(i).tx_credits(), 2);
      EXPECT_EQ(rig.offer_put(9, {1, 1}).verdict, RxVerdict::kDrop);
    }
    for (unsigned i = 0; i < shards; ++i)
      rig.node.shard(i).remove_port(ni);
    rig.node.delete_peer(HeldNode::nid(9));  // the LND that knew it is removed
    rig.settle();
    EXPECT_TRUE(rig.node.quiet());
    const MdHandle md = rig.bind(user);
    ASSERT_TRUE(rig.put(md, 10, 0));
    rig.settle();
    EXPECT_EQ(user.events.back().status.error(), Errc::kShutdown);
    rig.expect_conserved();
  }
}

TEST(Release, APeerAndItsInterfaceMayGoAtTheSameTime) {
  for (unsigned delay = 0; delay < 12; ++delay) {
    for (const bool peer_first : {false, true}) {
      HeldNode rig({.shards = 2});
      Recorder user;
      for (unsigned i = 0; i < 2; ++i) {
        const MdHandle md = rig.bind(user, 100, i);
        for (unsigned k = 0; k < 12; ++k)
          ASSERT_TRUE(rig.put(md, 9 + k % 2, k));
      }
      rig.settle();
      const auto close = [&] {
        for (unsigned i = 0; i < 2; ++i)
          rig.node.shard(i).close_port(rig.node.ni(1));
      };
      peer_first ? rig.node.delete_peer(HeldNode::nid(9)) : close();
      for (unsigned i = 0; i < delay; ++i)
        rig.node.turn(rig.now);
      peer_first ? close() : rig.node.delete_peer(HeldNode::nid(9));
      rig.settle();
      EXPECT_EQ(user.count(EventKind::kSend), 24U);
      EXPECT_TRUE(rig.node.shard(0).port_idle(rig.node.ni(1)));
      EXPECT_TRUE(rig.node.shard(1).port_idle(rig.node.ni(1)));
      rig.expect_conserved();
    }
  }
}

TEST(Release, AMessageFromAStrangerThatParksWhileTheInterfaceClosesIsDropped) {
  HeldNode rig({});
  ASSERT_EQ(rig.offer_put(9, {3, 1}).verdict, RxVerdict::kPark);
  rig.node.shard(0).close_port(rig.node.ni(1));
  rig.settle();
  ASSERT_EQ(rig.lnds[0]->resumed.size(), 1U);
  EXPECT_EQ(rig.lnds[0]->resumed[0].second.verdict, RxVerdict::kDrop);
  EXPECT_EQ(rig.cause(Cause::kDroppedShutdown), 1U);
  EXPECT_TRUE(rig.node.shard(0).port_idle(rig.node.ni(1)));
  rig.expect_conserved();
}

TEST(Release, NoticesOfAnLndReachThePeer) {
  HeldNode rig({});
  rig.settle();
  PeerNi& peer = rig.node.add_peer(HeldNode::nid(9));
  const Instant then = rig.now;
  rig.port().on_peer(HeldNode::nid(9), PeerNotice::kAlive, then);
  EXPECT_EQ(peer.last_alive_ns.get(), then.time_since_epoch().count());
  EXPECT_EQ(peer.status.get(), kNiUp);
  rig.port().on_peer(HeldNode::nid(9), PeerNotice::kDown, then - std::chrono::microseconds(1));
  EXPECT_EQ(peer.status.get(), kNiDown);
  EXPECT_EQ(peer.last_alive_ns.get(), then.time_since_epoch().count()) << "no peer was alive";
  rig.port().on_peer(HeldNode::nid(9), PeerNotice::kAlive, then + std::chrono::hours(1));
  EXPECT_EQ(peer.status.get(), kNiDown) << "a prediction";
  peer.health.set(300);
  rig.port().on_peer(HeldNode::nid(9), PeerNotice::kAliveAfterRestart, then);
  EXPECT_EQ(peer.status.get(), kNiUp);
  EXPECT_EQ(peer.health.get(), kHealthMax);
  rig.port().on_peer(HeldNode::nid(77), PeerNotice::kDown, then);
  rig.port().on_peer(Nid::of(NetType::kTcp, 8, 9), PeerNotice::kDown, then);
}

TEST(Release, PeersThatCannotBeConnectedAreNewsOnce) {
  HeldNode rig({});
  rig.settle();
  PeerNi& peer = rig.node.add_peer(HeldNode::nid(9));
  ReachBook& book = *rig.core().reach;
  using Id = LnetReach::Id;
  rig.port().on_peer(HeldNode::nid(9), PeerNotice::kAlive, rig.now);
  rig.now += std::chrono::seconds(12);
  rig.core().now = rig.now;
  rig.port().on_unreachable(HeldNode::nid(9), Errc::kTimedOut);
  rig.port().on_unreachable(HeldNode::nid(9), Errc::kTimedOut);
  rig.port().on_unreachable(HeldNode::nid(77), Errc::kTimedOut);
  EXPECT_EQ(peer.reach.trouble(), Errc::kTimedOut);
  PeerNews news;
  ASSERT_TRUE(book.take(news));
  EXPECT_EQ(news.nid, HeldNode::nid(9));
  EXPECT_EQ(news.trouble, Errc::kTimedOut);
  EXPECT_EQ(news.silent, std::chrono::seconds(12));
  EXPECT_FALSE(book.take(news));
  EXPECT_EQ(book.counters().get(Id::kLost), 1U);
  rig.port().on_unreachable(HeldNode::nid(9), Errc::kRefused);
  ASSERT_TRUE(book.take(news));
  EXPECT_EQ(news.trouble, Errc::kRefused);
  rig.port().on_peer(HeldNode::nid(9), PeerNotice::kAlive, rig.now);
  ASSERT_TRUE(book.take(news));
  EXPECT_FALSE(news.trouble || news.forgotten);
  EXPECT_EQ(book.counters().get(Id::kLost), 1U);
  EXPECT_EQ(book.counters().get(Id::kFound), 1U);
}

TEST(Release, APeerThatGoesIsUnreachableNoMore) {
  HeldNode rig({});
  rig.settle();
  (void)rig.node.add_peer(HeldNode::nid(9));
  ReachBook& book = *rig.core().reach;
  rig.port().on_unreachable(HeldNode::nid(9), Errc::kTimedOut);
  rig.node.delete_peer(HeldNode::nid(9));
  rig.settle();
  EXPECT_EQ(book.counters().get(LnetReach::Id::kForgotten), 1U);
  PeerNews news;
  ASSERT_TRUE(book.take(news));
  ASSERT_TRUE(book.take(news));
  EXPECT_TRUE(news.forgotten);
}

TEST(Release, WithoutAutoDownALndFailureDoesNotLowerAPeer) {
  HeldNode rig({});
  rig.settle();
  PeerNi& peer = rig.node.add_peer(HeldNode::nid(9));
  rig.node.shared().parameters.auto_down.set(0);
  rig.port().on_peer(HeldNode::nid(9), PeerNotice::kDown, rig.now);
  EXPECT_EQ(peer.status.get(), kNiUp);
  rig.port().on_peer(HeldNode::nid(9), PeerNotice::kLost, rig.now);
  EXPECT_EQ(peer.losses.get(), 1U) << "that is another matter";
  rig.node.shared().parameters.auto_down.set(1);
  rig.port().on_peer(HeldNode::nid(9), PeerNotice::kDown, rig.now);
  EXPECT_EQ(peer.status.get(), kNiDown);
}

}  // namespace
}  // namespace plnet::lnet::release_test
