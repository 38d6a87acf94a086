// SPDX-License-Identifier: BSD-3-Clause
// The staging buffers of one shard. One of them takes the bytes that are read beyond a destination.
// If a handler does not use all of them, the buffer becomes the connection's and another one takes
// its place, so nothing is copied. There is one for each connection and one to read into, so a
// connection that pauses never keeps others from being read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "lib/base/check.hpp"

namespace plnet::drivers {

class TcpMemory {
 public:
  static constexpr std::uint32_t kNone = ~0U;

  // Called at start. Memory is touched at its first use; the buffer used last is used first, so
  // only as many are resident as were ever in use at once.
  TcpMemory(std::size_t connections_max, std::size_t staging_bytes);

  [[nodiscard]] std::span<std::byte> staging() const { return bytes(staging_); }
  [[nodiscard]] std::span<std::byte> bytes(std::uint32_t buffer) const {
    PLNET_DEBUG_CHECK(buffer != kNone, "a connection without kept bytes has no buffer");
    return {memory_.get() + std::size_t{buffer} * size_, size_};
  }
  // Hands out the staging buffer with its bytes; a fresh one takes its place.
  [[nodiscard]] std::uint32_t keep_staging();
  void give(std::uint32_t buffer);
  [[nodiscard]] std::size_t kept() const { return kept_; }

 private:
  const std::size_t size_;
  const std::unique_ptr<std::byte[]> memory_;
  std::vector<std::uint32_t> free_;  // a stack of fixed capacity
  std::uint32_t staging_;
  std::size_t kept_ = 0;
};

}  // namespace plnet::drivers
