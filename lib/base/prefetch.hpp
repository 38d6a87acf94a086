// SPDX-License-Identifier: BSD-3-Clause
// Prefetches a cache line.
#pragma once

namespace plnet {

// The empty statement counts as an effect: without one, gcc takes a function that only prefetches
// for one that does nothing, and removes calls of it.
inline void prefetch(const void* address) {
  __builtin_prefetch(address);
  __asm__ volatile("");
}
inline void prefetch_to_write(const void* address) {
  __builtin_prefetch(address, 1);
  __asm__ volatile("");
}

}  // namespace plnet
