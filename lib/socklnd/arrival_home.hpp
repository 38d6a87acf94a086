// SPDX-License-Identifier: BSD-3-Clause
// To which shard of a node a connection goes that somebody else has made. The coordinator's thread.
#pragma once

#include <optional>

#include "lib/lnet/node/node.hpp"
#include "lib/socklnd/peer_homes.hpp"

namespace plnet::socklnd {

// Nothing unless it is an interface of the node, and one that all shards know.
[[nodiscard]] std::optional<LocalInterface> interface_of(const lnet::Node& node,
                                                         const lnet::Nid& nid);

// Where the peer has its home, or what serves the interface in its stead. A stranger becomes a
// peer, within the limits of the peer directory. kAgain and kNoSpace: there will be room for it,
// or its turn comes.
[[nodiscard]] Result<lnet::ShardId> home_of(lnet::Node& node, const Arrival& arrival);
[[nodiscard]] constexpr Room room_of(Errc why_no_home) {
  return why_no_home == Errc::kAgain || why_no_home == Errc::kNoSpace ? Room::kLater : Room::kNone;
}

}  // namespace plnet::socklnd
