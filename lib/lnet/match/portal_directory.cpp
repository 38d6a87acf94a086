// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/match/portal_directory.hpp"

#include <bit>

#include "lib/base/check.hpp"

namespace plnet::lnet {

static_assert(kShardsMax <= 64, "a portal's shards are one word");

namespace {

unsigned checked_count(unsigned shards) {
  PLNET_CHECK(shards > 0 && shards <= kShardsMax, "a node has 1 to kShardsMax shards");
  return shards;
}

}  // namespace

PortalDirectory::PortalDirectory(unsigned shards)
    : shards_(checked_count(shards)), rows_(std::make_unique<Row[]>(shards)) {}

Result<void> PortalDirectory::claim(PortalId portal, PortalKind wanted) {
  PLNET_CHECK(wanted != PortalKind::kUnset, "a claim is for one kind");
  Portal& claimed = at(portal);
  if (claimed.kind.get() == PortalKind::kUnset)
    claimed.kind.compare_exchange(PortalKind::kUnset, wanted);
  if (claimed.kind.get() != wanted) return std::unexpected(Errc::kNotPermitted);
  return {};
}

ShardSet PortalDirectory::shards_with_entries(PortalId portal) const {
  ShardSet found;
  std::uint64_t left = at(portal).ever_used.load(std::memory_order_relaxed);
  for (; left != 0; left &= left - 1) {
    const auto shard = static_cast<ShardId>(std::countr_zero(left));
    if (entries(portal, shard) != 0) found.set(shard);
  }
  return found;
}

void PortalDirectory::added(PortalId portal, ShardId shard) {
  Relaxed<std::uint32_t>& count = rows_[checked(shard)].entries[checked_portal(portal)];
  count.set(count.get() + 1);
  const std::uint64_t bit = std::uint64_t{1} << shard;
  std::atomic<std::uint64_t>& used = at(portal).ever_used;
  if ((used.load(std::memory_order_relaxed) & bit) == 0)
    used.fetch_or(bit, std::memory_order_relaxed);
  PLNET_DEBUG_CHECK(shards_with_entries(portal)[shard], "a shard with entries is asked");
}

void PortalDirectory::removed(PortalId portal, ShardId shard) {
  Relaxed<std::uint32_t>& count = rows_[checked(shard)].entries[checked_portal(portal)];
  PLNET_CHECK(count.get() != 0, "more entries removed than added");
  count.set(count.get() - 1);
}

}  // namespace plnet::lnet
