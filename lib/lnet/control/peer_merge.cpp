// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/control/peer_merge.hpp"

#include <algorithm>

#include "lib/base/check.hpp"
#include "lib/lnet/control/gateway.hpp"
namespace plnet::lnet {

namespace {

bool lists(std::span<const PingEntry> entries, const Nid& nid) {
  return std::ranges::find(entries, nid, &PingEntry::nid) != entries.end();
}

}  // namespace

std::span<const PingEntry> PeerMerge::read(const PingView& buffer) {
  entries_.clear();
  auto walk = buffer.walk();
  while (const auto entry = walk.next()) {
    if (entry->nid.is_any() || entry->nid.is_loopback() || !entry->nid.is_well_formed()) {
      counters_.add(DiscoveryCounter::kNidsBad);
      continue;
    }
    PLNET_CHECK(entries_.size() < kEntriesMax, "no buffer lists so many");
    entries_.push_back(*entry);
  }
  return entries_;
}

void PeerMerge::update(const Nid& nid, std::uint32_t status) {
  PeerNiRecord* ni = directory_.lookup(nid);
  if (ni == nullptr) return;
  // The gateway's report over another network does not prove that it answers checks.
  const bool is_checked = PeerDirectory::peer_of(*ni).gateway_refs > 0 &&
                          parameters_.alive_router_check_interval_s.get() > 0;
  if (status == kNiUp && is_checked && is_silent(*ni)) return;
  const std::uint32_t old = ni->status.exchange(status);
  if (old != status) {
    if (status != kNiDown) return;
    counters_.add(DiscoveryCounter::kWentDown);
    (void)ni->health.lower(parameters_.health_sensitivity.get());
    observer_.on_peer_ni_down(*ni);
  } else if (status == kNiUp && ni->last_alive_ns.get() == INT64_MIN) {
    ni->health.set(kHealthMax);
  }
}

// NIDs that a peer reports do not take the last places, unless the peer is configured.
PeerResult<void> PeerMerge::add(PeerRecord& peer, const Nid& nid, PeerFlags flags) {
  const bool is_own = peer.gateway_refs > 0 || peer.is(kPeerConfigured);
  if (!is_own && directory_.lookup(nid) == nullptr && !directory_.has_nis_for_others())
    return std::unexpected(PeerError::kNoMemory);
  return rules_.add_nid(peer, nid, flags);
}

// A message has arrived from the node, so it can be asked.
bool PeerMerge::is_heard(PeerRecord& peer) {
  bool heard = false;
  peer.nets.for_each([&](PeerNetRecord& net) {
    heard = heard || net.nis.any_of([](const PeerNiRecord& ni) {
      return ni.connected_by.get() != 0 || ni.last_alive_ns.get() != INT64_MIN;
    });
  });
  return heard;
}

void PeerMerge::ask(const PeerRecord& peer) {
  PLNET_CHECK(!peer.dead, "a living peer is asked");
  if (to_ask_.size() < kNisMax) to_ask_.push_back(peer.primary);
}

// By the rules a configured one stays in its peer.
bool PeerMerge::may_take(const PeerRecord& peer, const Nid& nid) {
  PeerNiRecord* const ni = directory_.lookup(nid);
  PeerRecord* const owner = ni == nullptr ? nullptr : &PeerDirectory::peer_of(*ni);
  if (owner == nullptr || owner == &peer || owner->is(kPeerConfigured) || !is_heard(*owner))
    return true;
  const bool is_first = claims_.claim(owner->number, peer.primary);
  if (directory_.peer_of(claims_.primary_of(owner->number)) == &peer) return true;
  counters_.add(DiscoveryCounter::kNidsForeign);
  directory_.complaints().add(peer.primary, "nids_foreign");
  if (is_first) ask(*owner);
  return false;
}

bool PeerMerge::may_join(PeerRecord& from, PeerRecord& owner) {
  const bool is_first = claims_.set_primary(from.number, owner.primary);
  if (!is_heard(owner) || directory_.peer_of(claims_.claimer_of(from.number)) == &owner)
    return true;
  counters_.add(DiscoveryCounter::kNidsForeign);
  directory_.complaints().add(from.primary, "nids_foreign");
  if (is_first) ask(owner);
  return false;
}

bool PeerMerge::add_all(PeerRecord& peer, std::span<const PingEntry> entries,
                        std::span<const Nid> known, PeerFlags flags) {
  bool later = false;
  PLNET_CHECK(!peer.dead, "data are merged into a living peer");
  for (const PingEntry& entry : entries) {
    if (std::ranges::find(known, entry.nid) != known.end()) continue;
    if (!may_take(peer, entry.nid)) {
      later = true;
      continue;
    }
    const auto added = add(peer, entry.nid, flags);
    if (added) {
      counters_.add(DiscoveryCounter::kNidsAdded);
    } else if (added.error() == PeerError::kNoMemory) {
      // The kernel fails here, and has no such limit. A peer with some usable interfaces is better
      // than one whose discovery never ends.
      counters_.add(DiscoveryCounter::kNidsNoRoom);
    } else if (added.error() == PeerError::kAgain) {
      counters_.add(DiscoveryCounter::kNidsLater);
      later = true;
    } else {
      counters_.add(DiscoveryCounter::kNidsRefused);
    }
    update(entry.nid, entry.status);
  }
  return later;
}

void PeerMerge::remove(PeerRecord& peer, std::span<const PingEntry> entries,
                       std::span<const Nid> known, PeerFlags flags) {
  // The upper layers do not depend on the primary NID of a router, so it may be removed.
  if (peer.gateway_refs > 0) flags |= kPeerRouterNiForceDelete;
  for (const Nid& nid : known) {
    if (nid.is_loopback() || lists(entries, nid)) continue;
    const auto deleted = rules_.delete_nid(peer, nid, flags);
    counters_.add(deleted ? DiscoveryCounter::kNidsDeleted : DiscoveryCounter::kNidsRefused);
    // A configured NID stays, but is down. lustre-release, after 2.17, lnet/lnet/peer.c:
    // lnet_peer_merge_data()
    if (!deleted && deleted.error() == PeerError::kNotPermitted) update(nid, kNiDown);
    if (peer.dead) break;
  }
}

bool PeerMerge::merge(PeerRecord& peer, const PingView& buffer) {
  PLNET_CHECK(!peer.dead, "data are merged into a living peer");
  PeerFlags flags = kPeerDiscovered;
  if (buffer.has(kPingMultiRail)) flags |= kPeerMultiRail;
  if (buffer.routes()) {
    peer.add_state(kPeerRouterEnabled);
  } else {
    peer.drop_state(kPeerRouterEnabled);
  }
  known_.clear();
  peer.nets.for_each([&](PeerNetRecord& net) {
    net.nis.for_each([&](PeerNiRecord& ni) { known_.push_back(ni.nid); });
  });
  PLNET_CHECK(known_.size() == peer.ni_count && known_.size() <= kNisMax, "a peer lists its NIDs");
  const auto entries = read(buffer);
  for (const Nid& nid : known_) {
    const auto entry = std::ranges::find(entries, nid, &PingEntry::nid);
    if (entry != entries.end()) update(nid, entry->status);
  }
  counters_.add(DiscoveryCounter::kMerged);
  bool later = false;
  if (!discovery_is_off(peer, parameters_)) {
    later = add_all(peer, entries, known_, flags);
    remove(peer, entries, known_, flags);
    const auto primary = buffer.primary();
    PeerNiRecord* ni = primary ? directory_.lookup(*primary) : nullptr;
    if (ni != nullptr && &PeerDirectory::peer_of(*ni) == &peer) directory_.bring_to_front(*ni);
  }
  if (peer.gateway_refs > 0) observer_.on_gateway_heard(peer, buffer);
  return later;
}

}  // namespace plnet::lnet
