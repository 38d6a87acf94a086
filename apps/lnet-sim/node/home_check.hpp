// SPDX-License-Identifier: BSD-3-Clause
// Whether all that a simulated node had is home again.
#pragma once

#include <string>

#include "lib/lnet/node/node.hpp"

namespace plnet::sim {

// The first thing of LNet's that is not, by shard; empty: all is. Of a node whose shards stand
// still.
[[nodiscard]] std::string what_is_missing(const lnet::Node& node);

}  // namespace plnet::sim
