// SPDX-License-Identifier: BSD-3-Clause
#include "node/host/peer_count.hpp"

#include <algorithm>

namespace plnet::node {
namespace {

// A node with fewer is unusable.
constexpr std::uint32_t kPeersLeast = 128;
// All peers of a site may connect after a restart.
constexpr std::uint32_t kNewPeersLeast = 1000;
// One neighbour has a quarter of table and rate, a gateway three quarters of the table.
constexpr std::uint32_t kPartOfOne = 4;
constexpr std::size_t kConnectionsLeast = 4096;
constexpr std::size_t kConnectionsMost = 65536;
constexpr std::size_t kConnectionsOfPeer = 4;

std::size_t peers_by_memory(bool routing, std::uint64_t available) {
  if (!routing || available == 0) return kPeersUsual;
  const std::uint64_t room = std::min<std::uint64_t>(available / kBytesOfPeer, kPeersMost);
  return std::max(static_cast<std::size_t>(room), kPeersUsual);
}

}  // namespace

runtime::LnetLimits settled(const runtime::LnetLimits& limits, bool routing,
                            std::uint64_t available) {
  runtime::LnetLimits all = limits;
  if (all.peers == 0) all.peers = static_cast<std::uint32_t>(peers_by_memory(routing, available));
  all.peers = std::max(all.peers, kPeersLeast);
  if (all.new_peers_per_sec == 0) all.new_peers_per_sec = std::max(all.peers / 2, kNewPeersLeast);
  if (all.peers_of_one == 0) all.peers_of_one = all.peers / kPartOfOne;
  return all;
}

// Up to half of the peers may have more than two NIs: the nodes of a site are mostly alike.
lnet::PeerLimits peer_limits(const runtime::LnetLimits& configured) {
  const runtime::LnetLimits all = settled(configured, false, 0);
  const std::size_t peers = all.peers;
  lnet::PeerLimits limits;
  limits.peers = peers;
  limits.peer_nis = 2 * peers;
  limits.peers_over_2 = std::max<std::size_t>(peers / 2, 16);
  limits.peers_over_8 = std::max<std::size_t>(peers / 8, 16);
  limits.peers_over_40 = std::max<std::size_t>(peers / 64, 8);
  limits.strangers_per_second = all.new_peers_per_sec;
  limits.named_per_second = std::max<std::uint32_t>(all.new_peers_per_sec / kPartOfOne, 1);
  limits.named_by_one = std::min<std::size_t>(all.peers_of_one, peers);
  limits.named_by_gateway = std::max(limits.named_by_one, peers - peers / kPartOfOne);
  return limits;
}

std::size_t connections_of_shard(std::size_t peers, std::size_t shards) {
  return std::clamp(kConnectionsOfPeer * peers / std::max<std::size_t>(shards, 1),
                    kConnectionsLeast, kConnectionsMost);
}

}  // namespace plnet::node
