// SPDX-License-Identifier: BSD-3-Clause
#include "node/host/peer_count.hpp"

#include <gtest/gtest.h>

namespace plnet::node::peer_count_test {
namespace {

constexpr std::uint64_t kGib = std::uint64_t{1} << 30U;

TEST(PeerCount, ARoutersCountFollowsItsMemory) {
  EXPECT_EQ(settled({}, false, 64 * kGib).peers, kPeersUsual);
  EXPECT_EQ(settled({}, true, 0).peers, kPeersUsual) << "unknown";
  EXPECT_EQ(settled({}, true, kGib / 2).peers, kPeersUsual);
  EXPECT_GE(settled({}, true, 7 * kGib).peers, 20'000U) << "free of 8 GiB";
  EXPECT_EQ(settled({}, true, 1024 * kGib).peers, kPeersMost);
}

TEST(PeerCount, AConfiguredCountIsUsed) {
  const runtime::LnetLimits limits{.peers = 1000, .new_peers_per_sec = 50, .peers_of_one = 7};
  EXPECT_EQ(settled(limits, true, 64 * kGib), limits);
  const lnet::PeerLimits peers = peer_limits(limits);
  EXPECT_EQ(peers.peers, 1000U);
  EXPECT_EQ(peers.strangers_per_second, 50U);
  EXPECT_EQ(peers.named_by_one, 7U);
  EXPECT_EQ(settled({.peers = 1}, false, 0).peers, 128U);
}

TEST(PeerCount, SharesFollowTheTable) {
  const lnet::PeerLimits peers = peer_limits({.peers = 20'000});
  EXPECT_EQ(peers.strangers_per_second, 10'000U);
  EXPECT_EQ(peers.named_by_one, 5'000U);
  EXPECT_EQ(peers.named_by_gateway, 15'000U);
  EXPECT_EQ(connections_of_shard(20'000, 4), 20'000U);
  EXPECT_EQ(connections_of_shard(128, 4), 4096U);
}

}  // namespace
}  // namespace plnet::node::peer_count_test
