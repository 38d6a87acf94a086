// SPDX-License-Identifier: BSD-3-Clause
// Checks that all objects of a simulated node have returned.
#pragma once

#include <string>

#include "lib/lnet/node/node.hpp"

namespace plnet::sim {

// The first missing object of LNet, by shard; empty: none. For a node whose shards stand still.
[[nodiscard]] std::string what_is_missing(const lnet::Node& node);

}  // namespace plnet::sim
