// SPDX-License-Identifier: BSD-3-Clause
// Pushes of our changes to others, and pushes from others to us.

#include <gtest/gtest.h>

#include "tests/unit/lib/lnet/control/discovery_fixture.hpp"

namespace plnet::lnet::discovery_push_test {
namespace {

using DiscoveryPushTest = DiscoveryTest;

TEST_F(DiscoveryPushTest, OurChangesArePushedToCapablePeers) {
  RawPeer minimal(network_, {kThird}, 0x06);
  node_.add(nid("10.0.1.1@tcp1"));
  ASSERT_TRUE(discover(kTheirs));
  ASSERT_TRUE(discover(kThird));
  const int pushes = far_.pushes;
  node_.add(nid("10.0.0.9@tcp"));
  EXPECT_TRUE(is_up_to_date(state(kTheirs)));
  settle();
  EXPECT_EQ(far_.pushes, pushes + 1);
  EXPECT_EQ(minimal.pushes, 0);
  const auto pushed = PingView::parse(far_.pushed.payload);
  EXPECT_EQ(pushed->sequence(), node_.coordinator.ping_target().sequence());
  EXPECT_TRUE(is_up_to_date(state(kTheirs)));
}

TEST_F(DiscoveryPushTest, TurningDiscoveryOffIsPushedOnAgainIsNot) {
  ASSERT_TRUE(discover(kTheirs));
  const int pushes = far_.pushes;
  node_.coordinator.set_discovery(false);
  settle();
  EXPECT_EQ(far_.pushes, pushes + 1);
  EXPECT_EQ(PingView::parse(far_.pushed.payload)->features(), 0x0eU);
  node_.coordinator.set_discovery(true);
  settle();
  EXPECT_EQ(far_.pushes, pushes + 1);
  EXPECT_EQ(PingView::parse(node_.coordinator.ping_target().bytes())->features(), 0x1eU);
}

TEST_F(DiscoveryPushTest, AStatusIsPushedOnDemandWithTheSameSequence) {
  ASSERT_TRUE(discover(kTheirs));
  const int pushes = far_.pushes;
  const auto sequence = node_.coordinator.ping_target().sequence();
  node_.coordinator.set_ni_status(*node_.coordinator.local().nis[0], kNiDown, true);
  settle();
  EXPECT_EQ(far_.pushes, pushes + 1);
  const auto pushed = PingView::parse(far_.pushed.payload);
  EXPECT_EQ(pushed->sequence(), sequence);
  EXPECT_EQ(pushed->walk().next()->status, kNiDown);
}

// An immediate push would request another one, and so on until the push ends, for up to a
// transaction timeout.
TEST_F(DiscoveryPushTest, AFurtherPushWaitsForTheOneInFlight) {
  ASSERT_TRUE(discover(kTheirs));
  far_.acknowledges = false;
  node_.coordinator.set_ni_status(*node_.coordinator.local().nis[0], kNiDown, true);
  settle();
  far_.push(kTheirs, kOurs);  // this ends the discovery, not our push
  settle();
  node_.coordinator.set_ni_status(*node_.coordinator.local().nis[0], kNiUp, true);
  settle();
  EXPECT_EQ(far_.pushes, 2);
  TestParcel parcel;
  node_.send(parcel, kTheirs);
  settle();
  EXPECT_FALSE(parcel.over);
  far_.acknowledges = true;
  node_.coordinator.directory().find(kTheirs)->losses.set(1);  // so it is pushed again
  settle(std::chrono::seconds(2));
  settle();
  EXPECT_TRUE(parcel.over && parcel.outcome);
  EXPECT_TRUE(is_up_to_date(state(kTheirs)));
  EXPECT_EQ(node_.operations.mds(), 2U);
}

// Pushes received.

TEST_F(DiscoveryPushTest, APushOfAKnownPeerIsMerged) {
  node_.make_peer(kTheirs);
  far_.push(kTheirs, kOurs);
  settle();
  EXPECT_EQ(far_.acks, 1);
  EXPECT_EQ(far_.pings, 0);
  EXPECT_EQ(node_.nids_of(kTheirs), (std::vector{kTheirs, kSecond}));
  EXPECT_EQ(state(kTheirs), kGood | kPeerMultiRail);
  EXPECT_EQ(far_.pushes, 1) << "and it is notified of us";
  far_.say({kTheirs});
  far_.push(kTheirs, kOurs);
  settle();
  EXPECT_EQ(node_.nids_of(kTheirs), std::vector{kTheirs});
  EXPECT_EQ(node_.peer(kSecond), nullptr);
}

TEST_F(DiscoveryPushTest, APushThatAnotherBringsIsNotBelieved) {
  const Nid attacker = nid("10.0.0.66@tcp");
  RawPeer there(network_, {attacker});
  node_.make_peer(kTheirs);
  node_.make_peer(attacker);
  there.say({attacker, kTheirs});
  there.push(kTheirs, kOurs, attacker);
  settle();
  EXPECT_EQ(node_.count(Id::kPushesForeign), 1U);
  EXPECT_EQ(far_.pings, 1) << "the claimed sender is asked";
  EXPECT_EQ(node_.peer(kTheirs)->seen().primary, kTheirs);
  EXPECT_EQ(node_.nids_of(kTheirs), (std::vector{kTheirs, kSecond}));
  EXPECT_EQ(node_.nids_of(attacker), std::vector{attacker});
}

TEST_F(DiscoveryPushTest, APushOfAStrangerIsIgnored) {
  far_.push(kTheirs, kOurs);
  settle();
  EXPECT_EQ(node_.count(Id::kPushesUnknown), 1U);
  EXPECT_EQ(far_.acks, 1) << "acknowledged all the same";
  EXPECT_EQ(node_.peer(kTheirs), nullptr);
}

TEST_F(DiscoveryPushTest, APushThatIsNotMultiRailIsIgnored) {
  node_.make_peer(kTheirs);
  far_.say({kTheirs, kSecond}, 0x16);
  far_.push(kTheirs, kOurs);
  settle();
  EXPECT_EQ(node_.count(Id::kPushesNotMultiRail), 1U);
  EXPECT_EQ(node_.nids_of(kTheirs), std::vector{kTheirs});
}

TEST_F(DiscoveryPushTest, AnInvalidPushIsAnsweredByAPing) {
  node_.make_peer(kTheirs);
  const auto good = far_.buffer;
  far_.buffer.assign(48, std::byte{1});
  far_.push(kTheirs, kOurs);
  far_.buffer = good;
  settle();
  EXPECT_EQ(node_.count(Id::kPushesCorrupt), 1U);
  EXPECT_EQ(far_.pings, 1);
  EXPECT_EQ(node_.nids_of(kTheirs), (std::vector{kTheirs, kSecond}));
}

TEST_F(DiscoveryPushTest, ATruncatedPushIsAnsweredByAPingAndTheNextOneComesWhole) {
  node_.make_peer(kTheirs);
  std::vector<Nid> many;
  for (std::uint32_t i = 0; i < 40; ++i)
    many.push_back(Nid::of(NetType::kTcp, 0, kTheirs.address32() + i));
  far_.say(many);
  far_.push(kTheirs, kOurs);
  settle();
  EXPECT_EQ(node_.count(Id::kPushesTruncated), 1U);
  EXPECT_EQ(far_.pings, 1);
  EXPECT_EQ(far_.sink, far_.buffer.size()) << "it is known how much there is";
  EXPECT_EQ(node_.nids_of(kTheirs).size(), 40U);
  many.pop_back();
  far_.say(many);
  far_.push(kTheirs, kOurs);
  settle();
  EXPECT_EQ(node_.count(Id::kPushesTruncated), 1U);
  EXPECT_EQ(far_.pings, 1);
  EXPECT_EQ(node_.nids_of(kTheirs).size(), 39U);
}

// Discovered NIDs keep their connections; the kernel deletes the peer.
TEST_F(DiscoveryPushTest, APushWithDiscoveryOffTakesADiscoveredPeerApart) {
  ASSERT_TRUE(discover(kTheirs));
  const PeerNi* const first = node_.coordinator.directory().find(kTheirs);
  const PeerNi* const second = node_.coordinator.directory().find(kSecond);
  const int pings = far_.pings;
  far_.say({kTheirs, kSecond}, 0x0e);
  far_.push(kTheirs, kOurs);
  settle();
  EXPECT_EQ(node_.count(Id::kDiscoveryLost), 1U);
  EXPECT_EQ(node_.coordinator.directory().find(kTheirs), first);
  EXPECT_EQ(node_.coordinator.directory().find(kSecond), second);
  EXPECT_EQ(node_.nids_of(kTheirs), std::vector{kTheirs});
  EXPECT_EQ(node_.nids_of(kSecond), std::vector{kSecond});
  EXPECT_EQ(state(kTheirs), kGood | kPeerNoDiscovery);
  EXPECT_EQ(far_.pings, pings) << "it has just sent the contents of a ping reply";
  far_.say({kTheirs, kSecond});
  far_.push(kTheirs, kOurs);
  settle();
  EXPECT_EQ(node_.nids_of(kTheirs), (std::vector{kTheirs, kSecond})) << "on again";
}

TEST_F(DiscoveryPushTest, ARouterThatTurnsDiscoveryOffStaysARouter) {
  far_.say({kTheirs, kSecond}, 0x1a);
  ASSERT_TRUE(node_.coordinator.add_route({.net = nid("10.0.7.1@tcp7").net(), .gateway = kTheirs}));
  ASSERT_TRUE(node_.coordinator.add_route({.net = nid("10.0.7.1@tcp7").net(), .gateway = kSecond}));
  ASSERT_TRUE(discover(kTheirs));
  const Peer* const whole = node_.peer(kTheirs);
  ASSERT_EQ(node_.peer(kSecond), whole);
  far_.say({kTheirs, kSecond}, 0x0a);
  far_.push(kTheirs, kOurs);
  settle();
  EXPECT_EQ(node_.peer(kTheirs), whole);
  EXPECT_NE(node_.peer(kSecond), whole);
  EXPECT_TRUE(node_.coordinator.routes().leads_through(*node_.peer(kTheirs)));
  EXPECT_TRUE(node_.coordinator.routes().leads_through(*node_.peer(kSecond)))
      << "each route goes by the NID that it was added with";
}

TEST_F(DiscoveryPushTest, WithDiscoveryOffHereAPushChangesNoNids) {
  node_.coordinator.set_discovery(false);
  node_.make_peer(kTheirs);
  far_.push(kTheirs, kOurs);
  settle();
  EXPECT_EQ(node_.nids_of(kTheirs), std::vector{kTheirs});
  EXPECT_FALSE(node_.peer(kTheirs)->multi_rail());
}

TEST_F(DiscoveryPushTest, TheNewerOfTwoPushesCounts) {
  node_.make_peer(kTheirs);
  far_.push(kTheirs, kOurs);
  far_.say({kTheirs, kSecond, nid("10.0.0.4@tcp")});
  far_.push(kTheirs, kOurs);
  settle();
  EXPECT_EQ(node_.nids_of(kTheirs).size(), 3U);
}

}  // namespace
}  // namespace plnet::lnet::discovery_push_test
