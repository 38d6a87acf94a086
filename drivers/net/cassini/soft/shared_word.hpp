// SPDX-License-Identifier: BSD-3-Clause
// A word of memory shared by the process and the NIC: an event, a status, a doorbell.
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

}  // namespace plnet::cassini::soft
