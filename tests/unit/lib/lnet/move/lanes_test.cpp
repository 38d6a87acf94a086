// SPDX-License-Identifier: BSD-3-Clause
// Large messages over lanes of several shards: choice of the lane, sending shard, and returned
// credits.
#include <set>

#include "tests/unit/lib/lnet/move/held_lnd.hpp"

namespace plnet::lnet::lanes_test {
namespace {

constexpr std::uint32_t kLarge = 1000;
constexpr std::uint32_t kSmall = 999;

// A node whose shards all serve the NI; its one peer has lane 0 on shard `at`.
class LanesNode {
 public:
  explicit LanesNode(unsigned shards, ShardId home, ShardSet serving = {}, ShardId lanes_at = 0xff)
      : at(lanes_at == 0xff ? home : lanes_at),
        rig({.shards = shards,
             .served = serving.none() ? std::vector<ShardSet>{} : std::vector<ShardSet>{serving},
             .tunables = {.peer_credits = 64}}) {
    rig.node.add_peer(HeldNode::nid(9), home);
    small = rig.bind(user, kSmall, home);
    large = rig.bind(user, kLarge, home);
    // The first message creates the link.
    EXPECT_TRUE(rig.put(small, 9, 0));
    rig.settle();
    link = rig.lnds[at]->held.at(0)->next_hop;
    end_all();
  }
  void lane(unsigned shard, bool up) {
    rig.port(at).on_lane(*link, lane_of_shard(static_cast<ShardId>(shard)), up, true);
  }
  void end_all() {
    for (HeldLnd* const lnd : rig.lnds) {
      while (lnd != nullptr && !lnd->held.empty())
        lnd->end(0);
    }
    rig.settle();
  }
  void put(MdHandle md, unsigned count) {
    for (unsigned i = 0; i < count; ++i)
      ASSERT_TRUE(rig.put(md, 9, i));
    rig.settle();
  }
  [[nodiscard]] std::size_t held(unsigned shard) const { return rig.lnds[shard]->held.size(); }
  [[nodiscard]] LaneSet& lanes() { return rig.core(at).peers.lanes(rig.core(at).peers.of(*link)); }

