// SPDX-License-Identifier: BSD-3-Clause
#include "node/host/record_counts.hpp"

#include <algorithm>
#include <cstdint>

#include "node/host/peer_count.hpp"
#include "node/host/router_memory.hpp"

namespace plnet::node {
namespace {

// The default: a mailbox between two shards has room for the messages of all shards. So with many
// shards each gets few, and the mailboxes of the largest node stay within some gigabytes.
constexpr std::size_t kMessagesOfAll = 16384;
constexpr std::size_t kMessagesLeast = 256;
constexpr std::size_t kMessagesMost = 4096;
// A shard with fewer is unusable.
constexpr std::size_t kMessagesMin = 64;

std::size_t usual(std::uint32_t asked, std::size_t shards) {
  if (asked != 0) return std::max<std::size_t>(asked, kMessagesMin);
  return std::clamp(kMessagesOfAll / shards, kMessagesLeast, kMessagesMost);
}

// An upper bound: with some hundreds of peers no shard has twice its share.
std::size_t peers_of_shard(std::size_t peers, std::size_t shards) {
  return std::min(peers, (2 * peers + shards - 1) / shards);
}

}  // namespace

// A router needs a receive for each forwarded message, and one for each peer with a connection that
// waits.
RecordCounts record_counts(const runtime::LnetLimits& limits, const lnet::NodeConfig& configured,
                           std::size_t shards) {
  RecordCounts counts{.own = usual(limits.messages, shards),
                      .messages = usual(limits.messages, shards),
                      .receives = usual(limits.receives, shards)};
  if (!configured.routing) return counts;
  const std::size_t forwards = forwards_of_shard(configured.buffers, static_cast<unsigned>(shards));
  if (limits.messages == 0) counts.messages += forwards;
  const std::size_t peers = limits.peers != 0 ? limits.peers : kPeersUsual;
  if (limits.receives == 0) counts.receives += forwards + peers_of_shard(peers, shards);
  return counts;
}

}  // namespace plnet::node
