// SPDX-License-Identifier: BSD-3-Clause
#include "lib/base/map_cache.hpp"

#include <algorithm>
#include <bit>

namespace plnet {

MapCache::~MapCache() {
  for (std::uint32_t slot = 0; slot < entries_.size(); ++slot) {
    if (entries_[slot].region.bytes > 0) device_.leave(slot);
  }
}

void MapCache::set_rules(const MapRules& rules) {
  rules_ = rules;
  rules_.most = std::clamp(rules.most, 2U, kMappingsMax);
  rules_.open_most = std::clamp(rules.open_most, 1U, rules_.most - 1);
  while (oldest_ != kNone && (mapped_ > rules_.most || !rules_.keeps))
    drop(oldest_);
  buckets_.assign(std::bit_ceil(std::size_t{2} * std::max(rules_.most, mapped_)), kNone);
  for (std::uint32_t slot = 0; slot < entries_.size(); ++slot) {
    if (entries_[slot].region.bytes == 0) continue;
    std::uint32_t& bucket = bucket_of(entries_[slot].region);
    entries_[slot].next = bucket;
    bucket = slot;
  }
}

MapRegion MapCache::region_of(const Fragment& fragment) const {
  const Arena& arena = arenas_.arena(fragment.at.arena);
  const std::uint64_t end = fragment.at.offset + fragment.length;
  PLNET_CHECK(end <= arena.size, "fragment reaches past its arena");
  const std::uint64_t block = fragment.at.offset / kBlockBytes * kBlockBytes;
  MapRegion region{.arena = fragment.at.arena};
  std::uint64_t region_end = block + 2 * kBlockBytes;
  region.offset = block;
  if (arena.mapped_on_demand || end > region_end) {
    region.offset = fragment.at.offset / kPageBytes * kPageBytes;
    region_end = (end + kPageBytes - 1) / kPageBytes * kPageBytes;
  }
  region.bytes = std::min(region_end, arena.size) - region.offset;
  return region;
}

std::uint32_t& MapCache::bucket_of(const MapRegion& region) {
  std::uint64_t hash = region.offset / kPageBytes * 31 + region.bytes / kPageBytes + region.arena;
  hash *= 0x9e37'79b9'7f4a'7c15;
  return buckets_[(hash >> 32U) & (buckets_.size() - 1)];
}

std::uint32_t MapCache::find(const MapRegion& region) {
  std::uint32_t slot = bucket_of(region);
  while (slot != kNone && entries_[slot].region != region)
    slot = entries_[slot].next;
  return slot;
}

Result<MapCache::Mapped> MapCache::take(const Fragment& fragment, Use how) {
  const MapRegion region = region_of(fragment);
  const std::uint32_t slot = find(region);
  const bool opens = how == Use::kOpen && (slot == kNone || entries_[slot].opens == 0);
  const bool full = slot == kNone && mapped_ >= rules_.most && oldest_ == kNone;
  if (full || (opens && open_ >= rules_.open_most)) {
    counters_.add(Id::kWaits);
    return std::unexpected(Errc::kNoSpace);
  }
  if (slot != kNone) {
    counters_.add(Id::kHits);
    return use(slot, how);
  }
  const Result<std::uint32_t> made = map(region);
  if (!made) {
    counters_.add(Id::kRefused);
    return std::unexpected(made.error());
  }
  counters_.add(Id::kMisses);
  return use(*made, how);
}

Result<std::uint32_t> MapCache::map(const MapRegion& region) {
  if (mapped_ >= rules_.most) {
    counters_.add(Id::kEvictions);
    drop(oldest_);
  }
  const std::uint32_t slot = free_slot();
  Result<MapKeys> keys = device_.enter(slot, region);
  if (!keys && oldest_ != kNone) {  // may be due to a limit on locked memory
    counters_.add(Id::kEvictions);
    drop(oldest_);
    keys = device_.enter(slot, region);
  }
  Entry& entry = entries_[slot];
  if (!keys) {
    entry.next = free_;
    free_ = slot;
    return std::unexpected(keys.error() == Errc::kNoSpace ? Errc::kNoMemory : keys.error());
  }
  std::uint32_t& bucket = bucket_of(region);
  entry = {.region = region, .keys = *keys, .next = bucket};
  bucket = slot;
  ++mapped_;
  counters_.add(Id::kMapped);
  become_idle(slot);
  return slot;
}

MapCache::Mapped MapCache::use(std::uint32_t slot, Use how) {
  Entry& entry = entries_[slot];
  if (entry.users++ == 0) {
    leave_idle(slot);
    counters_.add(Id::kInUse);
  }
  if (how == Use::kOpen && entry.opens++ == 0) ++open_;
  return {.slot = slot, .keys = entry.keys};
}

void MapCache::give(std::uint32_t slot, Use how) {
  PLNET_CHECK(slot < entries_.size() && entries_[slot].users > 0, "a mapping is released once");
  Entry& entry = entries_[slot];
  if (how == Use::kOpen) {
    PLNET_CHECK(entry.opens > 0, "a mapping is released with the use of its take()");
    if (--entry.opens == 0) --open_;
  }
  if (--entry.users > 0) return;
  counters_.subtract(Id::kInUse);
  become_idle(slot);
  if (!rules_.keeps || mapped_ > rules_.most) drop(slot);
}

std::uint32_t MapCache::free_slot() {
  if (free_ == kNone) {
    entries_.push_back({});
    return static_cast<std::uint32_t>(entries_.size() - 1);
  }
  const std::uint32_t slot = free_;
  free_ = entries_[slot].next;
  return slot;
}

// Removes an unused mapping.
void MapCache::drop(std::uint32_t slot) {
  leave_idle(slot);
  Entry& entry = entries_[slot];
  PLNET_CHECK(entry.users == 0, "a mapping in use stays");
  std::uint32_t* link = &bucket_of(entry.region);
  while (*link != slot)
    link = &entries_[*link].next;
  *link = entry.next;
  device_.leave(slot);
  entry = {.next = free_};
  free_ = slot;
  --mapped_;
  counters_.subtract(Id::kMapped);
}

void MapCache::become_idle(std::uint32_t slot) {
  Entry& entry = entries_[slot];
  entry.older = newest_;
  entry.newer = kNone;
  (newest_ == kNone ? oldest_ : entries_[newest_].newer) = slot;
  newest_ = slot;
}

void MapCache::leave_idle(std::uint32_t slot) {
  const Entry& entry = entries_[slot];
  (entry.older == kNone ? oldest_ : entries_[entry.older].newer) = entry.newer;
  (entry.newer == kNone ? newest_ : entries_[entry.newer].older) = entry.older;
}

}  // namespace plnet
