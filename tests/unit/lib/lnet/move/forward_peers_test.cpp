// SPDX-License-Identifier: BSD-3-Clause
// Clients that name unassigned NIDs, and the peer table.
#include <gtest/gtest.h>

#include "tests/unit/lib/lnet/move/forward_rig.hpp"

namespace plnet::lnet::forward_peers_test {
namespace {

using Rig = AcquaintedRig;
using Id = PeerTable::Id;
constexpr std::size_t kKept = 8;

template <class AnyRig>
std::uint64_t count(AnyRig& rig, Id id) {
  return rig.node.directory().counters().get(id);
}

TEST(ForwardPeers, NoPeerIsMadeOnAnUnreachableNetwork) {
  Rig rig;
  const std::uint64_t before = count(rig, Id::kCreated);
  for (std::uint32_t i = 1; i <= 50; ++i) {
    EXPECT_EQ(rig.forward(Rig::kClient, Nid::of(NetType::kTcp, 9, i), 10, {i, 1}),
              RxVerdict::kDrop);
  }
  EXPECT_EQ(count(rig, Id::kCreated), before);
  EXPECT_EQ(rig.cause(Cause::kDroppedForwardNoPath), 50U);
  EXPECT_EQ(rig.cause(Cause::kDroppedForwardNoPeer), 0U);
  rig.expect_conserved();
}

TEST(ForwardPeers, DestinationsDoNotUseReservedPlaces) {
  Rig rig({.kept_for_own = kKept});
  std::uint32_t index = 0;
  for (std::uint32_t i = 0; i < 80; ++i) {
    (void)rig.forward(Rig::kClient, Rig::server(100 + i), 10, {++index, 1});
    rig.end_all();
  }
  EXPECT_EQ(count(rig, Id::kPeers), Rig::kPeers - kKept);
  EXPECT_EQ(rig.cause(Cause::kDroppedForwardNoPeer), 80U - (Rig::kPeers - kKept - 4));
  Recorder user;
  Shard& shard = rig.node.shard(0);
  const MdHandle md = shard.bind({.handler = &user}).value();
  ASSERT_TRUE(shard.put(md, {.target = {Rig::server(999)}, .portal = 5}));
  rig.settle();
  EXPECT_NE(rig.node.directory().find(Rig::server(999)), nullptr) << "that is what they are for";
  rig.end_all();
  rig.expect_conserved();
}

// A request for an ACK names a NID to which the ACK will go.
TEST(ForwardPeers, ResponseTargetsDoNotUseReservedPlaces) {
  constexpr std::size_t kPeers = 32;
  const auto other = [](std::uint32_t address) { return Nid::of(NetType::kTcp, 7, address); };
  HeldNode rig({.nids = {HeldNode::nid(1), other(1)}, .peers = kPeers, .kept_for_own = kKept});
  rig.node.add_peer(HeldNode::nid(9));
  Recorder target, user;
  rig.attach(target);
  for (std::uint32_t i = 1; i <= 50; ++i) {
    MessageHeader header{.destination = HeldNode::nid(1), .source = other(100 + i)};
    header.type = MessageType::kPut;
    header.set_area(PutArea{.ack_handle = {7, 7}, .match_bits = 1, .portal = 5});
    const RxDecision decision =
        rig.port().on_header({.header = header, .from = HeldNode::nid(9), .rx = {i, 1}});
    EXPECT_EQ(decision.verdict, RxVerdict::kReceive);
    rig.port().on_received({i, 1}, {}, Health::kOk);
    rig.settle();
    while (!rig.others[0]->held.empty()) {
      rig.others[0]->end(0);
      rig.settle();
    }
  }
  EXPECT_EQ(count(rig, Id::kPeers), kPeers - kKept);
  EXPECT_EQ(rig.cause(Cause::kTxNoPeer), 50U - (kPeers - kKept - 1));
  ASSERT_TRUE(rig.put(rig.bind(user), 99, 1));
  rig.settle();
  ASSERT_NE(rig.node.directory().find(HeldNode::nid(99)), nullptr);
  rig.lnds[0]->end(0);
  rig.settle();
  rig.expect_conserved();
}

}  // namespace
}  // namespace plnet::lnet::forward_peers_test
