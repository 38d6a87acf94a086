// SPDX-License-Identifier: BSD-3-Clause
// The shard of a node to which a request to connect goes. The coordinator's thread.
#pragma once

#include <optional>

#include "lib/lnet/node/node.hpp"

namespace plnet::o2iblnd {

// The home of the peer, or the shard that serves the interface in its stead. A stranger becomes a
// peer, within the limits of the peer directory; nothing if there is no room for it or the
// interface is not of this node.
[[nodiscard]] std::optional<lnet::ShardId> home_of_request(lnet::Node& node,
                                                           const lnet::Nid& interface,
                                                           const lnet::Nid& peer);

}  // namespace plnet::o2iblnd
