// SPDX-License-Identifier: BSD-3-Clause
// Payloads kept in the LND that received them until their message is sent: which messages may be
// kept, which LNDs are notified, and that the payload is in its buffer before any other reader
// looks there.
#include <array>
#include <cstdint>

#include <gtest/gtest.h>

#include "tests/unit/lib/lnet/move/kept_rig.hpp"

namespace plnet::lnet::kept::forward_kept_test {
namespace {

// --- Messages that may be kept ---

TEST(ForwardKept, MayBeWhereItLeavesFromItsShardByAnLndThatTakesIt) {
  KeptRig rig;
  EXPECT_TRUE(rig.offer(kClient, kServer, kLength, {1, 1}).may_keep);
  EXPECT_TRUE(rig.offer(kClient, kServer, 1, {2, 1}).may_keep);
  EXPECT_FALSE(rig.offer(kClient, kServer, 0, {3, 1}).may_keep) << "there is nothing to keep";
  EXPECT_FALSE(rig.offer(kServer, kClient, kLength, {4, 1}).may_keep) << "that LND does not";
  for (std::uint32_t i = 1; i <= 3; ++i)
    rig.received(kClient, {i, 1});
  rig.received(kServer, {4, 1});
  rig.settle();
  while (!rig.in().held.empty())
    rig.in().end(0);
  rig.end_all();
  rig.expect_conserved();
}

TEST(ForwardKept, MayNotBeWhereItsNextHopIsAnotherShards) {
  for (const ShardId home : {ShardId{0}, ShardId{1}}) {
    KeptRig rig({.shards = 2}, home);
    for (unsigned shard = 0; shard < 2; ++shard) {
      const RxDecision decision =
          rig.offer(kClient, kServer, kLength, {1, 1}, MessageType::kPut, shard);
      ASSERT_EQ(decision.verdict, RxVerdict::kReceive);
      EXPECT_EQ(decision.may_keep, home == shard);
      rig.received(kClient, {1, 1}, {}, shard);
      rig.settle();
    }
    rig.end_all();
    rig.expect_conserved();
  }
}

TEST(ForwardKept, MayNotBeWhereNoLndOfItsNextHopIs) {
  ShardSet all;
  ShardSet second;
  all[0] = all[1] = second[1] = true;
  KeptRig rig({.shards = 2, .served = {all, second}}, 0);
  EXPECT_FALSE(rig.offer(kClient, kServer, kLength, {1, 1}).may_keep);
  rig.received(kClient, {1, 1});
  rig.settle();
  ASSERT_EQ(rig.out(1).held.size(), 1U);
  rig.end(0, {}, 1);
  rig.expect_conserved();
}

TEST(ForwardKept, MayBeAfterItHasWaitedForABuffer) {
  KeptRig rig({.buffers = {{8, 8, 2}}});
  rig.keep(kServer, {1, 1});
  EXPECT_EQ(rig.offer(kClient, kServer, kLength, {2, 1}).verdict, RxVerdict::kPark);
  rig.end(0);
  ASSERT_EQ(rig.in().resumed.size(), 1U);
  EXPECT_TRUE(rig.in().resumed[0].second.may_keep);
  rig.keeper.keep({2, 1}, rig.in().resumed[0].second.target);
  rig.in().resumed.clear();
  rig.kept({2, 1});
  rig.expect_kept(0, {2, 1});
  rig.end_all();
  rig.expect_conserved();
}

TEST(ForwardKept, MayNotBeLocalMessages) {
  KeptRig rig;
  Recorder user;
  const std::array<Fragment, 1> fragments{Fragment{{0, 0}, kLength}};
  (void)rig.node.shard(0)
      .attach({.portal = 5, .match_bits = 1}, {.fragments = fragments,
                                               .length = kLength,
                                               .options = kMdPut | kMdManageRemote,
                                               .handler = &user})
      .value();
  const RxDecision decision =
      rig.offer(kClient, ForwardRig::client(ForwardRig::kRouter), kLength, {1, 1});
  ASSERT_EQ(decision.verdict, RxVerdict::kReceive);
  EXPECT_FALSE(decision.may_keep);
  rig.received(kClient, {1, 1});
  rig.settle();
  EXPECT_EQ(user.count(EventKind::kPut), 1U);
  rig.expect_conserved();
}

// --- Payload relayed as is ---

TEST(ForwardKept, GoesToTheLndOfItsNextHopAsItIs) {
  KeptRig rig;
  rig.keep(kServer, {1, 1});
  rig.expect_kept(0, {1, 1});
  EXPECT_TRUE(rig.keeper.keeps({1, 1}));
  EXPECT_FALSE(rig.keeper.is_whole(*rig.out().held[0], {1, 1}));
  rig.keeper.take({1, 1});
  rig.out().held[0]->kept = false;
  rig.end(0);
  EXPECT_EQ(rig.keeper.brought, 0U);
  EXPECT_EQ(rig.statistic(Statistic::kRouteCount), 1U);
  EXPECT_EQ(rig.statistic(Statistic::kRouteLength), kLength);
  EXPECT_EQ(rig.port(kClient).traffic.get(LnetTraffic::Id::kReceivedPut), 1U);
  EXPECT_EQ(rig.peer(kClient)->traffic.get(LnetTraffic::Id::kReceivedPut), 1U);
  rig.expect_conserved();
}

TEST(ForwardKept, WaitsAsItIs) {
  // Waits for a credit of the hop, a credit of the interface, and room in the LND.
  const ForwardSetup peer{.tunables = {.peer_credits = 1}};
  const ForwardSetup interface{.tunables = {.credits = 1}};
  for (const ForwardSetup& setup : {peer, interface, ForwardSetup{}}) {
    KeptRig rig(setup);
    rig.out().room = 1;
    rig.keep(kServer, {1, 1});
    rig.keep(kServer, {2, 1});
    ASSERT_EQ(rig.out().held.size(), 1U);
    rig.keeper.take({1, 1});
    rig.end(0);
    ASSERT_EQ(rig.out().held.size(), 1U);
    rig.expect_kept(0, {2, 1});
    EXPECT_TRUE(rig.keeper.keeps({2, 1}));
    rig.keeper.take({2, 1});
    rig.end(0);
    EXPECT_EQ(rig.keeper.brought, 0U);
    rig.expect_conserved();
  }
}

// Its LND fetched the payload for its own reasons, and the connection continued with the next
// message.
TEST(ForwardKept, AKeptMessageIsNotConfusedWithTheNextOne) {
  KeptRig rig({.tunables = {.peer_credits = 1}});
  rig.keep(kServer, {1, 1});
  rig.keep(kServer, {2, 1});
  (void)rig.keeper.bring({2, 1});
  rig.keep(kServer, {2, 2});
  rig.keeper.take({1, 1});
  rig.end(0);
  rig.expect_kept(0, {2, 1});
  EXPECT_TRUE(rig.keeper.is_whole(*rig.out().held[0], {2, 1}));
  rig.end(0);
  EXPECT_TRUE(rig.keeper.keeps({2, 2})) << "it is not asked for";
  rig.expect_kept(0, {2, 2});
  rig.end_all();
  rig.expect_conserved();
}

// --- Payload that is fetched first ---

TEST(ForwardKept, IsBroughtBeforeAnotherShardSendsIt) {
  KeptRig rig({.shards = 2}, 0);
  rig.offer_to_keep(kServer, {1, 1});
  rig.node.delete_peer(kServer);  // it is created again with another home
  for (unsigned i = 0; i < 10; ++i)
    rig.settle();
  rig.node.add_peer(kServer, ShardId{1});
  rig.kept({1, 1});
  rig.expect_brought(rig.out(1), {1, 1});
  EXPECT_EQ(rig.keeper.brought, 1U);
  rig.end(0, {}, 1);
  EXPECT_EQ(rig.keeper.brought, 1U);
  rig.expect_conserved();
}

TEST(ForwardKept, IsBroughtBeforeItGoesByAnotherLane) {
  KeptRig rig({.shards = 2}, 0);
  rig.keep(kServer, {1, 1});  // makes the link
  rig.expect_kept(0, {1, 1});
  PeerLink& link = *rig.out().held[0]->next_hop;
  rig.keeper.take({1, 1});
  rig.end(0);
  rig.offer_to_keep(kServer, {2, 1});
  rig.port(kServer).on_lane(link, lane_of_shard(1), true, true);
  rig.kept({2, 1});
  rig.expect_brought(rig.out(1), {2, 1});
  rig.end(0, {}, 1);
  // Keeping messages to that hop is useless, too.
  EXPECT_FALSE(rig.offer(kClient, kServer, kLength, {3, 1}).may_keep);
  rig.received(kClient, {3, 1});
  rig.settle();
  rig.end(0, {}, 1);
  rig.port(kServer).on_lane(link, lane_of_shard(1), false, true);
  rig.keep(kServer, {4, 1});
  rig.expect_kept(0, {4, 1});
  rig.end_all();
  rig.expect_conserved();
}

TEST(ForwardKept, IsBroughtForAnLndThatTakesNone) {
  for (const bool delayed : {false, true}) {
    KeptRig rig;
    rig.offer_to_keep(kServer, {1, 1});
    rig.out().take_kept(false);
    if (delayed) rig.rule(kDelayed);
    rig.kept({1, 1});
    EXPECT_FALSE(rig.keeper.keeps({1, 1}));
    if (delayed) rig.pass(std::chrono::seconds(4));
    rig.expect_brought(rig.out(), {1, 1});
    rig.end_all();
    rig.expect_conserved();
  }
}

TEST(ForwardKept, IsBroughtBeforeItsNextHopIsLookedFor) {
  KeptRig rig;
  rig.offer_to_keep(kServer, {1, 1});
  rig.node.delete_peer(kServer);
  for (unsigned i = 0; i < 10; ++i)
    rig.settle();
  rig.kept({1, 1});
  rig.expect_brought(rig.out(), {1, 1});
  EXPECT_EQ(rig.out().held[0]->next_hop->nid, kServer);
  rig.end_all();
  rig.expect_conserved();
}

}  // namespace
}  // namespace plnet::lnet::kept::forward_kept_test
