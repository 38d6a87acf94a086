// SPDX-License-Identifier: BSD-3-Clause
// Discovery and the NIDs of peers that are known already.

#include <gtest/gtest.h>

#include "tests/unit/lib/lnet/control/discovery_fixture.hpp"

namespace plnet::lnet::discovery_merge_test {
namespace {

using DiscoveryMergeTest = DiscoveryTest;

TEST_F(DiscoveryMergeTest, DiscoveredByASecondaryNidThePeerIsRenamed) {
  EXPECT_TRUE(discover(kSecond));
  EXPECT_EQ(node_.peer(kSecond)->seen().primary, kTheirs);
  EXPECT_EQ(node_.nids_of(kSecond), (std::vector{kTheirs, kSecond}));
  EXPECT_EQ(node_.count(Id::kPrimaryChanged), 1U);
}

TEST_F(DiscoveryMergeTest, TwoPeersThatAreOneBecomeOne) {
  Peer& first = node_.make_peer(kTheirs);
  node_.make_peer(kSecond);
  TestParcel parcel;
  node_.send(parcel, kSecond);
  settle();
  EXPECT_TRUE(parcel.over && parcel.outcome);
  EXPECT_EQ(node_.peer(kSecond), &first);
  EXPECT_EQ(node_.nids_of(kSecond), (std::vector{kTheirs, kSecond}));
  EXPECT_TRUE(is_up_to_date(first.state.get()));
  EXPECT_EQ(node_.releases, 0) << "no home lost its interface";
  EXPECT_EQ(node_.count(Id::kHandedOver), 1U);
}

TEST_F(DiscoveryMergeTest, MessagesToBothHalvesOfAMergedPeerAllGo) {
  TestParcel to_first;
  TestParcel to_second;
  node_.send(to_first, kTheirs);
  node_.send(to_second, kSecond);
  settle();
  EXPECT_TRUE(to_first.over && to_first.outcome);
  EXPECT_TRUE(to_second.over && to_second.outcome);
  EXPECT_EQ(node_.peer(kTheirs), node_.peer(kSecond));
}

TEST_F(DiscoveryMergeTest, ANidMovesFromOnePeerToAnother) {
  ASSERT_TRUE(discover(kTheirs));
  RawPeer other(network_, {nid("10.0.0.7@tcp")});
  far_.say({kTheirs});
  other.say({nid("10.0.0.7@tcp"), kSecond});
  ASSERT_TRUE(discover(nid("10.0.0.7@tcp")));
  EXPECT_EQ(node_.peer(kSecond), node_.peer(nid("10.0.0.7@tcp")));
  EXPECT_EQ(node_.nids_of(kTheirs), std::vector{kTheirs});
}

// Peers from which messages have arrived.
class ClaimedNids : public DiscoveryTest {
 protected:
  static inline const Nid kVictim = nid("10.0.0.66@tcp");

  void hear(const Nid& from) {
    node_.make_peer(from);
    node_.coordinator.peers().find(from)->last_alive_ns.set(
        network_.now().time_since_epoch().count());
  }

