// SPDX-License-Identifier: BSD-3-Clause
// Fetching what will be looked at soon: hints to the machine, nothing that a run could depend on.
#pragma once

#include <cstddef>

#include "lib/base/cache_line.hpp"

namespace plnet::drivers {

inline void fetch_lines(const void* first, unsigned count) {
  for (unsigned i = 0; i < count; ++i)
    __builtin_prefetch(static_cast<const std::byte*>(first) + i * kCacheLine);
}

}  // namespace plnet::drivers
