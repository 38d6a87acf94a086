// SPDX-License-Identifier: BSD-3-Clause
// Asks for a cache line before it is needed.
#pragma once

namespace plnet {

// The empty statement is an effect: a function that does nothing but prefetch gcc takes for one
// that does nothing at all, and leaves its calls out.
inline void prefetch(const void* address) {
  __builtin_prefetch(address);
  __asm__ volatile("");
}
inline void prefetch_to_write(const void* address) {
  __builtin_prefetch(address, 1);
  __asm__ volatile("");
}

}  // namespace plnet