  RawPeer victim_{network_, {kVictim}};
};

TEST_F(ClaimedNids, ANodeThatListsAForeignNidDoesNotGetIt) {
  hear(kTheirs);
  hear(kVictim);
  far_.say({kTheirs, kVictim});
  far_.push(kTheirs, kOurs);
  settle();
  EXPECT_EQ(node_.nids_of(kVictim), std::vector{kVictim});
  EXPECT_EQ(node_.nids_of(kTheirs), std::vector{kTheirs});
  EXPECT_GE(node_.count(Id::kNidsForeign), 1U);
  EXPECT_EQ(victim_.pings, 1) << "asked once, whatever is claimed";
  PeerComplaint complaint;
  ASSERT_TRUE(node_.coordinator.directory().complaints().take(complaint));
  EXPECT_EQ(complaint.nid, kTheirs);
}

TEST_F(ClaimedNids, ANodeThatClaimsAnotherPrimaryNidIsNotMerged) {
  hear(kTheirs);
  hear(kVictim);
  far_.say({kVictim, kTheirs});
  far_.push(kTheirs, kOurs);
  settle();
  EXPECT_EQ(node_.nids_of(kVictim), std::vector{kVictim});
  EXPECT_EQ(node_.nids_of(kTheirs), std::vector{kTheirs});
  EXPECT_EQ(victim_.pings, 1);
}

TEST_F(ClaimedNids, TwoThatBothSayThatTheyAreOneBecomeOne) {
  hear(kTheirs);
  hear(kSecond);
  far_.push(kTheirs, kOurs);
  settle();
  EXPECT_EQ(node_.peer(kTheirs), node_.peer(kSecond));
  EXPECT_EQ(node_.nids_of(kSecond), (std::vector{kTheirs, kSecond}));
}

TEST_F(ClaimedNids, TwoThatBothSayThatTheyAreOneBecomeOneWhicheverSpeaksFirst) {
  hear(kTheirs);
  hear(kSecond);
  far_.push(kSecond, kOurs);
  settle();
  EXPECT_EQ(node_.peer(kTheirs), node_.peer(kSecond));
  EXPECT_EQ(node_.nids_of(kSecond), (std::vector{kTheirs, kSecond}));
}

TEST_F(ClaimedNids, ANidThatItsNodeHasGivenUpIsTaken) {
  ASSERT_TRUE(discover(kTheirs));
  hear(kSecond);
  far_.say({kTheirs});
  const Nid third = nid("10.0.0.7@tcp");
  RawPeer other(network_, {third, kSecond});
  hear(third);
  other.push(third, kOurs);
  settle();
  EXPECT_EQ(node_.nids_of(kTheirs), std::vector{kTheirs});
  EXPECT_EQ(node_.peer(kSecond), node_.peer(third));
}

TEST_F(DiscoveryMergeTest, AConfiguredNidIsNotTaken) {
  ASSERT_TRUE(node_.coordinator.add_peer(kSecond, Nid::any(), true));
  ASSERT_TRUE(discover(kTheirs));
  EXPECT_EQ(node_.nids_of(kTheirs), std::vector{kTheirs});
  EXPECT_EQ(node_.nids_of(kSecond), std::vector{kSecond});
}

TEST_F(DiscoveryMergeTest, APrimaryThatMovesFirstInItsNetAndItsNetFirst) {
  far_.say({kTheirs, kSecond, kThird});
  ASSERT_TRUE(discover(kTheirs));
  EXPECT_EQ(node_.nids_of(kTheirs), (std::vector{kTheirs, kSecond, kThird}));
  far_.say({kThird, kTheirs, kSecond});
  ASSERT_TRUE(discover(kTheirs));
  EXPECT_EQ(node_.peer(kTheirs)->seen().primary, kThird);
  EXPECT_EQ(node_.nids_of(kTheirs).front(), kThird);
}

TEST_F(DiscoveryMergeTest, ConfiguredButAbsentNidsAreDown) {
  ASSERT_TRUE(node_.coordinator.add_peer(kTheirs, Nid::any(), true));
  ASSERT_TRUE(node_.coordinator.add_peer(kTheirs, kSecond, true));
  ASSERT_TRUE(discover(kTheirs));
  const PeerNi& second = *node_.coordinator.peers().find(kSecond);
  EXPECT_EQ(second.status.get(), kNiUp);
  far_.say({kTheirs});
  ASSERT_TRUE(discover(kTheirs));
  EXPECT_EQ(node_.nids_of(kTheirs), (std::vector{kTheirs, kSecond}));
  EXPECT_EQ(second.status.get(), kNiDown);
  far_.say({kTheirs, kSecond});
  ASSERT_TRUE(discover(kTheirs));
  EXPECT_EQ(second.status.get(), kNiUp);
}

TEST_F(DiscoveryMergeTest, ALockedPrimaryStays) {
  ASSERT_TRUE(node_.coordinator.add_peer(kSecond, Nid::any(), true, true));
  auto& peer = static_cast<PeerRecord&>(*node_.peer(kSecond));
  peer.drop_state(kPeerConfigured);  // as if the upper layer had added it
  ASSERT_TRUE(discover(kSecond));
  EXPECT_EQ(peer.primary, kSecond);
  EXPECT_EQ(node_.nids_of(kSecond).size(), 2U);
}

TEST_F(DiscoveryMergeTest, LargeNidsAreMergedAndAreThePrimary) {
  const Nid large = nid("fd00::2@tcp");
  far_.say({large, kTheirs});
  ASSERT_TRUE(discover(kTheirs));
  EXPECT_EQ(node_.peer(kTheirs)->seen().primary, large);
  EXPECT_EQ(node_.nids_of(kTheirs), (std::vector{large, kTheirs}));
}

TEST_F(DiscoveryMergeTest, InvalidNidsAreOmitted) {
  far_.say({kTheirs, kSecond});
  const std::uint64_t loopback = 0x9ULL << 48;
  std::memcpy(far_.buffer.data() + 48, &loopback, 8);
  EXPECT_TRUE(discover(kTheirs));
  EXPECT_EQ(node_.count(Id::kNidsBad), 1U);
  EXPECT_EQ(node_.nids_of(kTheirs), std::vector{kTheirs});
}

TEST_F(DiscoveryMergeTest, ANidStillBeingRemovedIsMergedLater) {
  ASSERT_TRUE(discover(kTheirs));
  node_.homes_answer = false;
  far_.say({kTheirs});
  ASSERT_TRUE(discover(kTheirs));
  far_.say({kTheirs, kSecond});
  ASSERT_TRUE(discover(kTheirs));
  EXPECT_EQ(node_.nids_of(kTheirs), std::vector{kTheirs});
  EXPECT_EQ(node_.count(Id::kNidsLater), 1U);
  ASSERT_EQ(node_.held.size(), 1U);
  node_.coordinator.peer_ni_released(*node_.held[0]);
  settle();
  EXPECT_EQ(node_.nids_of(kTheirs), (std::vector{kTheirs, kSecond}));
}

}  // namespace
}  // namespace plnet::lnet::discovery_merge_test
