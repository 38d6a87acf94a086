// SPDX-License-Identifier: BSD-3-Clause
// Forwarded messages that an access rule forbids.
#include <gtest/gtest.h>

#include "lib/lnet/names/nid_text.hpp"
#include "lib/lnet/node/introductions.hpp"
#include "lib/lnet/peers/peer_rules.hpp"
#include "tests/unit/lib/lnet/move/forward_rig.hpp"

namespace plnet::lnet::forward_access_test {
namespace {

const Nid kClient = ForwardRig::client(10);
const Nid kOther = ForwardRig::client(11);
const Nid kServer = ForwardRig::server(20);

struct ForwardAccess : testing::Test {
  ForwardRig rig;
  Qsbr qsbr{1, 1};
  AccessTable table{qsbr};

  ForwardAccess() {
    for (const Nid& nid : {kClient, kOther, kServer})
      rig.node.add_peer(nid, 0);
    rig.settle();
  }
  void set(const AccessRule& rule) {
    table.set({{rule}});
    rig.node.shared().access.store(table.view());
  }
};

TEST_F(ForwardAccess, ForbiddenMessagesAreDroppedAndCounted) {
  AccessRule rule{.use = AccessUse::kForward};
  rule.source = NidRangeList::parse(text_of(kClient)).value();
  rule.from = kClient.net();
  rule.to = kServer.net();
  set(rule);
  EXPECT_EQ(rig.forward(kClient, kServer, 100, {1, 1}), RxVerdict::kDrop);
  EXPECT_EQ(rig.forward(kClient, kServer, 100, {2, 1}), RxVerdict::kDrop);
  EXPECT_TRUE(rig.out().held.empty());
  EXPECT_EQ(rig.cause(Cause::kDroppedAccess), 2U);
  EXPECT_EQ(rig.statistic(Statistic::kDropCount), 2U);
  EXPECT_EQ(table.list()[0].matched, 2U);
  RefusedMessage refused;
  ASSERT_TRUE(rig.core().refusals->take(refused));
  EXPECT_EQ(refused.cause, Cause::kDroppedAccess);
  EXPECT_EQ(refused.source, kClient);
  EXPECT_EQ(refused.destination, kServer);
  EXPECT_EQ(rig.forward(kOther, kServer, 100, {3, 1}), RxVerdict::kReceive) << "another client";
  rig.end_all();
  rig.node.shared().access.store(nullptr);
  EXPECT_EQ(rig.forward(kClient, kServer, 100, {4, 1}), RxVerdict::kReceive) << "no rules";
  rig.end_all();
  rig.expect_conserved();
}

// The client names a NID of the server on a network to which this router is not connected.
TEST_F(ForwardAccess, TheNextNidIsJudgedToo) {
  const Nid elsewhere = Nid::of(NetType::kTcp, 2, 20);
  auto& server = static_cast<PeerRecord&>(*rig.node.directory().find(kServer)->peer.load());
  server.add_state(kPeerMultiRail | kPeerDiscovered | kPeerNidsUpToDate);
  ASSERT_TRUE(rig.node.directory().attach(server, elsewhere));
  rig.node.directory().commit();
  rig.settle();
  EXPECT_EQ(rig.forward(kClient, elsewhere, 100, {1, 1}), RxVerdict::kReceive);
  ASSERT_EQ(rig.out().held.size(), 1U);
  EXPECT_EQ(rig.out().held[0]->header.destination, kServer);
  rig.end_all();
  AccessRule rule{.use = AccessUse::kForward};
  rule.to = kServer.net();
  set(rule);
  EXPECT_EQ(rig.forward(kClient, elsewhere, 100, {2, 1}), RxVerdict::kDrop);
  EXPECT_EQ(rig.cause(Cause::kDroppedAccess), 1U);
  rig.expect_conserved();
}

// The other NID of the peer is healthy.
TEST_F(ForwardAccess, AForbiddenSecondNidLeavesTheFirstOne) {
  const Nid other = ForwardRig::server(22);
  PeerDirectory& directory = rig.node.directory();
  PeerRecord& server = *directory.peer_of(kServer);
  ASSERT_TRUE(directory.attach(server, other));
  directory.commit();
  PeerRules::become_multi_rail(server);
  PeerRules::become_multi_rail(*directory.peer_of(kClient));
  directory.lookup(kServer)->health.set(500);
  const auto goes_to = [&](std::uint32_t number) {
    EXPECT_EQ(rig.forward(kClient, kServer, 100, {number, 1}), RxVerdict::kReceive);
    const Nid to = rig.out().held.at(0)->header.destination;
    rig.end_all();
    return to;
  };
  EXPECT_EQ(goes_to(1), other);
  AccessRule rule{.use = AccessUse::kForward};
  rule.destination = NidRangeList::parse(text_of(other)).value();
  set(rule);
  EXPECT_EQ(goes_to(2), kServer);
  EXPECT_EQ(rig.cause(Cause::kDroppedAccess), 0U);
  rig.expect_conserved();
}

TEST_F(ForwardAccess, ARuleForConnectionsForbidsNoMessage) {
  set({.use = AccessUse::kConnect});
  EXPECT_EQ(rig.forward(kClient, kServer, 100, {1, 1}), RxVerdict::kReceive);
  rig.end_all();
  EXPECT_EQ(rig.cause(Cause::kDroppedAccess), 0U);
}

TEST_F(ForwardAccess, ARefusedPeerIsReportedOnce) {
  const NodeShared& node = rig.node.shared();
  const Nid ours = ForwardRig::client(ForwardRig::kRouter);
  EXPECT_TRUE(admits_owner(node, 0, {kClient, ours})) << "no rules";
  AccessRule rule{.use = AccessUse::kConnect};
  rule.source = NidRangeList::parse(text_of(kClient)).value();
  set(rule);
  EXPECT_TRUE(will_refuse(node, {kClient, ours}));
  EXPECT_FALSE(admits_owner(node, 0, {kClient, ours}));
  EXPECT_TRUE(admits_owner(node, 0, {kOther, ours}));
  EXPECT_FALSE(refuses_owner(node, 0, {kOther, ours}));
  EXPECT_EQ(table.list()[0].connections, 1U) << "a look ahead does not count";
  RefusedPeer refused;
  ASSERT_TRUE(node.refused_peers[0].take(refused));
  EXPECT_EQ(refused.peer, kClient);
  EXPECT_EQ(refused.ours, ours);
  EXPECT_EQ(refused.rule, 0U);
  EXPECT_FALSE(node.refused_peers[0].take(refused));
}

}  // namespace
}  // namespace plnet::lnet::forward_access_test
