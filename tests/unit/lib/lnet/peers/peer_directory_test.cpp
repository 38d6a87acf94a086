// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/peers/peer_directory.hpp"

#include <gtest/gtest.h>

#include "lib/lnet/peers/peer_readiness.hpp"
#include "tests/unit/lib/lnet/peers/peer_rig.hpp"

namespace plnet::lnet::peer_directory_test {
namespace {

using Id = PeerTable::Id;

class PeerDirectoryTest : public PeerRig {};

TEST_F(PeerDirectoryTest, TrafficMakesAPeerOfOneInterface) {
  EXPECT_EQ(directory_.find(tcp(1)), nullptr);
  PeerNi* ni = traffic(tcp(1));
  EXPECT_EQ(directory_.find(tcp(1)), ni);
  EXPECT_EQ(traffic(tcp(1)), ni);
  const Peer& peer = *ni->peer.load();
  EXPECT_EQ(peer.seen().primary, tcp(1));
  ASSERT_EQ(peer.seen().nets.size(), 1U);
  EXPECT_EQ(peer.seen().nets[0].net, tcp(1).net());
  EXPECT_EQ(peer.seen().on(peer.seen().nets[0]).front(), ni);
  EXPECT_EQ(peer.state.get(), 0U);
  EXPECT_EQ(ni->tx_credits.get(), 8);
  EXPECT_EQ(ni->health.get(), kHealthMax);
  EXPECT_EQ(ni->preferred_ni.get(), nullptr);
  EXPECT_EQ(count(Id::kPeers), 1U);
}

TEST_F(PeerDirectoryTest, ANewPeerPrefersTheInterfaceThatReceivedItsMessage) {
  const Ni* heard = local_.view().nis[0];
  const auto made = directory_.create_by_traffic({tcp(1), PeerDemand::kStranger, heard}, now_);
  ASSERT_TRUE(made);
  EXPECT_EQ((*made)->preferred_ni.get(), heard);
  directory_.remove_local(*heard);
  EXPECT_EQ((*made)->preferred_ni.get(), nullptr);
}

TEST_F(PeerDirectoryTest, InterfacesOnNetworksThatAreNotOursHaveNoCreditsUntilTheyAre) {
  PeerNi* far = traffic(tcp(1, 7));
  EXPECT_EQ(far->tx_credits.get(), 0);
  local_.add(tcp(99, 7));
  directory_.set_local(local_.view());
  directory_.net_added(tcp(1, 7).net());
  EXPECT_EQ(far->tx_credits.get(), 8);
}

TEST_F(PeerDirectoryTest, NotEveryNidIsAPeers) {
  EXPECT_EQ(directory_.create_by_traffic({Nid::any()}, now_).error(), Errc::kInvalid);
  Nid odd = tcp(1);
  odd.address_be[9] = 1;
  EXPECT_EQ(directory_.create_by_traffic({odd}, now_).error(), Errc::kInvalid);
  EXPECT_EQ(count(Id::kRefused), 2U);
}

TEST_F(PeerDirectoryTest, ViewsOfEverySizeListInterfacesInOrder) {
  PeerRecord& peer = **directory_.create(tcp(0), now_);
  std::vector<Nid> expected{tcp(0)};
  for (std::uint32_t n = 1; n < kNisMax; ++n) {
    ASSERT_TRUE(directory_.attach(peer, tcp(n))) << n;
    expected.push_back(tcp(n));
    if (n % 7 == 0) settle();
  }
  settle();
  EXPECT_EQ(nids_seen(tcp(0)), expected);
  EXPECT_EQ(directory_.attach(peer, tcp(500)).error(), PeerError::kNoMemory);
  for (std::uint32_t n = 1; n < kNisMax; ++n) {
    directory_.detach(*directory_.lookup(tcp(n)));
    settle();
  }
  EXPECT_EQ(nids_seen(tcp(0)), (std::vector{tcp(0)}));
  EXPECT_EQ(count(Id::kPeerNis), 1U);
}

TEST_F(PeerDirectoryTest, NetworksComeInOrderWithThePrimaryFirst) {
  PeerRecord& peer = **directory_.create(tcp(1), now_);
  for (const Nid& more : {tcp(1, 5), tcp(2), tcp(2, 5)})
    ASSERT_TRUE(directory_.attach(peer, more));
  settle();
  EXPECT_EQ(nids_seen(tcp(1)), (std::vector{tcp(1), tcp(2), tcp(1, 5), tcp(2, 5)}));
  directory_.rename(peer, tcp(2, 5));
  directory_.bring_to_front(*directory_.lookup(tcp(2, 5)));
  settle();
  EXPECT_EQ(nids_seen(tcp(1)), (std::vector{tcp(2, 5), tcp(1, 5), tcp(1), tcp(2)}));
  EXPECT_EQ(peer.seen().primary, tcp(2, 5));
  EXPECT_EQ(peer.seen().nets[1].first, 2U);
  EXPECT_NE(peer.seen().nets[0].number, peer.seen().nets[1].number);
}

TEST_F(PeerDirectoryTest, AnInterfaceMovesToAnotherPeerAndStaysItself) {
  PeerNi* ni = traffic(tcp(2));
  PeerRecord& lone = peer_of(tcp(2));
  PeerRecord& taker = **directory_.create(tcp(1), now_);
  ASSERT_TRUE(directory_.attach(taker, tcp(2)));
  EXPECT_TRUE(lone.dead);
  EXPECT_EQ(gone_, std::vector{lone.number});
  settle();
  EXPECT_EQ(directory_.find(tcp(2)), ni);
  EXPECT_EQ(ni->peer.load(), &taker);
  EXPECT_TRUE(asked_.empty()) << "its home keeps it";
  EXPECT_EQ(nids_seen(tcp(1)), (std::vector{tcp(1), tcp(2)}));
  EXPECT_EQ(count(Id::kMoved), 1U);
}

TEST_F(PeerDirectoryTest, InterfacesKnowTheFactsForEachMessage) {
  PeerNi* const ni = traffic(tcp(1));
  EXPECT_EQ(ni->traits.get(), kTraitAlone);
  PeerRecord& peer = record_of(*ni->peer.load());
  peer.add_state(kPeerMultiRail | kPeerDiscovered);
  EXPECT_EQ(ni->traits.get(), kTraitAlone | kTraitMultiRail);
  peer.add_state(kPeerNidsUpToDate);
  EXPECT_EQ(ni->traits.get(), kTraitAlone | kTraitMultiRail | kTraitReady);
  const auto second = directory_.attach(peer, tcp(2));
  ASSERT_TRUE(second);
  directory_.commit();
  EXPECT_EQ(ni->traits.get(), kTraitMultiRail | kTraitReady);
  EXPECT_EQ((*second)->traits.get(), kTraitMultiRail | kTraitReady);
  peer.add_state(kPeerForcePing);
  peer.drop_state(kPeerMultiRail);
  EXPECT_EQ(ni->traits.get(), 0U);
  peer.add_state(kPeerRouterDiscovery);
  EXPECT_EQ((*second)->traits.get(), kTraitReady) << "it is checked, so messages need not wait";
}

TEST_F(PeerDirectoryTest, ADeletionUndoneBeforeCommitHasNoEffect) {
  PeerNi* ni = traffic(tcp(1));
  directory_.destroy(peer_of(tcp(1)));
  ASSERT_TRUE(directory_.create(tcp(1), now_));
  settle();
  EXPECT_EQ(directory_.find(tcp(1)), ni);
  EXPECT_TRUE(asked_.empty());
}

TEST_F(PeerDirectoryTest, ANumberReturnsAfterReadersAndHomeReleasedIt) {
  homes_answer_ = false;
  PeerNi* ni = traffic(tcp(1));
  const auto number = ni->number;
  directory_.destroy(peer_of(tcp(1)));
  directory_.commit();
  EXPECT_EQ(directory_.find(tcp(1)), nullptr);
  directory_.step(100);
  EXPECT_TRUE(asked_.empty()) << "a reader may still hold it";
  EXPECT_EQ(directory_.create_by_traffic({tcp(1)}, now_).error(), Errc::kAgain);
  settle();
  ASSERT_EQ(asked_, std::vector{ni});
  EXPECT_EQ(directory_.create_by_traffic({tcp(1)}, now_).error(), Errc::kAgain);
  directory_.peer_ni_released(*ni);
  EXPECT_TRUE(directory_.waiting());
  PeerNi* again = traffic(tcp(1));
  EXPECT_NE(again->number, number) << "completions may still name the old one";
  settle();
  EXPECT_FALSE(directory_.waiting());
  EXPECT_EQ(traffic(tcp(2))->number, number);
}

TEST_F(PeerDirectoryTest, ADeletedPeerStaysWhileSomethingHoldsIt) {
  traffic(tcp(1));
  PeerRecord& peer = peer_of(tcp(1));
  peer.holds = 1;
  directory_.destroy(peer);
  settle();
  EXPECT_TRUE(directory_.waiting());
  EXPECT_TRUE(peer.is(kPeerMarkDeleted));
  peer.holds = 0;
  settle();
  EXPECT_FALSE(directory_.waiting());
}

TEST_F(PeerDirectoryTest, ViewsWaitForReadersButAreNotLost) {
  PeerRecord& peer = **directory_.create(tcp(1), now_);
  directory_.commit();
  for (std::uint32_t i = 0; i < 200; ++i) {
    directory_.rename(peer, tcp(1000 + i));
    directory_.commit();
  }
  EXPECT_GT(count(Id::kViewsLate), 0U);
  settle();
  EXPECT_EQ(peer.seen().primary, tcp(1199));
  EXPECT_FALSE(directory_.waiting());
}

TEST_F(PeerDirectoryTest, StrangersAreLimitedByTheSecondAndLeaveSomeRoom) {
  const Ni* heard = local_.view().nis[0];
  PeerLimits limits = small_limits();
  limits.strangers_per_second = 10;
  PeerDirectory directory(limits, qsbr_, placement_, *this);
  std::uint32_t made = 0;
  for (std::uint32_t n = 0; n < 50; ++n)
    made += directory.create_by_traffic({tcp(n), PeerDemand::kStranger, heard}, now_) ? 1 : 0;
  EXPECT_EQ(made, 10U);
  EXPECT_EQ(directory.counters().get(Id::kLimited), 40U);
  EXPECT_TRUE(directory.create_by_traffic({tcp(900)}, now_)) << "own sends are not limited";
  now_ += std::chrono::milliseconds(500);
  made = 0;
  for (std::uint32_t n = 100; n < 150; ++n)
    made += directory.create_by_traffic({tcp(n), PeerDemand::kStranger, heard}, now_) ? 1 : 0;
  EXPECT_EQ(made, 5U);
  for (std::uint32_t n = 200; n < 1000 && directory.counters().get(Id::kFull) == 0; ++n) {
    now_ += std::chrono::milliseconds(100);
    (void)directory.create_by_traffic({tcp(n), PeerDemand::kStranger, heard}, now_);
  }
  EXPECT_EQ(directory.counters().get(Id::kPeers), limits.peers - limits.kept_for_own);
  EXPECT_EQ(directory.create_by_traffic({tcp(1999), PeerDemand::kOthers}, now_).error(),
            Errc::kNoMemory);
  for (std::uint32_t n = 0; n < limits.kept_for_own; ++n)
    EXPECT_TRUE(directory.create_by_traffic({tcp(2000 + n)}, now_));
  EXPECT_EQ(directory.create_by_traffic({tcp(3000)}, now_).error(), Errc::kNoMemory);
}

TEST_F(PeerDirectoryTest, AWaitingUnknownPeerKeepsItsTurn) {
  const Ni* heard = local_.view().nis[0];
  PeerLimits limits = small_limits();
  limits.strangers_per_second = 10;
  PeerDirectory directory(limits, qsbr_, placement_, *this);
  ASSERT_TRUE(directory.create_by_traffic({tcp(1)}, now_));
  PeerNetRecord& net = *directory.peer_of(tcp(1))->nets.front();
  for (std::uint32_t priority = 0; !directory.has_late_views(); ++priority) {
    directory.set_priority(net, priority);
    directory.commit();
  }
  const auto ask = [&](std::uint32_t n) {
    return directory.create_by_traffic({tcp(n), PeerDemand::kStranger, heard}, now_);
  };
  for (int times = 0; times < 50; ++times)
    EXPECT_EQ(ask(100).error(), Errc::kAgain) << "readers hold all views that there are to spare";
  EXPECT_EQ(directory.counters().get(Id::kLimited), 0U);
  qsbr_.quiescent(reader_);
  (void)directory.step(100);
  EXPECT_FALSE(directory.has_late_views());
  for (std::uint32_t n = 0; n < 10; ++n)
    EXPECT_TRUE(ask(100 + n));
  EXPECT_EQ(ask(200).error(), Errc::kNoSpace);
}

TEST_F(PeerDirectoryTest, NamedPeersHaveNoRateLimitButLeaveRoom) {
  PeerLimits limits = small_limits();
  limits.strangers_per_second = 10;
  PeerDirectory directory(limits, qsbr_, placement_, *this);
  std::size_t made = 0;
  for (std::uint32_t n = 0; n < 100; ++n)
    made += directory.create_by_traffic({tcp(n), PeerDemand::kOthers}, now_) ? 1 : 0;
  EXPECT_EQ(made, limits.peers - limits.kept_for_own);
  EXPECT_EQ(directory.counters().get(Id::kLimited), 0U);
  for (std::uint32_t n = 0; n < limits.kept_for_own; ++n)
    EXPECT_TRUE(directory.create_by_traffic({tcp(2000 + n)}, now_));
}

TEST_F(PeerDirectoryTest, AnIdlePeerMakesRoomABusyOneDoesNot) {
  for (std::uint32_t n = 0; n < 64; ++n)
    traffic(tcp(n));
  now_ += std::chrono::seconds(181);
  directory_.for_each([&](PeerRecord& peer) {
    const Nid& of = peer.primary;
    if (of == tcp(0)) peer.add_state(kPeerConfigured);
    if (of == tcp(1)) peer.holds = 1;
    if (of == tcp(2)) peer.gateway_refs = 1;
    if (of == tcp(3)) peer.add_state(kPeerDiscovering);
    if (of != tcp(7)) directory_.lookup(of)->last_alive_ns.set(now_.time_since_epoch().count());
    if (of.address32() < tcp(4).address32()) directory_.lookup(of)->last_alive_ns.set(INT64_MIN);
  });
  EXPECT_EQ(directory_.create_by_traffic({tcp(100)}, now_).error(), Errc::kAgain);
  EXPECT_EQ(directory_.find(tcp(7)), nullptr);
  EXPECT_EQ(count(Id::kEvicted), 1U);
  EXPECT_EQ(directory_.create_by_traffic({tcp(100)}, now_).error(), Errc::kAgain);
  EXPECT_EQ(count(Id::kEvicted), 1U) << "one is enough for the time being";
  settle();
  EXPECT_TRUE(directory_.create_by_traffic({tcp(100)}, now_));
  EXPECT_EQ(directory_.create_by_traffic({tcp(101)}, now_).error(), Errc::kNoMemory);
}

TEST_F(PeerDirectoryTest, APeerWithAnOpenConnectionMakesNoRoom) {
  for (std::uint32_t n = 0; n < 64; ++n)
    directory_.lookup(traffic(tcp(n))->nid)->connected_by.set(n == 5 ? 0 : 2);
  now_ += std::chrono::seconds(181);
  EXPECT_EQ(directory_.create_by_traffic({tcp(100)}, now_).error(), Errc::kAgain);
  settle();
  EXPECT_EQ(directory_.find(tcp(5)), nullptr);
  EXPECT_TRUE(directory_.create_by_traffic({tcp(100)}, now_));
  now_ += std::chrono::seconds(60);
  EXPECT_EQ(directory_.create_by_traffic({tcp(101)}, now_).error(), Errc::kNoMemory);
  EXPECT_EQ(count(Id::kEvicted), 1U);
}

TEST_F(PeerDirectoryTest, NamedPeersCountAgainstTheNamingNeighbour) {
  PeerLimits limits = small_limits();
  limits.named_by_one = 10;
  limits.named_by_gateway = 20;
  PeerDirectory directory(limits, qsbr_, placement_, *this);
  for (std::uint32_t n = 0; n < 3; ++n)
    ASSERT_TRUE(directory.create_by_traffic({tcp(n)}, now_));
  directory.peer_of(tcp(2))->gateway_refs = 1;
  const auto name = [&](std::uint32_t by, std::uint32_t n) {
    return directory.create_by_traffic(
        {.nid = tcp(n), .demand = PeerDemand::kOthers, .named_by = tcp(by)}, now_);
  };
  for (std::uint32_t n = 0; n < 10; ++n)
    EXPECT_TRUE(name(0, 100 + n));
  EXPECT_EQ(name(0, 110).error(), Errc::kNoMemory);
  EXPECT_EQ(directory.counters().get(Id::kShareUsed), 1U);
  PeerComplaint complaint;
  ASSERT_TRUE(directory.complaints().take(complaint));
  EXPECT_EQ(complaint.nid, tcp(0));
  EXPECT_TRUE(name(1, 110)) << "another neighbour has a share of its own";
  for (std::uint32_t n = 0; n < 20; ++n)
    EXPECT_TRUE(name(2, 200 + n)) << "a gateway brings many";
  EXPECT_EQ(name(2, 220).error(), Errc::kNoMemory);
  // One peer is created by traffic.
  EXPECT_TRUE(directory.create_by_traffic({tcp(100), PeerDemand::kStranger}, now_));
  EXPECT_TRUE(name(0, 111));
  EXPECT_EQ(name(0, 112).error(), Errc::kNoMemory);
  directory.destroy(*directory.peer_of(tcp(101)));
  directory.commit();
  EXPECT_EQ(name(0, 112).error(), Errc::kAgain) << "once no reader uses it any more";
}

TEST_F(PeerDirectoryTest, NamedPeersOfANeighbourHaveARateLimit) {
  PeerLimits limits = small_limits();
  limits.named_per_second = 5;
  PeerDirectory directory(limits, qsbr_, placement_, *this);
  ASSERT_TRUE(directory.create_by_traffic({tcp(0)}, now_));
  std::size_t made = 0;
  Result<PeerNi*> last;
  for (std::uint32_t n = 0; n < 20; ++n) {
    last = directory.create_by_traffic(
        {.nid = tcp(100 + n), .demand = PeerDemand::kOthers, .named_by = tcp(0)}, now_);
    made += last ? 1 : 0;
  }
  EXPECT_EQ(made, 5U);
  EXPECT_EQ(last.error(), Errc::kNoSpace) << "its turn comes";
}

TEST_F(PeerDirectoryTest, HomesAreSharedOutOverTheShardsOfTheCpt) {
  local_.add(nid("10.0.1.250@tcp7")).shards.set(1);
  directory_.set_local(local_.view());
  for (std::uint32_t n = 0; n < 10; ++n) {
    EXPECT_EQ(traffic(tcp(n))->home, 0U) << "only shard 0 serves that network";
    traffic(tcp(n, 7));
    traffic(tcp(n, 9));
  }
  EXPECT_EQ(placement_.load_of(0) + placement_.load_of(1), 30U);
  EXPECT_EQ(placement_.load_of(0), placement_.load_of(1));
}

TEST(PeerReadiness, FollowsTheState) {
  EXPECT_FALSE(is_up_to_date(0));
  EXPECT_FALSE(is_up_to_date(kPeerDiscovered));
  constexpr std::uint32_t kGood = kPeerDiscovered | kPeerNidsUpToDate;
  EXPECT_TRUE(is_up_to_date(kGood | kPeerMultiRail | kPeerNoDiscovery));
  for (const auto bit : {kPeerDiscovering, kPeerForcePing, kPeerForcePush, kPeerRediscover})
    EXPECT_FALSE(is_up_to_date(kGood | bit));
  Peer peer;
  EXPECT_TRUE(needs_discovery(peer, MessageType::kPut, 4));
  EXPECT_TRUE(needs_discovery(peer, MessageType::kGet, 4));
  EXPECT_FALSE(needs_discovery(peer, MessageType::kGet, kPingPortal));
  EXPECT_FALSE(needs_discovery(peer, MessageType::kPut, kPingPortal));
  EXPECT_FALSE(needs_discovery(peer, MessageType::kAck, 4));
  EXPECT_FALSE(needs_discovery(peer, MessageType::kReply, 4));
  peer.state.set(kPeerRouterDiscovery);
  EXPECT_FALSE(needs_discovery(peer, MessageType::kPut, 4));
  peer.state.set(kGood);
  EXPECT_FALSE(needs_discovery(peer, MessageType::kPut, 4));
}

}  // namespace
}  // namespace plnet::lnet::peer_directory_test
