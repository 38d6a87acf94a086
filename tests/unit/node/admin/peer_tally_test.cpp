// SPDX-License-Identifier: BSD-3-Clause
#include "node/admin/peer_tally.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "drivers/net/null/device.hpp"
#include "lib/base/random.hpp"
#include "lib/lnet/names/nid_text.hpp"
#include "node/admin/state_tally.hpp"
#include "tests/unit/node/admin/small_node.hpp"

namespace plnet::node::peer_tally_test {
namespace {

using lnet::Aliveness;
using std::chrono::seconds;

constexpr unsigned kShards = 2;
constexpr lnet::Nid kOurs = lnet::Nid::of(lnet::NetType::kTcp, 0, 1);
constexpr lnet::Nid kServer = lnet::Nid::of(lnet::NetType::kTcp, 0, 9);
constexpr lnet::Nid kFar = lnet::Nid::of(lnet::NetType::kTcp, 5, 9);

class SinkMaker final : public lnet::LndMaker {
 public:
  std::unique_ptr<lnet::Lnd> make(lnet::NiPort& port, lnet::ShardId /*shard*/) override {
    return std::make_unique<drivers::NullLnd>(drivers::NullConfig{}, port, random_);
  }

 private:
  Random random_{1};
};

// A node on one network that turns only on request.
class PeerTallyTest : public ::testing::Test {
 protected:
  void build(const lnet::NiTunables& tunables = {}, std::size_t peers = 8) {
    small_.setup.coordinator.peers.peers = peers;
    small_.setup.coordinator.peers.peer_nis = 2 * peers;
    small_.setup.shard_limits.peer_ports = 2 * peers;
    node_ = std::make_unique<lnet::Node>(small_.setup);
    for (unsigned i = 0; i < kShards; ++i)
      node_->shard(i).begin_turn(Instant(seconds(100)));
    ASSERT_TRUE(node_->add_ni({.nid = kOurs, .tunables = tunables}, maker_));
    know({kServer});
  }
  void know(const std::vector<lnet::Nid>& nids) {
    for (const lnet::Nid& nid : nids) {
      const lnet::Nid more = nid == nids.front() ? lnet::Nid::any() : nid;
      ASSERT_TRUE(node_->coordinator().add_peer(nids.front(), more, true));
    }
  }
  // Turns until started messages are with the network, which drops them.
  void turn(Instant now) {
    for (unsigned i = 0; i < 8 * kShards; ++i) {
      lnet::Shard& shard = node_->shard(i % kShards);
      shard.begin_turn(now);
      (void)shard.poll(now);
      if (shard.shard() == 0) (void)node_->coordinate(now);
      node_->quiescent(shard.shard());
    }
  }
  lnet::PeerNi& ni(const lnet::Nid& nid) { return *node_->coordinator().peers().find(nid); }
  // The credits of a client: granted by the shard, free, and the minimum.
  void forwards(unsigned shard, std::int32_t credits_max, std::int32_t credits,
                std::int32_t credits_min) {
    lnet::ClientCredits& client = node_->shard(shard).core().peers.get(ni(kServer))->client;
    client.credits_max = credits_max;
    client.credits = credits;
    client.credits_min = credits_min;
  }

  std::vector<lnet::PeerReport> tally(std::optional<lnet::Nid> only = std::nullopt) {
    PeerTally tally(only);
    while (tally.list(*node_)) {
    }
    for (unsigned shard = 0; shard < kShards; ++shard) {
      while (tally.count(*node_, shard)) {
      }
    }
    return tally.peers();
  }
  lnet::PeerNiReport told(const lnet::Nid& nid) {
    for (const lnet::PeerReport& peer : tally(nid)) {
      const auto found = std::ranges::find(peer.nis, nid, &lnet::PeerNiReport::nid);
      if (found != peer.nis.end()) return *found;
    }
    ADD_FAILURE() << text_of(nid) << " is missing";
    return {};
  }

