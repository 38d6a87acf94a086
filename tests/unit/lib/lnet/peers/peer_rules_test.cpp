// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/peers/peer_rules.hpp"

#include <array>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/lib/lnet/peers/peer_rig.hpp"

namespace plnet::lnet::peer_rules_test {
namespace {

class PeerRulesTest : public PeerRig {
 protected:
  // The result code for `lnetctl`: 0 or a negative errno.
  static int code(const PeerResult<void>& result) {
    return result ? 0 : -info_of(result.error()).errno_number;
  }
  int configure(const Nid& primary, const Nid& more = Nid::any(), bool multi_rail = true,
                bool lock = false) {
    const int result = code(rules_.configure(primary, more, multi_rail, lock, now_));
    settle();
    return result;
  }
  int unconfigure(const Nid& primary, const Nid& more = Nid::any(), bool force = false) {
    const int result = code(rules_.unconfigure(primary, more, force));
    settle();
    return result;
  }

  // Returns the primary NIDs of the remaining peers.
  std::vector<Nid> without(NetId net) {
    std::vector<Nid> stay;
    rules_.net_removed(net, [&](const PeerRecord& peer) { stay.push_back(peer.primary); });
    settle();
    return stay;
  }
  bool views_free(const Nid& nid) { return directory_.has_room_in(peer_of(nid), nid.net()); }

