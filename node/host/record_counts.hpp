// SPDX-License-Identifier: BSD-3-Clause
// The numbers of records for messages on a shard: for sending, and for receiving.
#pragma once

#include <cstddef>

#include "lib/lnet/node/node_config.hpp"
#include "lib/runtime/config/settings.hpp"

namespace plnet::node {

struct RecordCounts {
  std::size_t own = 0;  // messages of this node; forwarded ones come on top
  std::size_t messages = 0;
  std::size_t receives = 0;
};

// For each of `shards` shards. A node that starts as a router has one record of each kind for each
// message that its buffers may hold at their largest, unless the limits are configured.
[[nodiscard]] RecordCounts record_counts(const runtime::LnetLimits& limits,
                                         const lnet::NodeConfig& configured, std::size_t shards);

}  // namespace plnet::node