  SmallNode small_{kShards, 64};
  SinkMaker maker_;
  std::unique_ptr<lnet::Node> node_;
};

TEST_F(PeerTallyTest, ARouterReportsTheNextHopsThatAreUp) {
  build();
  EXPECT_EQ(told(kServer).state, Aliveness::kUnknown) << "to a node that does not route";
  node_->parameters().routing.set(1);
  EXPECT_EQ(told(kServer).state, Aliveness::kUp);
  ni(kServer).status.set(lnet::kNiDown);
  EXPECT_EQ(told(kServer).state, Aliveness::kDown);
  know({kFar});
  EXPECT_EQ(told(kFar).state, Aliveness::kUnknown) << "it is no next hop";
}

TEST_F(PeerTallyTest, WithoutPeerTimeoutThereAreNoChecks) {
  build({.peer_timeout_s = 0});
  node_->parameters().routing.set(1);
  EXPECT_EQ(told(kServer).state, Aliveness::kUnknown);
}

TEST_F(PeerTallyTest, EveryInterfaceOfAGatewayIsUpOrDown) {
  build();
  ASSERT_TRUE(node_->coordinator().add_route(
      {.net = lnet::make_net(lnet::NetType::kKfi, 7), .gateway = kServer}));
  ASSERT_TRUE(node_->coordinator().add_peer(kServer, kFar, true));
  ni(kServer).status.set(lnet::kNiDown);
  EXPECT_EQ(told(kServer).state, Aliveness::kDown);
  EXPECT_EQ(told(kFar).state, Aliveness::kUp) << "though we are not on that network";
}

TEST_F(PeerTallyTest, NisInRecoveryAreReported) {
  build();
  node_->parameters().routing.set(1);
  EXPECT_EQ(told(kServer).health.next_ping, 0);
  ni(kServer).status.set(lnet::kNiDown);
  node_->coordinator().request_recovery(kServer);
  EXPECT_EQ(told(kServer).health.ping_count, 0U);
  EXPECT_EQ(told(kServer).health.next_ping, 101);
  turn(Instant(seconds(101)));
  const auto report = tally();
  ASSERT_EQ(report.size(), 1U);
  EXPECT_EQ(report[0].nis[0].health.ping_count, 1U);
  EXPECT_EQ(report[0].nis[0].health.next_ping, 103);
}

TEST_F(PeerTallyTest, SilentClientsShowTheConfiguredCredits) {
  build();
  EXPECT_EQ(told(kServer).available_rtr_credits, 8) << "peer_credits";
  node_->parameters().peer_buffer_credits.set(5);
  EXPECT_EQ(told(kServer).available_rtr_credits, 5);
  EXPECT_EQ(told(kServer).min_rtr_credits, 5);
  know({kFar});
  EXPECT_EQ(told(kFar).available_rtr_credits, 0) << "nothing comes from it directly";
}

TEST_F(PeerTallyTest, TheTunableOfTheNiCountsForMoreThanTheOption) {
  build({.peer_buffer_credits = 3});
  node_->parameters().peer_buffer_credits.set(5);
  EXPECT_EQ(told(kServer).available_rtr_credits, 3);
}

TEST_F(PeerTallyTest, AClientHasTheCreditsOfAllShardsWhereItsMessagesArrive) {
  build();
  node_->parameters().peer_buffer_credits.set(5);
  forwards(1, 5, 3, 1);
  EXPECT_EQ(told(kServer).available_rtr_credits, 3);
  EXPECT_EQ(told(kServer).min_rtr_credits, 1);
  forwards(0, 5, 5, -2);
  EXPECT_EQ(told(kServer).available_rtr_credits, 8);
  EXPECT_EQ(told(kServer).min_rtr_credits, -1);
}

TEST_F(PeerTallyTest, ManyPeersAreReportedInPieces) {
  constexpr std::uint32_t kPeers = 3 * PeerTally::kPeersAtOnce + 7;
  build({}, kPeers + 1);
  for (std::uint32_t i = 0; i < kPeers; ++i)
    know({lnet::Nid::of(lnet::NetType::kTcp, 0, 100 + i)});
  forwards(1, 8, 2, 2);
  PeerTally tally;
  unsigned pieces = 1;
  for (; tally.list(*node_); ++pieces)
    EXPECT_EQ(tally.peers().size(), pieces * PeerTally::kPeersAtOnce);
  EXPECT_EQ(tally.peers().size(), kPeers + 1);
  for (unsigned shard = 0; shard < kShards; ++shard) {
    for (pieces = 1; tally.count(*node_, shard);)
      ++pieces;
    EXPECT_EQ(pieces, 4U);
  }
  const auto server = std::ranges::find(tally.peers(), kServer, &lnet::PeerReport::primary);
  ASSERT_NE(server, tally.peers().end());
  EXPECT_EQ(server->nis[0].available_rtr_credits, 2);
}

TEST_F(PeerTallyTest, CreditsAreSummedOverShardsAndPeers) {
  build({.peer_credits = 8, .credits = 100});
  know({lnet::Nid::of(lnet::NetType::kTcp, 0, 100)});
  know({kFar});
  ni(kServer).tx_credits.set(-2);
  lnet::Ni& ours = *node_->coordinator().local().nis.front();
  ours.tx_credits[0].tx_credits.set(40);
  ours.tx_credits[1].tx_credits.set(-3);
  StateTally tally;
  ASSERT_FALSE(tally.count(*node_));
  const NodeStates& states = tally.states();
  ASSERT_EQ(states.nis.size(), 1U);
  EXPECT_EQ(states.nis[0].credits, (CreditStates{.all = 128, .free = 40, .waiting = 3}));
  ASSERT_EQ(states.nets.size(), 1U) << "the far NID is on no network of this node";
  EXPECT_EQ(states.nets[0].net, kOurs.net());
  EXPECT_EQ(states.nets[0].credits, (CreditStates{.all = 16, .free = 8, .waiting = 2}));
  EXPECT_EQ(states.nets[0].without_credit, 1U);
}

TEST_F(PeerTallyTest, StatesAreCountedInPieces) {
  constexpr std::uint32_t kPeers = 2 * StateTally::kPeersAtOnce + 7;
  build({}, kPeers + 1);
  node_->parameters().routing.set(1);
  for (std::uint32_t i = 0; i < kPeers; ++i)
    know({lnet::Nid::of(lnet::NetType::kTcp, 0, 100 + i)});
  ni(kServer).status.set(lnet::kNiDown);
  ASSERT_TRUE(node_->coordinator().add_route(
      {.net = lnet::make_net(lnet::NetType::kKfi, 7), .gateway = kServer}));
  StateTally tally;
  unsigned pieces = 1;
  while (tally.count(*node_))
    ++pieces;
  EXPECT_EQ(pieces, 3U);
  const NodeStates& states = tally.states();
  EXPECT_EQ(states.peers, (PeerStates{.peers = kPeers + 1, .up = kPeers, .down = 1}));
  ASSERT_EQ(states.nis.size(), 1U) << "lo is left out";
  EXPECT_EQ(states.nis[0].nid, kOurs);
  ASSERT_EQ(states.routes.size(), 1U);
  EXPECT_EQ(states.routes[0].gateway, kServer);
}

}  // namespace
}  // namespace plnet::node::peer_tally_test
