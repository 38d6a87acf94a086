// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

namespace plnet {

// Data that different shards write must be this far apart: two lines, because x86 prefetchers fetch
// lines in pairs.
inline constexpr std::size_t kCacheLine = 64;
inline constexpr std::size_t kNoSharing = 128;

}  // namespace plnet
