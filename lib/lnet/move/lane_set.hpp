// SPDX-License-Identifier: BSD-3-Clause
// The lanes of a peer NI through one NI: the shards with bulk connections to it, and the bytes
// under way by each. The shard of lane 0 chooses among them for large messages.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>

#include "lib/base/check.hpp"
#include "lib/lnet/api/lnd.hpp"
#include "lib/lnet/peers/net_interface.hpp"

namespace plnet::lnet {

class LaneSet {
 public:
  void set(ShardId shard, bool up) {
    PLNET_CHECK(shard < kShardsMax, "a lane has a shard");
    const std::uint64_t bit = std::uint64_t{1} << shard;
    up_ = up ? up_ | bit : up_ & ~bit;
  }

  [[nodiscard]] bool any_but(ShardId shard) const {
    return (up_ & ~(std::uint64_t{1} << shard)) != 0;
  }

  // Returns the lane with the fewest bytes under way, in turn among equals; none: no lane is up.
  // The kernel chooses among connections in this way (lustre-release socklnd_cb.c:
  // ksocknal_find_conn_locked()).
  [[nodiscard]] std::optional<ShardId> choose() {
    if (up_ == 0) return std::nullopt;
    const auto shift = static_cast<int>(last_) + 1;  // lanes after the last choice come first
    ShardId best = kShardsMax;
    for (std::uint64_t rest = std::rotr(up_, shift); rest != 0; rest &= rest - 1) {
      const auto shard = static_cast<ShardId>((std::countr_zero(rest) + shift) % 64);
      if (best == kShardsMax || bytes_[shard] < bytes_[best]) best = shard;
    }
    PLNET_CHECK(best < kShardsMax && (up_ >> best & 1U) != 0, "a lane that is up is chosen");
    last_ = best;
    return best;
  }

  // No lane is up and no bytes are under way.
  [[nodiscard]] bool idle() const {
    return up_ == 0 && std::ranges::all_of(bytes_, [](std::uint64_t bytes) { return bytes == 0; });
  }

  void book(ShardId shard, std::uint32_t bytes) {
    PLNET_DEBUG_CHECK(shard < kShardsMax && (up_ >> shard & 1U) != 0,
                      "bytes are booked on a lane that is up");
    bytes_[shard] += bytes;
  }
  void unbook(ShardId shard, std::uint32_t bytes) {
    PLNET_CHECK(shard < kShardsMax && bytes_[shard] >= bytes,
                "what comes back from a lane was booked on it");
    bytes_[shard] -= bytes;
  }
  [[nodiscard]] std::uint64_t bytes(ShardId shard) const { return bytes_[shard]; }

 private:
  static_assert(kShardsMax == 64, "a word has a bit for each shard");

  std::uint64_t up_ = 0;
  ShardId last_ = kShardsMax - 1;
  // Bytes of messages that have not ended; the pools of all shards bound their number.
  std::array<std::uint64_t, kShardsMax> bytes_{};
};

}  // namespace plnet::lnet
