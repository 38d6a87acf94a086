// SPDX-License-Identifier: BSD-3-Clause
// Order between stores to memory and stores to a device's pages.
#pragma once

#include <atomic>

namespace plnet::cassini {

// Earlier stores become visible to the device before later ones; also flushes write-combining
// buffers.
inline void device_store_fence() {
#if defined(__x86_64__)
  __builtin_ia32_sfence();
#elif defined(__aarch64__)
  __asm__ __volatile__("dmb oshst" ::: "memory");
#endif
  std::atomic_thread_fence(std::memory_order_release);
}

}  // namespace plnet::cassini