  const ShardId at;
  HeldNode rig;
  Recorder user;
  MdHandle small, large;
  PeerLink* link = nullptr;
};

TEST(Lanes, LargeMessagesTakeTurnsAndSmallOnesStayAtHome) {
  LanesNode node(4, 1);
  for (const unsigned shard : {0U, 1U, 3U})
    node.lane(shard, true);
  node.put(node.small, 5);
  EXPECT_EQ(node.held(1), 5U);
  node.put(node.large, 6);
  EXPECT_EQ(node.held(0), 2U);
  EXPECT_EQ(node.held(1), 5U + 2);
  EXPECT_EQ(node.held(2), 0U);
  EXPECT_EQ(node.held(3), 2U);
  EXPECT_EQ(node.rig.cause(Cause::kCrossedLane, 1), 4U);
  for (const unsigned shard : {0U, 3U}) {
    for (const Transmit* const transmit : node.rig.lnds[shard]->held)
      EXPECT_EQ(transmit->lane, lane_of_shard(static_cast<ShardId>(shard)));
  }
  for (const Transmit* const transmit : node.rig.lnds[1]->held)
    EXPECT_EQ(transmit->lane, 0U);
  const PeerPort& peer = node.rig.peer_port(9, 1);
  EXPECT_EQ(peer.tx_credits(), 64 - 11) << "credits are the home's";
  node.end_all();
  EXPECT_EQ(peer.tx_credits(), 64);
  EXPECT_EQ(node.user.count(EventKind::kSend), 12U);
  for (unsigned shard = 0; shard < 4; ++shard)
    EXPECT_EQ(node.lanes().bytes(static_cast<ShardId>(shard)), 0U);
  node.rig.expect_conserved();
}

TEST(Lanes, TheLaneWithTheFewestBytesIsNext) {
  LanesNode node(3, 0);
  for (unsigned shard = 0; shard < 3; ++shard)
    node.lane(shard, true);
  node.put(node.large, 6);
  HeldLnd& quick = *node.rig.lnds[2];
  for (unsigned i = 0; i < 4; ++i) {
    quick.end(0);
    node.rig.settle();
    node.put(node.large, 1);
    EXPECT_EQ(quick.held.size(), 2U) << "a peer that has finished gets more";
  }
  EXPECT_EQ(node.held(0), 2U);
  EXPECT_EQ(node.held(1), 2U);
  node.end_all();
  node.rig.expect_conserved();
}

TEST(Lanes, ARemovedLaneIsNotChosenAndItsMessagesStillCount) {
  LanesNode node(2, 0);
  node.lane(0, true);
  node.lane(1, true);
  node.put(node.large, 4);
  EXPECT_EQ(node.held(1), 2U);
  node.lane(1, false);
  node.put(node.large, 4);
  EXPECT_EQ(node.held(1), 2U);
  EXPECT_EQ(node.held(0), 6U);
  node.lane(1, true);
  EXPECT_EQ(node.lanes().bytes(1), 2U * (kLarge + 72));
  node.lane(0, false);
  node.lane(1, false);
  node.put(node.large, 1);
  EXPECT_EQ(node.held(0), 7U) << "without any, by lane 0";
  node.end_all();
  node.rig.expect_conserved();
}

TEST(Lanes, AFailureOnALaneComesHomeLikeAnyOther) {
  LanesNode node(2, 0);
  node.lane(1, true);
  node.put(node.large, 1);
  ASSERT_EQ(node.held(1), 1U);
  node.rig.lnds[1]->end(0, {.status = std::unexpected(Errc::kIo), .health = Health::kLocalError});
  node.rig.settle();
  ASSERT_EQ(node.user.count(EventKind::kSend), 2U);
  EXPECT_EQ(node.user.events.back().status.error(), Errc::kIo);
  EXPECT_EQ(node.lanes().bytes(1), 0U);
  node.rig.expect_conserved();
}

// The home has no LND for the NI: lane 0 and the choice are on a shard with one.
TEST(Lanes, AreChosenWhereLaneZeroIs) {
  ShardSet serving;
  serving[1] = serving[2] = true;
  for (const unsigned first : {1U, 2U}) {
    LanesNode node(3, 0, serving, 1);
    node.lane(first, true);
    node.put(node.large, 3);
    EXPECT_EQ(node.held(first), 3U);
    EXPECT_EQ(node.lanes().bytes(static_cast<ShardId>(first)), 3U * (kLarge + 72));
    node.end_all();
    EXPECT_EQ(node.lanes().bytes(static_cast<ShardId>(first)), 0U);
    EXPECT_EQ(node.rig.peer_port(9, 0).tx_credits(), 64);
    node.rig.expect_conserved();
  }
}

TEST(Lanes, APeerThatIsTakenAwayWaitsForThem) {
  LanesNode node(4, 2);
  for (unsigned shard = 0; shard < 4; ++shard)
    node.lane(shard, true);
  node.put(node.large, 8);
  node.rig.node.delete_peer(HeldNode::nid(9));
  node.rig.settle();
  EXPECT_TRUE(node.rig.node.directory().waiting());
  node.end_all();
  EXPECT_FALSE(node.rig.node.directory().waiting());
  for (unsigned shard = 0; shard < 4; ++shard)
    EXPECT_EQ(node.rig.core(shard).peers.links_of(1), 0U);
  node.rig.expect_conserved();
}

TEST(Lanes, AnInterfaceThatIsTakenAwayTakesThemWithIt) {
  LanesNode node(3, 0);
  for (unsigned shard = 0; shard < 3; ++shard)
    node.lane(shard, true);
  node.put(node.large, 6);
  for (unsigned shard = 0; shard < 3; ++shard)
    node.rig.node.shard(shard).close_port(node.rig.node.ni(1));
  node.rig.settle();
  EXPECT_EQ(node.user.count(EventKind::kSend), 7U);
  for (unsigned shard = 0; shard < 3; ++shard) {
    EXPECT_TRUE(node.rig.node.shard(shard).port_idle(node.rig.node.ni(1)));
    EXPECT_FALSE(node.rig.node.shard(shard).uses(node.rig.node.ni(1)));
  }
}

TEST(Lanes, MessagesUseLaneZeroWithoutRoomForOthers) {
  HeldNode rig({.shards = 2,
                .limits = {.peer_ports = 8,
                           .extra_links = 2,
                           .lane_sets = 1,
                           .messages = 32,
                           .receives = 8,
                           .descriptors = 8,
                           .match_entries = 8}});
  Recorder user;
  const MdHandle md = rig.bind(user, kLarge, 0);
  PeerLink* to_nine = nullptr;
  for (const std::uint32_t peer : {9U, 10U}) {
    rig.node.add_peer(HeldNode::nid(peer), 0);
    ASSERT_TRUE(rig.put(md, peer, peer));
    rig.settle();
    if (peer == 9) to_nine = rig.lnds[0]->held.back()->next_hop;
    rig.port(0).on_lane(*rig.lnds[0]->held.back()->next_hop, lane_of_shard(1), true, true);
  }
  EXPECT_EQ(rig.cause(Cause::kLanesFull), 1U);
  auto& to_ten = *rig.lnds[0]->held.back()->next_hop;
  ASSERT_TRUE(rig.put(md, 9, 11));
  ASSERT_TRUE(rig.put(md, 10, 12));
  rig.settle();
  ASSERT_EQ(rig.lnds[1]->held.size(), 1U);
  EXPECT_EQ(rig.lnds[1]->bits(0), 11U);
  EXPECT_EQ(rig.lnds[0]->held.size(), 3U);
  for (HeldLnd* const lnd : rig.lnds) {
    while (!lnd->held.empty())
      lnd->end(0);
  }
  rig.settle();
  // A shard without connections leaves the messages to other shards.
  rig.port(0).on_lane(*to_nine, lane_of_shard(1), false, true);
  rig.port(0).on_lane(to_ten, lane_of_shard(1), true, true);
  EXPECT_EQ(rig.cause(Cause::kLanesFull), 1U);
  rig.expect_conserved();
}

}  // namespace
}  // namespace plnet::lnet::lanes_test
