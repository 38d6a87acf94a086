// SPDX-License-Identifier: BSD-3-Clause
// The shard of a node to which an accepted connection goes. Called by the coordinator's thread.
#pragma once

#include <optional>

#include "lib/lnet/node/node.hpp"
#include "lib/socklnd/peer_homes.hpp"

namespace plnet::socklnd {

// Nothing unless the NID is an interface of the node that all shards know.
[[nodiscard]] std::optional<LocalInterface> interface_of(const lnet::Node& node,
                                                         const lnet::Nid& nid);

// The home of the peer, or a shard that serves the interface in its place. A stranger becomes a
// peer, within the limits of the peer directory. kAgain and kNoSpace: there will be room later.
[[nodiscard]] Result<lnet::ShardId> home_of(lnet::Node& node, const Arrival& arrival);
[[nodiscard]] constexpr Room room_of(Errc why_no_home) {
  return why_no_home == Errc::kAgain || why_no_home == Errc::kNoSpace ? Room::kLater : Room::kNone;
}

}  // namespace plnet::socklnd
