// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

namespace plnet {

// Two lines, because x86 prefetchers fetch neighbours in pairs: what different shards write must be
// at least this far apart.
inline constexpr std::size_t kCacheLine = 64;
inline constexpr std::size_t kNoSharing = 128;

}  // namespace plnet
