// SPDX-License-Identifier: BSD-3-Clause
// How many records for messages a shard has: what is being sent, and what is being received.
#pragma once

#include <cstddef>

#include "lib/lnet/node/node_config.hpp"
#include "lib/runtime/config/settings.hpp"

namespace plnet::node {

struct RecordCounts {
  std::size_t own = 0;  // messages of the node's own; what it forwards comes on top
  std::size_t messages = 0;
  std::size_t receives = 0;
};

// Of each of so many shards. Who starts as a router has one of either kind for each message that
// its buffers can come to hold, unless somebody has set their number.
[[nodiscard]] RecordCounts record_counts(const runtime::LnetLimits& limits,
                                         const lnet::NodeConfig& configured, std::size_t shards);

}  // namespace plnet::node
