// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/control/coordinator.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/lib/lnet/control/test_node.hpp"

namespace plnet::lnet::coordinator_test {
namespace {

const Nid kFirst = nid("10.0.0.1@tcp");
const Nid kSecond = nid("10.0.0.2@tcp");

struct TestPing : PingRequest {
  void done(Result<void> outcome, const PingView* buffer) override {
    ++times;
    result = outcome;
    if (buffer == nullptr) return;
    features = buffer->features();
    auto walk = buffer->walk();
    while (const auto entry = walk.next())
      entries.push_back(*entry);
  }
  int times = 0;
  Result<void> result;
  std::uint32_t features = 0;
  std::vector<PingEntry> entries;
};

class CoordinatorTest : public ::testing::Test {
 protected:
  void settle(Duration until = std::chrono::seconds(1)) { run(network_, {&a_, &b_}, until); }

  FakeNetwork network_;
  TestNode a_{network_, {kFirst}};
  TestNode b_{network_, {kSecond, nid("10.0.0.3@tcp"), nid("7@kfi")}};
};

TEST_F(CoordinatorTest, TwoNodesDiscoverEachOther) {
  TestParcel parcel;
  b_.make_peer(kFirst);  // as its first message would
  a_.send(parcel, kSecond);
  settle();
  EXPECT_TRUE(parcel.over && parcel.outcome);
  EXPECT_EQ(a_.nids_of(kSecond), (std::vector{kSecond, nid("10.0.0.3@tcp"), nid("7@kfi")}));
  EXPECT_EQ(b_.nids_of(kFirst), std::vector{kFirst});
  EXPECT_TRUE(is_up_to_date(a_.peer(kSecond)->state.get()));
  EXPECT_TRUE(is_up_to_date(b_.peer(kFirst)->state.get()));
  EXPECT_EQ(a_.operations.mds(), 2U);
  EXPECT_EQ(b_.operations.mds(), 2U);
}

TEST_F(CoordinatorTest, ChangesReachTheOtherNode) {
  TestParcel parcel;
  b_.make_peer(kFirst);
  a_.send(parcel, kSecond);
  settle();
  b_.remove(nid("10.0.0.3@tcp"));
  b_.add(nid("10.0.0.4@tcp"));
  settle();
  EXPECT_EQ(a_.nids_of(kSecond), (std::vector{kSecond, nid("10.0.0.4@tcp"), nid("7@kfi")}));
  EXPECT_EQ(a_.peer(nid("10.0.0.3@tcp")), nullptr);
  b_.coordinator.set_ni_status(*b_.coordinator.local().ni(nid("7@kfi")), kNiDown, true);
  settle();
  EXPECT_EQ(a_.coordinator.peers().find(nid("7@kfi"))->status.get(), kNiDown);
}

TEST_F(CoordinatorTest, ANodeDiscoversItself) {
  TestDiscover request;
  request.nid = kFirst;
  a_.coordinator.discover(request, false);
  settle();
  EXPECT_EQ(request.times, 1);
  EXPECT_TRUE(request.result);
  EXPECT_EQ(a_.nids_of(kFirst), std::vector{kFirst});
}

TEST_F(CoordinatorTest, LocalViewsListNetworksAndNisInOrder) {
  const LocalView& view = b_.coordinator.local();
  ASSERT_EQ(view.nets.size(), 2U);
  EXPECT_EQ(view.nets[0].nis.size(), 2U);
  EXPECT_EQ(view.nis[0]->nid, kSecond);
  EXPECT_EQ(view.nis[2]->nid, nid("7@kfi"));
  EXPECT_EQ(view.ni(nid("7@kfi")), view.nis[2]);
  ASSERT_NE(view.loopback, nullptr);
  EXPECT_TRUE(view.loopback->nid.is_loopback());
  EXPECT_NE(view.nets[0].number, view.nets[1].number);
  EXPECT_EQ(view.nis[0]->tx_credits_of_all(), 0);
}

TEST_F(CoordinatorTest, BadNisAreRefused) {
  EXPECT_EQ(a_.coordinator.add_ni({.nid = kFirst}).error().code, Errc::kExists);
  EXPECT_EQ(a_.coordinator.add_ni({.nid = Nid::any()}).error().code, Errc::kInvalid);
  EXPECT_EQ(a_.coordinator.add_ni({.nid = nid("0@lo")}).error().code, Errc::kInvalid);
  EXPECT_EQ(a_.coordinator.remove_ni(kSecond).error().code, Errc::kNotFound);
}

TEST_F(CoordinatorTest, NumbersOfNisThatWentAreUsedAgain) {
  const auto number = b_.coordinator.local().nis[1]->number;
  b_.remove(nid("10.0.0.3@tcp"));
  settle();
  b_.add(nid("10.0.0.9@tcp"));
  EXPECT_EQ(b_.coordinator.local().ni(nid("10.0.0.9@tcp"))->number, number);
}

TEST_F(CoordinatorTest, WithItsLastNiANetworksPeersGo) {
  a_.make_peer(kSecond);
  a_.make_peer(nid("9@kfi"));
  EXPECT_EQ(a_.coordinator.peers().find(nid("9@kfi"))->tx_credits.get(), 0);
  a_.add(nid("8@kfi"));
  EXPECT_EQ(a_.coordinator.peers().find(nid("9@kfi"))->tx_credits.get(), 8);
  a_.remove(nid("8@kfi"));
  EXPECT_EQ(a_.peer(nid("9@kfi")), nullptr);
  EXPECT_NE(a_.peer(kSecond), nullptr);
}

TEST_F(CoordinatorTest, APeerIsMadeOnRequest) {
  TestParcel parcel;
  a_.coordinator.want_peer(parcel, {kSecond, PeerDemand::kStranger, a_.coordinator.local().nis[0]});
  EXPECT_TRUE(parcel.over && parcel.outcome);
  EXPECT_EQ(a_.coordinator.peers().find(kSecond)->preferred_ni.get(),
            a_.coordinator.local().nis[0]);
  TestParcel bad;
  a_.coordinator.want_peer(bad, {Nid::any()});
  EXPECT_EQ(bad.outcome.error(), Errc::kInvalid);
}

TEST_F(CoordinatorTest, ANidBeingRemovedIsAwaited) {
  a_.make_peer(kSecond);
  a_.homes_answer = false;
  ASSERT_TRUE(a_.coordinator.delete_peer(kSecond, Nid::any()));
  TestParcel parcel;
  a_.coordinator.want_peer(parcel, {kSecond});
  settle();
  EXPECT_FALSE(parcel.over);
  ASSERT_EQ(a_.held.size(), 1U);
  a_.coordinator.peer_ni_released(*a_.held[0]);
  settle();
  EXPECT_TRUE(parcel.over && parcel.outcome);
  EXPECT_NE(a_.coordinator.peers().find(kSecond), nullptr);
}

TEST_F(CoordinatorTest, IdlePeersMakeRoomAndFurtherOnesAreRefused) {
  for (std::uint32_t n = 0; n < 64; ++n)
    a_.make_peer(Nid::of(NetType::kTcp, 0, 0x0a020000 + n));
  TestParcel refused;
  a_.coordinator.want_peer(refused, {kSecond});
  EXPECT_EQ(refused.outcome.error(), Errc::kNoMemory);
  network_.run_to(network_.now() + std::chrono::seconds(200));
  TestParcel parcel;
  a_.coordinator.want_peer(parcel, {kSecond});
  EXPECT_FALSE(parcel.over) << "a peer has to be removed first";
  settle();
  EXPECT_TRUE(parcel.over && parcel.outcome);
  EXPECT_NE(a_.peer(kSecond), nullptr);
}

TEST_F(CoordinatorTest, ACrowdOfStrangersIsServedInTurn) {
  constexpr std::size_t kCrowd = 5000;
  CoordinatorLimits limits = small_limits();
  limits.peers.peers = limits.peers.peer_nis = kCrowd + 100;
  limits.peers.strangers_per_second = kCrowd / 2;
  limits.waiting_for_peers = kCrowd;
  TestNode router(network_, {nid("10.9.0.1@tcp")}, limits);
  std::vector<TestParcel> crowd(kCrowd);
  for (std::uint32_t n = 0; n < kCrowd; ++n) {
    const WantedPeer wanted{.nid = Nid::of(NetType::kTcp, 0, 0x0a020000 + n),
                            .demand = PeerDemand::kStranger};
    router.coordinator.want_peer(crowd[n], wanted);
  }
  const auto served = [&] {
    return static_cast<std::size_t>(
        std::ranges::count_if(crowd, [](const auto& each) { return each.over; }));
  };
  EXPECT_EQ(served(), kCrowd / 2);
  for (unsigned step = 0; step < 20; ++step) {
    network_.run_to(network_.now() + std::chrono::milliseconds(100));
    router.turn();
  }
  EXPECT_EQ(served(), kCrowd);
  EXPECT_TRUE(
      std::ranges::all_of(crowd, [](const auto& each) { return each.outcome.has_value(); }));
  EXPECT_EQ(router.coordinator.counters().get(CoordinatorCounter::kWantedRefused), 0U);
}

// Shards index their tables by network number.
TEST_F(CoordinatorTest, NetworksThatComeAndGoShareNumbers) {
  for (std::uint16_t number = 100; number < 100 + 2 * kNisMax; ++number) {
    const Nid each = Nid::of(NetType::kTcp, number, 0x0a020001);
    a_.add(each);
    ASSERT_LT(a_.coordinator.local().net(each.net())->number, 4U);
    a_.remove(each);
    settle();
  }
}

TEST_F(CoordinatorTest, AMessageForAnInterfaceThatWentLooksAgain) {
  a_.make_peer(kSecond);
  PeerNi* ni = a_.coordinator.peers().find(kSecond);
  ASSERT_TRUE(a_.coordinator.delete_peer(kSecond, Nid::any()));
  TestParcel parcel;
  a_.coordinator.discover(parcel, *ni);
  EXPECT_TRUE(parcel.over && parcel.outcome);
}

TEST_F(CoordinatorTest, APingReturnsTheReplyOfTheOtherNode) {
  TestPing ping;
  ping.target = {kSecond, kLustrePid};
  a_.coordinator.ping(ping);
  EXPECT_EQ(ping.times, 0);
  settle();
  EXPECT_EQ(ping.times, 1);
  EXPECT_TRUE(ping.result);
  EXPECT_EQ(ping.features, 0x1eU);
  ASSERT_EQ(ping.entries.size(), 3U);
  EXPECT_EQ(ping.entries[2], (PingEntry{nid("7@kfi"), kNiUp}));
  EXPECT_EQ(a_.operations.mds(), 2U);
}

TEST_F(CoordinatorTest, APingEndsInTime) {
  TestPing ping;
  ping.target = {nid("10.0.0.77@tcp"), kLustrePid};
  ping.timeout = std::chrono::milliseconds(300);
  a_.coordinator.ping(ping);
  settle(std::chrono::milliseconds(200));
  EXPECT_EQ(ping.times, 0);
  EXPECT_LE(a_.coordinator.next_deadline(network_.now()), ping.deadline);
  settle(std::chrono::milliseconds(200));
  settle();
  EXPECT_EQ(ping.times, 1);
  EXPECT_EQ(ping.result.error(), Errc::kTimedOut);
  EXPECT_EQ(a_.operations.mds(), 2U);
}

// The peer and its connection have died. The second ping needs another connection, whose failure
// has a cause.
TEST_F(CoordinatorTest, APingWhoseConnectionHasEndedIsSentAgainOnce) {
  const Nid dead = nid("10.0.0.77@tcp");
  a_.make_peer(dead);
  const auto sent = [&] {
    return std::ranges::count_if(network_.log, [&](const FakeMessage& each) {
      return each.type == MessageType::kGet && each.target == dead;
    });
  };
  const auto lose_connection = [&] {
    Relaxed<std::uint16_t>& losses = a_.coordinator.peers().find(dead)->losses;
    losses.set(static_cast<std::uint16_t>(losses.get() + 1));
    settle(std::chrono::milliseconds(200));
  };
  TestPing ping;
  ping.target = {dead, kLustrePid};
  ping.timeout = std::chrono::seconds(2);
  a_.coordinator.ping(ping);
  settle(std::chrono::milliseconds(200));
  const auto first = sent();
  lose_connection();
  EXPECT_EQ(sent(), first + 1);
  lose_connection();
  EXPECT_EQ(sent(), first + 1);
  EXPECT_EQ(ping.times, 0);
  settle(std::chrono::seconds(2));
  settle();
  EXPECT_EQ(ping.times, 1);
  EXPECT_EQ(ping.result.error(), Errc::kTimedOut);
  EXPECT_EQ(a_.operations.mds(), 2U);
}

// They use ping slots, some of which are reserved for discovery.
TEST_F(CoordinatorTest, ADiscoveryThatFoundNoSlotGoesOnWhenPingsHaveEnded) {
  std::array<TestPing, 10> pings;
  for (TestPing& ping : pings) {
    ping.target = {nid("10.0.0.77@tcp"), kLustrePid};
    a_.coordinator.ping(ping);
  }
  b_.make_peer(kFirst);
  TestParcel parcel;
  a_.send(parcel, kSecond);
  settle(std::chrono::milliseconds(500));
  ASSERT_EQ(a_.count(DiscoveryTable::Id::kStarved), 1U);
  EXPECT_FALSE(parcel.over);
  settle(std::chrono::milliseconds(500));
  (void)a_.turn();
  EXPECT_EQ(pings.back().times, 1);
  EXPECT_EQ(a_.coordinator.next_deadline(network_.now()), network_.now()) << "it is not forgotten";
  settle(std::chrono::seconds(5));
  EXPECT_TRUE(parcel.over && parcel.outcome);
}

TEST_F(CoordinatorTest, APingWithoutAPathFails) {
  TestPing ping;
  ping.target = {nid("3@kfi"), kLustrePid};
  a_.coordinator.ping(ping);
  settle();
  EXPECT_EQ(ping.result.error(), Errc::kNoRoute);
}

TEST_F(CoordinatorTest, AnInvalidPingReplyIsReported) {
  RawPeer odd(network_, {nid("10.0.0.66@tcp")});
  odd.buffer.assign(100, std::byte{7});
  TestPing ping;
  ping.target = {nid("10.0.0.66@tcp"), kLustrePid};
  a_.coordinator.ping(ping);
  settle();
  EXPECT_EQ(ping.result.error(), Errc::kProtocol);
}

TEST_F(CoordinatorTest, RoutingShowsInThePingBuffer) {
  TestParcel parcel;
  a_.make_peer(kSecond);
  b_.send(parcel, kFirst);
  settle();
  a_.coordinator.set_routing(true, true);
  settle();
  EXPECT_TRUE(b_.peer(kFirst)->is(kPeerRouterEnabled));
}

TEST_F(CoordinatorTest, AnInterfaceThatReceivesIsUpAgainForAllPeers) {
  TestParcel parcel;
  a_.make_peer(kSecond);
  b_.send(parcel, kFirst);
  settle();
  Ni& ni = *a_.coordinator.local().nis.front();
  ni.lnd_down.set(true);  // as its LND reported
  a_.coordinator.tell_of_changed();
  settle();
  const PeerNi& seen = *b_.coordinator.peers().find(kFirst);
  ASSERT_EQ(seen.status.get(), kNiDown);
  a_.coordinator.tell_of_changed();
  settle();
  EXPECT_EQ(seen.status.get(), kNiDown) << "it is unknown";
  ni.fatal.set(true);
  ni.revived.set(true);
  a_.coordinator.tell_of_changed();
  EXPECT_EQ(ni.status.get(), kNiDown) << "its device knows better";
  ni.fatal.set(false);
  ni.revived.set(true);
  a_.coordinator.tell_of_changed();
  settle();
  EXPECT_EQ(ni.status.get(), kNiUp);
  EXPECT_FALSE(ni.revived.get());
  EXPECT_EQ(seen.status.get(), kNiUp);
}

TEST_F(CoordinatorTest, WithNothingToDoItNeedsNoTime) {
  settle();
  EXPECT_EQ(a_.coordinator.next_deadline(network_.now()), Instant::max());
  a_.make_peer(kSecond);
  TestParcel parcel;
  a_.send(parcel, kSecond);
  EXPECT_EQ(a_.coordinator.next_deadline(network_.now()), network_.now());
  settle();
}

}  // namespace
}  // namespace plnet::lnet::coordinator_test
