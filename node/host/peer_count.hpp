// SPDX-License-Identifier: BSD-3-Clause
// The size of the peer table, and the limits that follow from it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lib/lnet/peers/peer_directory.hpp"
#include "lib/runtime/config/settings.hpp"

namespace plnet::node {

// The peer table of a node that is no router.
inline constexpr std::size_t kPeersUsual = 4096;
// The peers of a router: one for this many bytes of memory. The actual need depends on shards,
// interfaces and the number of peers. 8 GiB have room for 20 000.
inline constexpr std::uint64_t kBytesOfPeer = std::uint64_t{320} * 1024;
// More must be configured: each takes some 70 KiB at the start.
inline constexpr std::size_t kPeersMost = 20480;

// `limits` with defaults in place of 0. `available`: bytes of memory; 0: unknown.
[[nodiscard]] runtime::LnetLimits settled(const runtime::LnetLimits& limits, bool routing,
                                          std::uint64_t available);

// Zeros are replaced as on a node that is no router.
[[nodiscard]] lnet::PeerLimits peer_limits(const runtime::LnetLimits& limits);

// Connections of a shard: a peer has three, and some shards have more peers than others.
[[nodiscard]] std::size_t connections_of_shard(std::size_t peers, std::size_t shards);

}  // namespace plnet::node
