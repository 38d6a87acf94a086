// SPDX-License-Identifier: BSD-3-Clause
#include "lib/kfilnd/peer_cache.hpp"

#include <algorithm>
#include <bit>

#include "lib/base/check.hpp"
#include "lib/base/hash.hpp"
#include "lib/lnet/names/nid64.hpp"

namespace plnet::kfilnd {

namespace {

// The half of a session key that is a part of tags.
std::uint16_t low_half(std::uint32_t key) {
  return static_cast<std::uint16_t>(key);
}

}  // namespace

PeerCache::PeerCache(std::size_t peers_max, std::uint32_t first_session_key, EndpointDriver& driver)
    : driver_(driver),
      peers_(peers_max),
      mask_(std::bit_ceil(2 * peers_max) - 1),
      buckets_(std::make_unique<Peer*[]>(mask_ + 1)),
      next_key_(first_session_key) {
  PLNET_CHECK(peers_max <= kPeersMax, "each peer has a key of its own in its tags");
  PLNET_CHECK(peers_max > 0, "room for a peer at least");
}

Peer*& PeerCache::bucket(std::uint64_t nid64) const {
  return buckets_[KeyHash<std::uint64_t>{}(nid64)&mask_];
}

Peer* PeerCache::find(std::uint64_t nid64) const {
  for (Peer* at = bucket(nid64); at != nullptr; at = at->next_in_bucket) {
    if (at->nid64 == nid64) return at;
  }
  return nullptr;
}

bool PeerCache::is_retired(std::uint16_t key, Instant now) const {
  return std::ranges::any_of(retired_,
                             [&](const Retired& one) { return one.key == key && one.until > now; });
}

std::uint32_t PeerCache::next_session_key(Instant now) {
  // The loop ends: there are more keys than can be retired or in use.
  while (keys_in_use_[low_half(next_key_)] || is_retired(low_half(next_key_), now))
    ++next_key_;
  return next_key_++;
}

// Removes a peer that the core does not know, that has no transaction, and that has not answered a
// HELLO yet or was silent for long: the oldest one of a few. The next call looks at the next few.
bool PeerCache::make_room(Instant now, Duration timeout) {
  Peer* oldest = nullptr;
  const std::size_t looks = std::min(kLookedAtMax, peers_.capacity());
  for (std::size_t i = 0; i < looks; ++i) {
    const std::uint32_t slot = hand_;
    hand_ = hand_ + 1 == slots() ? 0 : hand_ + 1;
    if (!peers_.is_lent(slot)) continue;
    Peer& peer = peers_.at(slot);
    if (peer.users > 0 || peer.removed || peer.link != nullptr) continue;
    const bool silent = peer.last_alive + kPurgeTimeouts * timeout < now;
    if (!silent && peer.is_usable() && !peer.guest) continue;
    if (oldest == nullptr || peer.last_alive < oldest->last_alive) oldest = &peer;
  }
  if (oldest == nullptr) return false;
  remove(*oldest);
  return true;
}

Result<Peer*> PeerCache::create(const lnet::Nid& nid, Instant now, Duration timeout) {
  if (peers_.free_count() == 0 && !make_room(now, timeout)) return std::unexpected(Errc::kNoMemory);
  const auto address = driver_.resolve(nic_address_of(nid), service_of(nid));
  if (!address) return std::unexpected(address.error());
  Peer* const peer = peers_.take();
  PLNET_CHECK(peer != nullptr && !peer->ListNode<ForStamp>::linked() &&
                  !peer->waits_for_hello_turn() && peer->throttled.empty(),
              "a free peer is idle");
  const std::uint64_t nid64 = lnet::to_nid64(nid).value;
  PLNET_CHECK(find(nid64) == nullptr, "one peer for each NID");
  PLNET_CHECK(peer->users == 0 && peer->parked == 0, "a free peer has no transactions");
  peer->nid = nid;
  peer->nid64 = nid64;
  peer->address = *address;
  peer->link = nullptr;
  peer->state = PeerState::kNew;
  peer->hello_state = HelloState::kNone;
  peer->hello = nullptr;
  peer->hello_failed = peer->removed = peer->guest = false;
  peer->rx_base = 0;
  peer->version = 0;
  peer->local_session_key = next_session_key(now);
  keys_in_use_.set(low_half(peer->local_session_key));
  peer->remote_session_key = 0;
  peer->users = 0;
  peer->last_alive = now;
  peer->hello_at = now;
  Peer*& first = bucket(nid64);
  peer->next_in_bucket = first;
  first = peer;
  return peer;
}

void PeerCache::remove(Peer& peer) {
  PLNET_CHECK(!peer.removed, "a peer is removed once");
  peer.removed = true;
  peer.leave_hello_queue();
  Peer** at = &bucket(peer.nid64);
  while (*at != &peer) {
    PLNET_CHECK(*at != nullptr, "a peer is in the table until it is removed");
    at = &(*at)->next_in_bucket;
  }
  *at = peer.next_in_bucket;
  peer.next_in_bucket = nullptr;
  if (peer.users == 0) dispose(peer);
}

void PeerCache::release(Peer& peer) {
  PLNET_CHECK(peer.users > 0, "a user of a peer leaves once");
  --peer.users;
  if (peer.removed && peer.users == 0) dispose(peer);
}

void PeerCache::dispose(Peer& peer) {
  PLNET_CHECK(peer.removed && peer.users == 0, "the last user of a removed peer has left");
  PLNET_CHECK(!peer.waits_for_hello_turn(), "a removed peer waits for no HELLO");
  PLNET_CHECK(peer.link == nullptr, "a peer is unbound before it is removed");
  PLNET_CHECK(peer.throttled.empty() && peer.parked == 0,
              "a transaction that waits for a peer uses it");
  if (peer.ListNode<ForStamp>::linked()) peer.ListNode<ForStamp>::unlink();
  driver_.forget(peer.address);
  keys_in_use_.reset(low_half(peer.local_session_key));
  peers_.give(&peer);
}

void PeerCache::retire_key(const Peer& peer, Instant until) {
  PLNET_CHECK(keys_in_use_[low_half(peer.local_session_key)],
              "the key of a peer in the table is in use");
  retired_[next_retired_] = {low_half(peer.local_session_key), until};
  next_retired_ = (next_retired_ + 1) % kRetiredMax;
}

}  // namespace plnet::kfilnd
