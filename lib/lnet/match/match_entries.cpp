// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/match/match_entries.hpp"

#include "lib/base/check.hpp"

namespace plnet::lnet {

std::uint32_t MatchEntries::insert(const MeSpec& spec, std::uint32_t md) {
  PLNET_CHECK(spec.portal < kPortalsMax, "an entry is for a portal that exists");
  MatchEntry* entry = pool_.take();
  if (entry == nullptr) return kNone;
  PLNET_CHECK(!entry->linked, "a free entry is in no list");
  entry->match_bits = spec.match_bits;
  entry->ignore_bits = spec.ignore_bits;
  entry->match = spec.match;
  entry->md = md;
  entry->portal = static_cast<std::uint8_t>(spec.portal);
  entry->unlink_with_md = spec.unlink_with_md;
  entry->linked = true;

  const std::uint32_t index = pool_.index_of(entry);
  List& list = list_of(*entry);
  const bool at_front = spec.position == MePosition::kBefore;
  entry->next = at_front ? list.first : kNone;
  entry->previous = at_front ? kNone : list.last;
  (entry->next != kNone ? at(entry->next).previous : list.last) = index;
  (entry->previous != kNone ? at(entry->previous).next : list.first) = index;
  return index;
}

void MatchEntries::unlink(MatchEntry& entry) {
  PLNET_CHECK(entry.linked, "not in a list");
  List& list = list_of(entry);
  (entry.next != kNone ? at(entry.next).previous : list.last) = entry.previous;
  (entry.previous != kNone ? at(entry.previous).next : list.first) = entry.next;
  entry.linked = false;
}

void MatchEntries::give(MatchEntry& entry) {
  PLNET_CHECK(!entry.linked, "given back while it can be matched");
  if (++entry.generation == 0) entry.generation = 1;
  pool_.give(&entry);
}

MatchEntry* MatchEntries::find(const MeHandle& handle) {
  if (!pool_.is_lent(handle.index)) return nullptr;
  MatchEntry& entry = pool_.at(handle.index);
  return entry.generation == handle.generation ? &entry : nullptr;
}

}  // namespace plnet::lnet
