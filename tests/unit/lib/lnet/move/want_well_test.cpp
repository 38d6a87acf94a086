// SPDX-License-Identifier: BSD-3-Clause
// Reports of shards to the coordinator about unhealthy interfaces.
#include <gtest/gtest.h>

#include "lib/lnet/peers/peer_records.hpp"
#include "tests/unit/lib/lnet/move/held_lnd.hpp"

namespace plnet::lnet::want_well_test {
namespace {

// The first of two NIs of a peer: it has lost health and has answered before.
PeerNi& ill_peer(HeldNode& rig, std::uint32_t number) {
  PeerDirectory& directory = rig.node.directory();
  PeerRecord& peer = **directory.create(HeldNode::nid(1000 + 2 * number), rig.now);
  EXPECT_TRUE(directory.attach(peer, HeldNode::nid(1001 + 2 * number)));
  directory.commit();
  PeerNi& ni = *directory.find(HeldNode::nid(1000 + 2 * number));
  ni.last_alive_ns.set(0);
  ni.health.set(900);
  return ni;
}

TEST(WantWell, IsReportedOnceASecondForEach) {
  HeldNode rig({});
  ShardCore& core = rig.core();
  PeerNi& ni = ill_peer(rig, 1);
  Nid told;
  for (int times = 0; times < 3; ++times)
    core.request_recovery_if_needed(ni);
  ASSERT_TRUE(core.recovery_requests->pop(told));
  EXPECT_EQ(told, ni.nid);
  EXPECT_FALSE(core.recovery_requests->pop(told));
  rig.pass(std::chrono::seconds(1));
  core.request_recovery_if_needed(ni);
  EXPECT_TRUE(core.recovery_requests->pop(told));
  EXPECT_FALSE(rig.node.shared().recovery_overflow.load());
}

TEST(WantWell, IsNotReportedForPeersWithASingleNi) {
  HeldNode rig({});
  PeerNi& ni = rig.node.add_peer(HeldNode::nid(9));
  ni.last_alive_ns.set(0);
  ni.health.set(900);
  rig.core().request_recovery_if_needed(ni);
  Nid told;
  EXPECT_FALSE(rig.core().recovery_requests->pop(told));
}

// Messages avoid such an interface, so no message would trigger another request.
TEST(WantWell, UnreportedInterfacesAreNotForgotten) {
  HeldNode rig({});
  for (std::uint32_t number = 0; number < ShardCore::kRecoveryRequestsMax; ++number)
    rig.core().request_recovery_if_needed(ill_peer(rig, number));
  EXPECT_FALSE(rig.node.shared().recovery_overflow.load());
  rig.core().request_recovery_if_needed(ill_peer(rig, ShardCore::kRecoveryRequestsMax));
  EXPECT_TRUE(rig.node.shared().recovery_overflow.load());
}

}  // namespace
}  // namespace plnet::lnet::want_well_test
