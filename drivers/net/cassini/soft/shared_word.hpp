// SPDX-License-Identifier: BSD-3-Clause
// Memory that others write meanwhile: a word shared by the process and the NIC (an event, a status,
// a doorbell), a packet in a ring shared with another process.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace plnet::cassini::soft {

inline std::uint64_t acquire_word(std::byte* at) {
  return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(at)).load(std::memory_order_acquire);
}
inline void release_word(std::byte* at, std::uint64_t value) {
  std::atomic_ref(*reinterpret_cast<std::uint64_t*>(at)).store(value, std::memory_order_release);
}

// After a copy of such memory: the compiler does not read it a second time.
inline void end_of_copy() {
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

}  // namespace plnet::cassini::soft
