// SPDX-License-Identifier: BSD-3-Clause
// Prefetches memory for headers that an LND is about to offer, all of a burst side by side: with
// thousands of peers hardly any record is in the cache, and each line names the next.
#pragma once

#include <span>

#include "lib/lnet/move/shard_core.hpp"

namespace plnet::lnet {

// Hot. Stores the peer NIs of the destinations of `next` in core.looked_ahead.
void look_ahead(ShardCore& core, std::span<const HeaderAhead> next);

}  // namespace plnet::lnet
