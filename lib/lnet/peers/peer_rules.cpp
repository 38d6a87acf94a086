// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/peers/peer_rules.hpp"

#include <algorithm>

#include "lib/base/check.hpp"

namespace plnet::lnet {

namespace {

constexpr PeerFlags kWhatIsConfigured = kPeerConfigured | kPeerLockPrimary | kPeerMultiRail;

std::unexpected<PeerError> refused(PeerError why) {
  return std::unexpected(why);
}

}  // namespace

PeerNetRecord* PeerRules::net_of(PeerRecord& peer, NetId id) {
  PeerNetRecord* found = nullptr;
  peer.nets.for_each([&](PeerNetRecord& net) {
    if (net.net == id) found = &net;
  });
  return found;
}

std::span<const Nid> PeerRules::nids_of(PeerRecord& peer, NidRoom& room) {
  std::size_t count = 0;
  peer.nets.for_each([&](PeerNetRecord& net) {
    net.nis.for_each([&](PeerNiRecord& ni) {
      PLNET_CHECK(count < room.size(), "a peer has no more NIDs than its largest view");
      room[count++] = ni.nid;
    });
  });
  return std::span(room).first(count);
}

void PeerRules::become_multi_rail(PeerRecord& peer) {
  if (peer.is(kPeerMultiRail)) return;
  peer.add_state(kPeerMultiRail);
  peer.nets.for_each([](PeerNetRecord& net) {
    net.nis.for_each([](PeerNiRecord& ni) { ni.preferred_ni.set(nullptr); });
  });
}

// lustre-release lnet/lnet/peer.c: lnet_peer_attach_peer_ni(), its end
void PeerRules::apply(PeerRecord& peer, PeerFlags flags) {
  PLNET_CHECK(!peer.dead, "a peer that goes is not configured");
  peer.add_state(flags & kPeerConfigured);
  if ((flags & kPeerMultiRail) != 0) become_multi_rail(peer);
  if ((flags & kPeerLockPrimary) != 0) {
    peer.add_state(kPeerLockPrimary);
    peer.lock_order = ++locks_;
  }
}

PeerResult<void> PeerRules::configure(const Nid& primary, const Nid& nid, bool multi_rail,
                                      bool lock_primary, Instant now) {
  if (primary.is_any()) return refused(PeerError::kInvalid);
  PeerFlags flags = kPeerConfigured;
  if (multi_rail) flags |= kPeerMultiRail;
  if (lock_primary) flags |= kPeerLockPrimary;
  if (nid.is_any()) return add_peer(primary, flags, now);
  PeerRecord* peer = directory_.peer_of(primary);
  if (peer == nullptr || !peer->is(kPeerConfigured)) return refused(PeerError::kNoSuchPeer);
  if (peer->primary != primary) return refused(PeerError::kNotPrimary);
  if (peer->multi_rail() != multi_rail) return refused(PeerError::kNotPermitted);
  return add_nid(*peer, nid, flags);
}

PeerResult<void> PeerRules::add_peer(const Nid& nid, PeerFlags flags, Instant now) {
  if (PeerRecord* there = directory_.peer_of(nid)) {
    const bool same_primary = there->primary == nid;
    if (there->is(kPeerConfigured)) {
      if (!same_primary) return refused(PeerError::kExists);
      if (((there->state.get() ^ flags) & kPeerMultiRail) != 0)
        return refused(PeerError::kNotPermitted);
      return {};
    }
    if (there->is(kPeerLockPrimary))
      return refused(same_primary ? PeerError::kExists : PeerError::kAlready);
    if ((flags & (kPeerLockPrimary | kPeerConfigured)) == 0 && same_primary)
      return refused(PeerError::kExists);
    // The existing peer becomes the configured one. The kernel makes another peer, and the
    // connections survive that; here they would end. The kernel refuses a gateway, but its exports
    // list gateways like other peers.
    const bool fits = (flags & kPeerMultiRail) != 0 || !there->multi_rail();
    if (same_primary && fits) {
      apply(*there, flags);
      return {};
    }
    if (const auto deleted = delete_peer(*there); !deleted) return deleted;
  }
  const auto made = directory_.create(nid, now);
  if (!made) return refused(made.error());
  apply(**made, flags);
  return {};
}

// Removes the peer whose primary NID `peer` takes; false: it must stay.
bool PeerRules::dissolve_for(PeerRecord& peer, PeerNiRecord& ni) {
  PeerRecord& other = PeerDirectory::peer_of(ni);
  PLNET_CHECK(&other != &peer && other.primary == ni.nid, "a peer that loses its primary NID goes");
  const bool other_locked = other.is(kPeerLockPrimary);
  if (other_locked && other.ni_count > 1) {
    other.add_state(kPeerBadConfig);
    peer.add_state(kPeerBadConfig);
    return false;
  }
  // The peer whose primary NID was locked first keeps it.
  if (other_locked && (!peer.is(kPeerLockPrimary) || other.lock_order < peer.lock_order)) {
    peer.lock_order = other.lock_order;
    peer.add_state(kPeerLockPrimary);
    directory_.rename(peer, ni.nid);
  }
  directory_.transfer_gateway(other, peer);
  directory_.destroy(other);
  return true;
}

PeerResult<void> PeerRules::add_nid(PeerRecord& peer, const Nid& nid, PeerFlags flags) {
  PLNET_CHECK(!peer.dead, "a peer that goes gets no NID");
  if ((flags & kPeerConfigured) == 0 && peer.is(kPeerConfigured))
    return refused(PeerError::kNotPermitted);
  if ((flags & kPeerMultiRail) != 0) {
    become_multi_rail(peer);
  } else if (peer.multi_rail()) {
    return refused(PeerError::kNotPermitted);
  }
  if (PeerNiRecord* there = directory_.lookup(nid)) {
    PeerRecord& other = PeerDirectory::peer_of(*there);
    if (&other == &peer) return {};
    if (other.is(kPeerConfigured)) return refused(PeerError::kExists);
    // A peer is not dissolved for one that has no room for its NID.
    if (!directory_.has_room_in(peer, nid.net())) return refused(PeerError::kNoMemory);
    if (other.primary == nid && !dissolve_for(peer, *there)) return {};
  }
  if (!peer.multi_rail() && net_of(peer, nid.net()) != nullptr)
    return refused(PeerError::kNotUnique);
  const auto added = directory_.attach(peer, nid);
  if (!added) return refused(added.error());
  apply(peer, flags);
  return {};
}

PeerResult<void> PeerRules::set_primary(PeerRecord& peer, const Nid& nid, PeerFlags flags) {
  PeerResult<void> result;
  if (peer.primary != nid) {
    PLNET_CHECK(!peer.dead, "a peer that goes is not renamed");
    const Nid old = peer.primary;
    if (!peer.is(kPeerLockPrimary)) directory_.rename(peer, nid);
    result = add_nid(peer, nid, flags);
    if (!result) directory_.rename(peer, old);
  }
  // A NID fixed by the configuration or the upper layer is no failure.
  if (peer.has(kPeerConfigured | kPeerLockPrimary)) return {};
  return result;
}

PeerResult<void> PeerRules::delete_nid(PeerRecord& peer, const Nid& nid, PeerFlags flags) {
  const bool force = (flags & kPeerRouterNiForceDelete) != 0;
  if ((flags & kPeerConfigured) == 0 && peer.is(kPeerConfigured))
    return refused(PeerError::kNotPermitted);
  if (peer.is(kPeerLockPrimary) && peer.primary == nid) return refused(PeerError::kNotPermitted);
  PeerNiRecord* ni = directory_.lookup(nid);
  if (ni == nullptr) return refused(PeerError::kNoSuchNid);
  if (&PeerDirectory::peer_of(*ni) != &peer) return refused(PeerError::kNotChild);
  const bool last_primary = peer.primary == nid && peer.ni_count != 1;
  if (last_primary && !force) return refused(PeerError::kBusy);
  if (peer.gateway_refs > 0 && !force) return refused(PeerError::kBusy);
  if (last_primary) {
    NidRoom room{};
    const auto nids = nids_of(peer, room);
    directory_.rename(peer, nids[0] == nid ? nids[1] : nids[0]);
  }
  directory_.detach(*ni);
  return {};
}

PeerResult<void> PeerRules::delete_peer(PeerRecord& peer) {
  if (peer.gateway_refs > 0) return refused(PeerError::kBusy);
  directory_.destroy(peer);
  return {};
}

// lustre-release lnet/lnet/peer.c: lnet_reset_peer()
PeerResult<void> PeerRules::reset(PeerRecord& peer) {
  const PeerFlags flags = kPeerConfigured | (peer.state.get() & kPeerMultiRail);
  NidRoom room{};
  for (const Nid& nid : nids_of(peer, room)) {
    if (nid != peer.primary) (void)delete_nid(peer, nid, flags);
  }
  peer.drop_state(kPeerNidsUpToDate);
  return {};
}

PeerResult<void> PeerRules::unconfigure(const Nid& primary, const Nid& nid, bool force) {
  if (primary.is_any()) return refused(PeerError::kInvalid);
  PeerRecord* peer = directory_.peer_of(primary);
  if (peer == nullptr) return refused(PeerError::kNoSuchPeer);
  if (peer->primary != primary) return refused(PeerError::kNotPrimary);
  if (peer->gateway_refs > 0) return refused(PeerError::kBusy);
  if (nid.is_any() || nid == peer->primary)
    return peer->is(kPeerLockPrimary) && !force ? reset(*peer) : delete_peer(*peer);
  return delete_nid(*peer, nid, kPeerConfigured | (peer->state.get() & kPeerMultiRail));
}

PeerResult<void> PeerRules::withdraw(const Nid& primary, const Nid& nid) {
  PLNET_CHECK(!nid.is_any(), "put_back() is for all of it");
  PeerRecord* const peer = directory_.peer_of(primary);
  if (peer == nullptr || peer->gateway_refs == 0) return unconfigure(primary, nid, true);
  return take_back(*peer, nid);
}

PeerResult<void> PeerRules::take_back(PeerRecord& peer, const Nid& nid) {
  const PeerFlags flags = kPeerConfigured | (peer.state.get() & kPeerMultiRail);
  return delete_nid(peer, nid, flags | kPeerRouterNiForceDelete);
}

PeerFound PeerRules::found(const Nid& primary) {
  PeerRecord* const peer = directory_.peer_of(primary);
  if (peer == nullptr || peer->primary != primary) return {};
  NidRoom room{};
  const auto nids = nids_of(*peer, room);
  return {.there = true,
          .flags = peer->state.get() & kWhatIsConfigured,
          .nids = {nids.begin(), nids.end()}};
}

PeerResult<void> PeerRules::put_back(const Nid& primary, const PeerFound& before) {
  PeerRecord* const peer = directory_.peer_of(primary);
  if (peer == nullptr) return refused(PeerError::kNoSuchPeer);
  if (before.there && peer->primary != primary) return refused(PeerError::kNotPrimary);
  if (!before.there && peer->gateway_refs == 0) return unconfigure(primary, Nid::any(), true);
  peer->drop_state((kWhatIsConfigured & ~before.flags) | kPeerNidsUpToDate);
  if (!before.there) return {};
  NidRoom room{};
  for (const Nid& nid : nids_of(*peer, room)) {
    if (std::ranges::find(before.nids, nid) != before.nids.end()) continue;
    if (const auto gone = take_back(*peer, nid); !gone) return gone;
  }
  return {};
}

// Its first interface on another network of ours; nullptr: none.
const PeerNiRecord* PeerRules::reached_without(PeerRecord& peer, NetId id) const {
  const PeerNiRecord* found = nullptr;
  peer.nets.for_each([&](PeerNetRecord& net) {
    if (found == nullptr && net.net != id && directory_.reaches(net.nis.front()->nid))
      found = net.nis.front();
  });
  return found;
}

void PeerRules::keep_reached_primary(PeerRecord& peer) {
  if (directory_.reaches(peer.primary)) return;
  const PeerNiRecord* const other = reached_without(peer, peer.primary.net());
  if (other != nullptr) directory_.rename(peer, other->nid);
}

// The removal of its primary NID ends the configuration of a peer; the removal of a network ends
// that of NIDs there.
bool PeerRules::leave_net(PeerRecord& peer, NetId id) {
  const PeerNiRecord* const other = reached_without(peer, id);
  if (peer.primary.net() == id) {
    PLNET_CHECK(net_of(peer, id) != nullptr, "a peer leaves a network that it has");
    if (other == nullptr) {
      directory_.destroy(peer);
      return false;
    }
    directory_.rename(peer, other->nid);
    peer.drop_state(kPeerConfigured | kPeerLockPrimary);
  }
  if (other != nullptr && !peer.is(kPeerConfigured)) {
    PeerDirectory::net_lost(*net_of(peer, id));
    return true;
  }
  while (PeerNetRecord* net = net_of(peer, id)) {
    directory_.detach(*net->nis.front());
    if (peer.dead) return false;
  }
  return true;
}

}  // namespace plnet::lnet
