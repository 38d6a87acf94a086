// SPDX-License-Identifier: BSD-3-Clause
#include "lib/o2iblnd/peers.hpp"

#include <algorithm>
#include <bit>

#include "lib/base/check.hpp"
#include "lib/base/hash.hpp"

namespace plnet::o2iblnd {

Peers::Peers(Environment& environment)
    : environment_(environment),
      pool_(environment.config.peers_max),
      mask_(std::bit_ceil(environment.config.peers_max) - 1),
      buckets_(std::make_unique<Peer*[]>(mask_ + 1)) {
  PLNET_CHECK(environment.config.peers_max > 0, "room for a peer at least");
  releasing_.reserve(environment.config.peers_max);
}

Peer*& Peers::bucket(std::uint64_t nid64) const {
  return buckets_[KeyHash<std::uint64_t>{}(nid64)&mask_];
}

Peer* Peers::find(std::uint64_t nid64) const {
  Peer* at = bucket(nid64);
  while (at != nullptr && at->nid64 != nid64)
    at = at->next_in_bucket;
  return at;
}

Peer* Peers::find_or_make(const lnet::Nid& nid) {
  const std::uint64_t nid64 = lnet::to_nid64(nid).value;
  if (Peer* const known = find(nid64)) return known;
  Peer* const peer = pool_.take();
  if (peer == nullptr) {
    environment_.count(O2ibCounters::Id::kPeersRefused);
    return nullptr;
  }
  PLNET_CHECK(peer->users == 0 && peer->link == nullptr, "a free peer is idle");
  PLNET_CHECK(!peer->linked() && peer->waiting.empty() && !peer->is_open(),
              "a free peer has no connections");
  peer->nid = nid;
  peer->nid64 = nid64;
  peer->releasing = peer->closed = peer->elsewhere = false;
  peer->lanes_told = 0;
  peer->last_incarnation = 0;
  peer->last_alive = environment_.now;
  forget(*peer);
  peer->next_in_bucket = bucket(nid64);
  bucket(nid64) = peer;
  return peer;
}

Result<Peer*> Peers::of_link(lnet::PeerLink& link) {
  if (auto* const bound = static_cast<Peer*>(link.lnd_peer)) {
    PLNET_DEBUG_CHECK(bound->link == &link, "peer and link name each other");
    return bound;
  }
  if (link.nid.net() != environment_.config.nid.net() || link.nid.is_large())
    return std::unexpected(Errc::kInvalid);
  Peer* const peer = find_or_make(link.nid);
  if (peer == nullptr) return std::unexpected(Errc::kNoMemory);
  bind(*peer, &link);
  return peer;
}

void Peers::bind(Peer& peer, lnet::PeerLink* link) {
  if (peer.link == link) return;
  if (peer.link != nullptr) peer.link->lnd_peer = nullptr;
  if (link != nullptr) {
    if (auto* const other = static_cast<Peer*>(link->lnd_peer)) other->link = nullptr;
    link->lnd_peer = &peer;
  }
  peer.link = link;
  peer.lanes_told = 0;
  announce_soon(peer);
}

void Peers::forget(Peer& peer) {
  peer.version = 0;
  peer.incarnation = 0;
  peer.max_frags = kFragmentsMax;
  peer.queue_depth = 0;
  peer.connecting = peer.accepting = peer.reconnecting = peer.reconnects = peer.races = 0;
  peer.retry_at = Instant::min();
}

void Peers::release_unused(Peer& peer) {
  if (peer.users != 0 || peer.link != nullptr || peer.is_known() || !peer.waiting.empty()) return;
  if (peer.linked()) peer.unlink();
  Peer** at = &bucket(peer.nid64);
  while (*at != &peer) {
    PLNET_CHECK(*at != nullptr, "a peer is in the table until it is removed");
    at = &(*at)->next_in_bucket;
  }
  *at = peer.next_in_bucket;
  pool_.give(&peer);
}

void Peers::start_release(lnet::PeerLink& link) {
  PLNET_CHECK(!is_releasing(link), "a peer is released once");
  releasing_.push_back(&link);
  if (auto* const peer = static_cast<Peer*>(link.lnd_peer)) peer->releasing = true;
}

bool Peers::is_releasing(const lnet::PeerLink& link) const {
  return std::ranges::find(releasing_, &link) != releasing_.end();
}

}  // namespace plnet::o2iblnd
