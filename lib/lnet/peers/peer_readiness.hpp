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

// Whether a message of this kind lets a peer be discovered at all. Discovery itself uses the ping
// portal; responses do not wait.
[[nodiscard]] constexpr bool triggers_discovery(MessageType type, std::uint32_t portal) {
  return (type == MessageType::kPut || type == MessageType::kGet) && portal != kPingPortal;
}

[[nodiscard]] inline bool needs_discovery(const Peer& peer, MessageType type,
                                          std::uint32_t portal) {
  return triggers_discovery(type, portal) && !is_ready(peer.state.get());
}

}  // namespace plnet::lnet
