// SPDX-License-Identifier: BSD-3-Clause
// The handle of an MD as other nodes send it back. Only this node interprets it, but a sender may
// have invented it. The object cookie: type (2 bits, 1 is an MD), shard (8), index (22), generation
// (32); only the type is LNet's (lustre-release lnet/include/lnet/lib-lnet.h: lnet_cpt_of_cookie(),
// LNET_COOKIE_TYPE_MD).
#pragma once

#include <cstdint>

#include "lib/base/check.hpp"
#include "lib/base/result.hpp"
#include "lib/lnet/api/memory_descriptor.hpp"
#include "lib/lnet/wire/header.hpp"

namespace plnet::lnet {

inline constexpr unsigned kCookieTypeBits = 2;
inline constexpr unsigned kCookieShardBits = 8;
inline constexpr unsigned kCookieIndexBits = 22;
inline constexpr std::uint64_t kCookieTypeMd = 1;
inline constexpr std::size_t kDescriptorsMax = std::size_t{1} << kCookieIndexBits;  // of a shard
static_assert(kCookieTypeBits + kCookieShardBits + kCookieIndexBits == 32);
static_assert(kShardsMax <= 1U << kCookieShardBits);
static_assert(kCookieTypeMd < 1U << kCookieTypeBits, "the type of a handle fits into its bits");

[[nodiscard]] inline WireHandle encode_handle(const MdHandle& md, std::uint64_t interface_cookie) {
  PLNET_CHECK(!md.is_none() && md.shard < kShardsMax && md.index < kDescriptorsMax,
              "not the handle of a descriptor");
  return {interface_cookie, std::uint64_t{md.generation} << 32 |
                                std::uint64_t{md.index} << (kCookieTypeBits + kCookieShardBits) |
                                std::uint64_t{md.shard} << kCookieTypeBits | kCookieTypeMd};
}

// Any shard may ask for the owner; only the owner knows whether the MD still exists. kStale: of
// another node or an earlier run of this one. kMalformed: no handle that this node could have made.
[[nodiscard]] inline Result<MdHandle> decode_handle(const WireHandle& wire,
                                                    std::uint64_t interface_cookie) {
  Result<MdHandle> md;
  const std::uint64_t cookie = wire.object_cookie;
  md->index = static_cast<std::uint32_t>(cookie >> (kCookieTypeBits + kCookieShardBits) &
                                         (kDescriptorsMax - 1));
  md->generation = static_cast<std::uint32_t>(cookie >> 32);
  md->shard = static_cast<ShardId>(cookie >> kCookieTypeBits & ((1U << kCookieShardBits) - 1));
  if (wire.interface_cookie != interface_cookie) {
    md = std::unexpected(Errc::kStale);
  } else if ((cookie & ((1U << kCookieTypeBits) - 1)) != kCookieTypeMd || md->is_none() ||
             md->shard >= kShardsMax) {
    md = std::unexpected(Errc::kMalformed);
  }
  return md;
}

}  // namespace plnet::lnet