  PeerRules rules_{directory_};
};

TEST_F(PeerRulesTest, AConfiguredPeerIsMadeAndGrows) {
  EXPECT_EQ(configure(tcp(1)), 0);
  EXPECT_EQ(configure(tcp(1), tcp(2)), 0);
  EXPECT_EQ(configure(tcp(1), tcp(1, 5)), 0);
  EXPECT_EQ(configure(tcp(1), tcp(2)), 0) << "again is fine";
  EXPECT_EQ(nids_seen(tcp(2)), (std::vector{tcp(1), tcp(2), tcp(1, 5)}));
  EXPECT_TRUE(peer_of(tcp(1)).is(kPeerConfigured));
  EXPECT_TRUE(peer_of(tcp(1)).multi_rail());
}

TEST_F(PeerRulesTest, BadRequestsGetLnetsErrno) {
  EXPECT_EQ(configure(Nid::any()), -EINVAL);
  EXPECT_EQ(configure(tcp(1), tcp(2)), -ENOENT);
  ASSERT_EQ(configure(tcp(1)), 0);
  ASSERT_EQ(configure(tcp(1), tcp(2)), 0);
  EXPECT_EQ(configure(tcp(1)), 0);
  EXPECT_EQ(configure(tcp(1), Nid::any(), false), -EPERM);
  EXPECT_EQ(configure(tcp(2)), -EEXIST) << "configured under another primary NID";
  EXPECT_EQ(configure(tcp(2), tcp(3)), -ENODEV);
  EXPECT_EQ(configure(tcp(1), tcp(3), false), -EPERM);
  ASSERT_EQ(configure(tcp(9)), 0);
  EXPECT_EQ(configure(tcp(1), tcp(9)), -EEXIST);
  traffic(tcp(5));
  EXPECT_EQ(configure(tcp(5), tcp(6)), -ENOENT) << "not a configured peer";
}

TEST_F(PeerRulesTest, APeerThatIsNotMultiRailHasOneNidOnANetwork) {
  EXPECT_EQ(configure(tcp(1), Nid::any(), false), 0);
  EXPECT_EQ(configure(tcp(1), tcp(2), false), -ENOTUNIQ);
  EXPECT_EQ(configure(tcp(1), tcp(2, 5), false), 0);
}

TEST_F(PeerRulesTest, ConfigurationTakesOverPeersMadeByTraffic) {
  PeerNi* ni = traffic(tcp(1));
  traffic(tcp(2));
  EXPECT_EQ(configure(tcp(1)), 0);
  EXPECT_EQ(directory_.find(tcp(1)), ni);
  EXPECT_EQ(configure(tcp(1), tcp(2)), 0);
  EXPECT_EQ(nids_seen(tcp(1)), (std::vector{tcp(1), tcp(2)}));
  EXPECT_EQ(count(PeerTable::Id::kPeers), 1U);
}

TEST_F(PeerRulesTest, DeletingFollowsTheKernel) {
  EXPECT_EQ(unconfigure(Nid::any()), -EINVAL);
  EXPECT_EQ(unconfigure(tcp(1)), -ENOENT);
  ASSERT_EQ(configure(tcp(1)), 0);
  ASSERT_EQ(configure(tcp(1), tcp(2)), 0);
  ASSERT_EQ(configure(tcp(9)), 0);
  EXPECT_EQ(unconfigure(tcp(2)), -ENODEV);
  EXPECT_EQ(unconfigure(tcp(1), tcp(9)), -ECHILD);
  EXPECT_EQ(unconfigure(tcp(1), tcp(77)), -ENOENT);
  EXPECT_EQ(unconfigure(tcp(1), tcp(2)), 0);
  EXPECT_EQ(directory_.find(tcp(2)), nullptr);
  ASSERT_EQ(configure(tcp(1), tcp(2)), 0);
  EXPECT_EQ(unconfigure(tcp(1), tcp(1)), 0) << "the primary NID means all of it";
  EXPECT_EQ(directory_.find(tcp(2)), nullptr);
  EXPECT_EQ(unconfigure(tcp(9)), 0);
  EXPECT_EQ(count(PeerTable::Id::kPeers), 0U);
  EXPECT_FALSE(directory_.waiting());
}

TEST_F(PeerRulesTest, AGatewayIsNotDeleted) {
  ASSERT_EQ(configure(tcp(1)), 0);
  ASSERT_EQ(configure(tcp(1), tcp(2)), 0);
  peer_of(tcp(1)).gateway_refs = 1;
  EXPECT_EQ(unconfigure(tcp(1)), -EBUSY);
  EXPECT_EQ(unconfigure(tcp(1), tcp(2)), -EBUSY);
  EXPECT_EQ(
      code(rules_.delete_nid(peer_of(tcp(1)), tcp(1), kPeerConfigured | kPeerRouterNiForceDelete)),
      0);
  settle();
  EXPECT_EQ(peer_of(tcp(2)).primary, tcp(2)) << "a router may lose its primary NID";
  peer_of(tcp(2)).gateway_refs = 0;
}

TEST_F(PeerRulesTest, AGatewayThatWasFoundIsConfiguredAsItStands) {
  const PeerFlags found = kPeerMultiRail;
  ASSERT_EQ(code(rules_.add_peer(tcp(1), found, Instant{})), 0);
  PeerRecord& peer = peer_of(tcp(1));
  peer.gateway_refs = 1;
  EXPECT_EQ(configure(tcp(1), Nid::any(), false), -EBUSY) << "it would be another";
  EXPECT_EQ(configure(tcp(1)), 0);
  EXPECT_EQ(&peer_of(tcp(1)), &peer);
  EXPECT_TRUE(peer.is(kPeerConfigured));
  EXPECT_EQ(configure(tcp(1), tcp(2)), 0);
  peer.gateway_refs = 0;
}

// Its interfaces, and with them its connections, remain.
TEST_F(PeerRulesTest, ADiscoveredPeerIsConfiguredUnchanged) {
  ASSERT_EQ(code(rules_.add_peer(tcp(1), kPeerMultiRail, Instant{})), 0);
  ASSERT_EQ(code(rules_.add_nid(peer_of(tcp(1)), tcp(2), kPeerMultiRail)), 0);
  settle();
  const PeerNi* const first = directory_.find(tcp(1));
  const PeerNi* const second = directory_.find(tcp(2));
  EXPECT_EQ(configure(tcp(1)), 0);
  EXPECT_EQ(configure(tcp(1), tcp(2)), 0);
  settle();
  EXPECT_TRUE(peer_of(tcp(1)).is(kPeerConfigured));
  EXPECT_EQ(directory_.find(tcp(1)), first);
  EXPECT_EQ(directory_.find(tcp(2)), second);
}

TEST_F(PeerRulesTest, ANidOfAGatewayIsWithdrawn) {
  ASSERT_EQ(configure(tcp(1)), 0);
  PeerRecord& gateway = peer_of(tcp(1));
  gateway.gateway_refs = 1;
  ASSERT_EQ(configure(tcp(1), tcp(2)), 0);
  EXPECT_EQ(code(rules_.withdraw(tcp(1), tcp(2))), 0);
  settle();
  EXPECT_EQ(directory_.peer_of(tcp(2)), nullptr);
  EXPECT_TRUE(gateway.is(kPeerConfigured));
  gateway.gateway_refs = 0;
}

TEST_F(PeerRulesTest, AnUndoneChangeRestoresTheFormerState) {
  for (const std::uint32_t gateway_refs : {0U, 1U}) {
    ASSERT_EQ(code(rules_.add_peer(tcp(1), 0, Instant{})), 0);
    PeerRecord& peer = peer_of(tcp(1));
    peer.gateway_refs = gateway_refs;
    const PeerFound before = rules_.found(tcp(1));
    EXPECT_TRUE(before.there);
    ASSERT_EQ(configure(tcp(1)), 0);
    ASSERT_EQ(configure(tcp(1), tcp(2)), 0);
    EXPECT_EQ(code(rules_.put_back(tcp(1), before)), 0);
    settle();
    EXPECT_EQ(&peer_of(tcp(1)), &peer);
    EXPECT_FALSE(peer.has(kPeerConfigured | kPeerMultiRail));
    EXPECT_EQ(directory_.peer_of(tcp(2)), nullptr);
    peer.gateway_refs = 0;
    ASSERT_EQ(code(rules_.delete_peer(peer)), 0);
    settle();
  }
  const PeerFound nobody = rules_.found(tcp(5));
  EXPECT_FALSE(nobody.there);
  ASSERT_EQ(configure(tcp(5)), 0);
  EXPECT_EQ(code(rules_.put_back(tcp(5), nobody)), 0);
  EXPECT_EQ(directory_.peer_of(tcp(5)), nullptr);
  EXPECT_EQ(code(rules_.put_back(tcp(5), nobody)), -ENOENT);
}

TEST_F(PeerRulesTest, ANidThatHasMeanwhileBecomeThePrimaryIsWithdrawnAlone) {
  ASSERT_EQ(configure(tcp(1)), 0);
  ASSERT_EQ(configure(tcp(1), tcp(2)), 0);
  PeerRecord& gateway = peer_of(tcp(1));
  gateway.gateway_refs = 1;
  directory_.rename(gateway, tcp(2));
  EXPECT_EQ(code(rules_.withdraw(tcp(1), tcp(2))), 0);
  settle();
  EXPECT_EQ(directory_.peer_of(tcp(2)), nullptr);
  EXPECT_EQ(peer_of(tcp(1)).primary, tcp(1));
  EXPECT_TRUE(gateway.is(kPeerConfigured));
  gateway.gateway_refs = 0;
}

TEST_F(PeerRulesTest, ALockedPrimarySurvivesDeletionUnlessForced) {
  ASSERT_EQ(configure(tcp(1), Nid::any(), true, true), 0);
  ASSERT_EQ(configure(tcp(1), tcp(2)), 0);
  peer_of(tcp(1)).add_state(kPeerNidsUpToDate);
  EXPECT_EQ(unconfigure(tcp(1)), 0);
  EXPECT_EQ(nids_seen(tcp(1)), (std::vector{tcp(1)}));
  EXPECT_FALSE(peer_of(tcp(1)).is(kPeerNidsUpToDate));
  EXPECT_EQ(unconfigure(tcp(1), Nid::any(), true), 0);
  EXPECT_EQ(directory_.find(tcp(1)), nullptr);
}

TEST_F(PeerRulesTest, ALockedPeerIsNotMadeAgain) {
  ASSERT_TRUE(rules_.add_peer(tcp(1), kPeerLockPrimary | kPeerMultiRail, now_));
  ASSERT_TRUE(rules_.add_nid(peer_of(tcp(1)), tcp(2), kPeerMultiRail));
  EXPECT_EQ(code(rules_.add_peer(tcp(1), kPeerLockPrimary, now_)), -EEXIST);
  EXPECT_EQ(code(rules_.add_peer(tcp(2), kPeerLockPrimary, now_)), -EALREADY);
  settle();
  EXPECT_EQ(code(rules_.delete_nid(peer_of(tcp(1)), tcp(1), 0)), -EPERM);
}

TEST_F(PeerRulesTest, DiscoveryLeavesConfiguredPeersAlone) {
  ASSERT_EQ(configure(tcp(1)), 0);
  ASSERT_EQ(configure(tcp(1), tcp(2)), 0);
  PeerRecord& peer = peer_of(tcp(1));
  EXPECT_EQ(code(rules_.add_nid(peer, tcp(3), kPeerMultiRail)), -EPERM);
  EXPECT_EQ(code(rules_.delete_nid(peer, tcp(2), kPeerMultiRail)), -EPERM);
  EXPECT_EQ(code(rules_.set_primary(peer, tcp(3), kPeerMultiRail)), 0) << "no failure, no effect";
  EXPECT_EQ(peer.primary, tcp(1));
  PeerRecord& other = **directory_.create(tcp(7), now_);
  EXPECT_EQ(code(rules_.add_nid(other, tcp(2), kPeerMultiRail)), -EEXIST);
}

TEST_F(PeerRulesTest, TakingThePrimaryNidOfAnotherDissolvesIt) {
  PeerRecord& lone = **directory_.create(tcp(5), now_);
  ASSERT_TRUE(rules_.add_nid(lone, tcp(6), kPeerMultiRail));
  lone.gateway_refs = 2;
  PeerRecord& taker = **directory_.create(tcp(1), now_);
  ASSERT_TRUE(rules_.add_nid(taker, tcp(5), kPeerMultiRail));
  EXPECT_TRUE(lone.dead);
  EXPECT_EQ(taker.gateway_refs, 2U);
  EXPECT_EQ(moved_.size(), 1U);
  ASSERT_TRUE(rules_.add_nid(taker, tcp(6), kPeerMultiRail)) << "before commit it is at hand";
  settle();
  EXPECT_EQ(nids_seen(tcp(6)), (std::vector{tcp(1), tcp(5), tcp(6)}));
  EXPECT_TRUE(asked_.empty());
  taker.gateway_refs = 0;
}

TEST_F(PeerRulesTest, WhichPrimaryWasLockedFirstStays) {
  ASSERT_TRUE(rules_.add_peer(tcp(5), kPeerLockPrimary | kPeerMultiRail, now_));
  ASSERT_TRUE(rules_.add_peer(tcp(1), kPeerLockPrimary | kPeerMultiRail, now_));
  PeerRecord& later = peer_of(tcp(1));
  ASSERT_TRUE(rules_.add_nid(later, tcp(5), kPeerMultiRail));
  settle();
  EXPECT_EQ(later.primary, tcp(5));
  EXPECT_EQ(nids_seen(tcp(1)), (std::vector{tcp(5), tcp(1)}));
}

TEST_F(PeerRulesTest, TwoLockedPeersThatClaimOneNidAreABadConfiguration) {
  ASSERT_TRUE(rules_.add_peer(tcp(5), kPeerLockPrimary | kPeerMultiRail, now_));
  ASSERT_TRUE(rules_.add_nid(peer_of(tcp(5)), tcp(6), kPeerMultiRail));
  PeerRecord& other = **directory_.create(tcp(1), now_);
  ASSERT_TRUE(rules_.add_nid(other, tcp(5), kPeerMultiRail));
  EXPECT_TRUE(other.is(kPeerBadConfig));
  EXPECT_TRUE(peer_of(tcp(5)).is(kPeerBadConfig));
  EXPECT_EQ(peer_of(tcp(5)).primary, tcp(5));
}

TEST_F(PeerRulesTest, BecomingMultiRailForgetsThePreferredInterface) {
  const auto ni =
      directory_.create_by_traffic({tcp(1), PeerDemand::kStranger, local_.view().nis[0]}, now_);
  ASSERT_TRUE(ni);
  ASSERT_TRUE(rules_.add_nid(peer_of(tcp(1)), tcp(2), kPeerMultiRail));
  EXPECT_EQ((*ni)->preferred_ni.get(), nullptr);
  EXPECT_EQ(code(rules_.add_nid(peer_of(tcp(1)), tcp(3), 0)), -EPERM);
}

TEST_F(PeerRulesTest, ARemovedNetworkRemovesItsPeers) {
  ASSERT_EQ(configure(tcp(1)), 0);
  ASSERT_EQ(configure(tcp(1), tcp(1, 5)), 0);
  ASSERT_EQ(configure(tcp(2, 5)), 0);
  ASSERT_EQ(configure(tcp(2, 5), tcp(2, 7)), 0);
  EXPECT_EQ(without(tcp(0, 5).net()), std::vector{tcp(1)});
  EXPECT_EQ(nids_seen(tcp(1)), (std::vector{tcp(1)})) << "as configured";
  EXPECT_EQ(directory_.find(tcp(2, 7)), nullptr)
      << "with its primary NID, which is unreachable here";
  EXPECT_EQ(directory_.find(tcp(2, 5)), nullptr);
}

TEST_F(PeerRulesTest, APeerOnARemainingNetworkStaysByItsNidThere) {
  for (const bool lock : {false, true}) {
    ASSERT_EQ(configure(tcp(2, 5), Nid::any(), true, lock), 0);
    ASSERT_EQ(configure(tcp(2, 5), tcp(2, 7)), 0);
    ASSERT_EQ(configure(tcp(2, 5), tcp(2)), 0);
    PeerRecord& peer = peer_of(tcp(2));
    PeerNi* const ni = directory_.find(tcp(2));
    EXPECT_EQ(without(tcp(0, 5).net()), std::vector{tcp(2)});
    EXPECT_EQ(directory_.find(tcp(2)), ni) << "with its connections";
    EXPECT_EQ(&peer_of(tcp(2)), &peer);
    EXPECT_EQ(peer.primary, tcp(2));
    EXPECT_FALSE(peer.has(kPeerConfigured | kPeerLockPrimary)) << "that was the other NID";
    EXPECT_EQ(nids_seen(tcp(2)), (std::vector{tcp(2, 5), tcp(2, 7), tcp(2)}));
    EXPECT_EQ(directory_.find(tcp(2, 5))->tx_credits_max.get(), 0) << "if at all by a router";
    ASSERT_EQ(unconfigure(tcp(2), Nid::any(), true), 0);
  }
}

TEST_F(PeerRulesTest, AFailedMoveOfANidLeavesItsPeerUnchanged) {
  ASSERT_EQ(configure(tcp(100)), 0);
  for (std::uint32_t n = 101; views_free(tcp(100)); ++n)
    ASSERT_EQ(configure(tcp(100), tcp(n)), 0);
  PeerNi* const other = traffic(tcp(1));
  EXPECT_EQ(configure(tcp(100), tcp(1)), -ENOMEM);
  EXPECT_EQ(directory_.find(tcp(1)), other);
  EXPECT_EQ(peer_of(tcp(1)).primary, tcp(1));
}

TEST_F(PeerRulesTest, TakenApartEachInterfaceThatIsReachedIsAPeer) {
  ASSERT_EQ(configure(tcp(2, 7)), 0);
  for (const Nid& nid : {tcp(2), tcp(3), tcp(3, 7)})
    ASSERT_EQ(configure(tcp(2, 7), nid), 0);
  PeerRecord& whole = peer_of(tcp(2));
  const std::array<PeerNi*, 2> nis{directory_.find(tcp(2)), directory_.find(tcp(3))};
  std::vector<Nid> parts;
  rules_.split(whole, [&](PeerRecord& part) { parts.push_back(part.primary); });
  settle();
  EXPECT_EQ(parts, std::vector{tcp(3)});
  EXPECT_EQ(whole.primary, tcp(2)) << "the first that is reached";
  EXPECT_EQ(nids_seen(tcp(2)), std::vector{tcp(2)});
  EXPECT_EQ(nids_seen(tcp(3)), std::vector{tcp(3)});
  EXPECT_EQ(directory_.find(tcp(2)), nis[0]);
  EXPECT_EQ(directory_.find(tcp(3)), nis[1]) << "each with its connections";
  EXPECT_EQ(directory_.find(tcp(2, 7)), nullptr);
}

TEST_F(PeerRulesTest, ADiscoveredPeerThatLosesAnInterfaceIsLookedAt) {
  ASSERT_EQ(configure(tcp(1)), 0);
  ASSERT_EQ(configure(tcp(1), tcp(2)), 0);
  peer_of(tcp(1)).add_state(kPeerDiscovered);
  ASSERT_EQ(unconfigure(tcp(1), tcp(2)), 0);
  EXPECT_EQ(lost_ni_.size(), 1U);
}

}  // namespace
}  // namespace plnet::lnet::peer_rules_test
