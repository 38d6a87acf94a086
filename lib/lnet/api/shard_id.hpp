// SPDX-License-Identifier: BSD-3-Clause
// Shards by number.
#pragma once

#include <bitset>
#include <cstdint>

namespace plnet::lnet {

inline constexpr unsigned kShardsMax = 64;
using ShardId = std::uint16_t;
using ShardSet = std::bitset<kShardsMax>;

}  // namespace plnet::lnet
