// SPDX-License-Identifier: BSD-3-Clause
// Whether a message to a peer leaves at once, or waits until the peer has been discovered. Any
// shard asks when it sends; the answer depends only on the state of the peer. Checked against
// lustre-release lnet/lnet/peer.c: lnet_peer_is_uptodate_locked(); lnet/lnet/lib-move.c:
// lnet_msg_discovery(), lnet_initiate_peer_discovery().
#pragma once

#include <cstdint>

#include "lib/lnet/peers/peer.hpp"
#include "lib/lnet/wire/header.hpp"
#include "lib/lnet/wire/ping_buffer.hpp"

namespace plnet::lnet {

// True: a message of this kind starts the discovery of its peer. Discovery itself uses the ping
// portal; responses do not wait.
[[nodiscard]] constexpr bool triggers_discovery(MessageType type, std::uint32_t portal) {
  return (type == MessageType::kPut || type == MessageType::kGet) && portal != kPingPortal;
}

[[nodiscard]] inline bool needs_discovery(const Peer& peer, MessageType type,
                                          std::uint32_t portal) {
  return triggers_discovery(type, portal) && !is_ready(peer.state.get());
}

}  // namespace plnet::lnet
