// SPDX-License-Identifier: BSD-3-Clause
// Prefetches of data that is used soon: hints to the machine, without any effect on a run.
#pragma once

#include <cstddef>

#include "lib/base/cache_line.hpp"

namespace plnet::drivers {

inline void fetch_lines(const void* first, unsigned count) {
  for (unsigned i = 0; i < count; ++i)
    __builtin_prefetch(static_cast<const std::byte*>(first) + i * kCacheLine);
}

}  // namespace plnet::drivers
