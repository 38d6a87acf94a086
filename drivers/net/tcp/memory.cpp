// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/tcp/memory.hpp"

#include "lib/base/check.hpp"

namespace plnet::drivers {

TcpMemory::TcpMemory(std::size_t connections_max, std::size_t staging_bytes)
    : size_(staging_bytes),
      memory_(std::make_unique_for_overwrite<std::byte[]>((connections_max + 1) * staging_bytes)),
      staging_(0) {
  PLNET_CHECK(staging_bytes > 0, "there must be room to read a header");
  free_.reserve(connections_max);
  for (std::size_t i = connections_max; i > 0; --i)
    free_.push_back(static_cast<std::uint32_t>(i));
}

std::uint32_t TcpMemory::keep_staging() {
  PLNET_CHECK(!free_.empty(), "a connection keeps one buffer at most");
  const std::uint32_t kept = staging_;
  staging_ = free_.back();
  free_.pop_back();
  ++kept_;
  return kept;
}

void TcpMemory::give(std::uint32_t buffer) {
  PLNET_CHECK(kept_ > 0, "no more buffers come back than were kept");
  PLNET_CHECK(buffer != staging_ && buffer <= free_.capacity(), "a kept buffer comes back");
  --kept_;
  free_.push_back(buffer);
}

}  // namespace plnet::drivers
