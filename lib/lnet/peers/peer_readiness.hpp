// SPDX-License-Identifier: BSD-3-Clause
// Whether a message may go to a peer at once, or has to wait until the peer has been discovered.
// Any shard asks, on its way to send; the answer is in the state of the peer alone. Checked against
// lustre-release lnet/lnet/peer.c: lnet_peer_is_uptodate_locked(); lnet/lnet/lib-move.c:
// lnet_msg_discovery(), lnet_initiate_peer_discovery().
#pragma once

#include <cstdint>

#include "lib/lnet/peers/peer.hpp"
#include "lib/lnet/wire/header.hpp"
#include "lib/lnet/wire/ping_buffer.hpp"

namespace plnet::lnet {

// The kernel looks here at the sequence number that the peer has acknowledged, too. Ours shows in
// the state: whoever raises the node's sequence number puts all peers that must hear of it into
// kPeerDiscovering.
[[nodiscard]] constexpr bool is_up_to_date(std::uint32_t state) {
  constexpr std::uint32_t kUnsettled =
      kPeerDiscovering | kPeerForcePing | kPeerForcePush | kPeerRediscover;
  constexpr std::uint32_t kSettled = kPeerDiscovered | kPeerNidsUpToDate;
  return (state & kUnsettled) == 0 && (state & kSettled) == kSettled;
}

// Whether a message of this kind lets a peer be discovered at all. Discovery itself uses the ping
// portal; responses do not wait.
[[nodiscard]] constexpr bool triggers_discovery(MessageType type, std::uint32_t portal) {
  return (type == MessageType::kPut || type == MessageType::kGet) && portal != kPingPortal;
}

// A gateway that is being checked is not discovered on account of a message besides.
[[nodiscard]] inline bool needs_discovery(const Peer& peer, MessageType type,
                                          std::uint32_t portal) {
  const std::uint32_t state = peer.state.get();
  return triggers_discovery(type, portal) && (state & kPeerRouterDiscovery) == 0 &&
         !is_up_to_date(state);
}

}  // namespace plnet::lnet
