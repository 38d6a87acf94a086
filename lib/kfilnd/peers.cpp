// SPDX-License-Identifier: BSD-3-Clause
#include "lib/kfilnd/peers.hpp"

#include "lib/base/check.hpp"
#include "lib/lnet/names/nid64.hpp"

namespace plnet::kfilnd {

using Id = KfiLndCounters::Id;

Result<Peer*> Peers::find_or_make(const lnet::Nid& nid, std::uint64_t nid64) {
  if (Peer* const known = find(nid64)) {
    if (known->guest) make_resident(*known);
    return known;
  }
  auto made = cache_.create(nid, environment_.now, environment_.timeout);
  environment_.count(made ? Id::kPeersMade : Id::kPeersRefused);
  return made;
}

Result<Peer*> Peers::of_link(lnet::PeerLink& link) {
  if (auto* const bound = static_cast<Peer*>(link.lnd_peer); bound != nullptr) {
    PLNET_DEBUG_CHECK(bound->link == &link, "peer and link name each other");
    if (bound->guest) make_resident(*bound);
    return bound;
  }
  if (link.nid.net() != environment_.config.nid.net() || link.nid.is_large())
    return std::unexpected(Errc::kInvalid);
  const auto peer = find_or_make(link.nid, lnet::to_nid64(link.nid).value);
  if (peer) bind(**peer, &link);
  return peer;
}

void Peers::bind(Peer& peer, lnet::PeerLink* link) {
  if (peer.link == link) return;
  if (peer.link != nullptr) peer.link->lnd_peer = nullptr;
  if (link != nullptr) {
    PLNET_CHECK(!peer.removed, "a removed peer has no link");
    if (auto* const other = static_cast<Peer*>(link->lnd_peer)) other->link = nullptr;
    link->lnd_peer = &peer;
  }
  peer.link = link;
}

void Peers::on_heard(Peer& peer) {
  peer.last_alive = environment_.now;
  peer.hello_failed = false;
  if (!peer.ListNode<ForStamp>::linked()) heard_.push_back(peer);
}

void Peers::stamp_heard() {
  while (Peer* const peer = heard_.pop_front())
    peer->last_alive = environment_.now;
}

void Peers::wake_all() {
  cache_.for_each([this](Peer& peer) { wake(peer); });
}

void Peers::end_hello(Peer& peer) {
  peer.leave_hello_queue();
  peer.hello_state = HelloState::kNone;
  wake(peer);
}

void Peers::make_guest(Peer& peer) {
  PLNET_CHECK(!peer.removed, "a removed peer has no home");
  peer.guest = true;
  peer.state = PeerState::kUpToDate;
  peer.hello_at = environment_.now - 2 * environment_.timeout;
  end_hello(peer);
}

void Peers::make_resident(Peer& peer) {
  PLNET_CHECK(peer.guest, "only a guest changes its home");
  peer.guest = false;
  peer.state = PeerState::kNew;
  peer.hello_state = HelloState::kNone;
  peer.rx_base = 0;
  peer.version = 0;
  peer.remote_session_key = 0;
}

void Peers::on_failure(Transaction& one, Errc cause, bool tag_exposed) {
  PLNET_CHECK(one.peer != nullptr, "the transaction has a peer");
  Peer& peer = *one.peer;
  PLNET_CHECK(peer.link == nullptr || peer.link->lnd_peer == &peer,
              "peer and link name each other");
  if (peer.removed) return;
  if (tag_exposed)
    cache_.retire_key(peer, environment_.now + kRetiredTimeouts * environment_.timeout);
  if (peer.guest) {  // its home decides about it
    bind(peer, nullptr);
    return cache_.remove(peer);
  }
  if (one.abandoned) {
    if (tag_exposed) remove(peer, true);
    return;
  }
  const lnet::Nid nid = peer.nid;
  const PeerFate fate =
      transaction_failed(peer, cause, tag_exposed, environment_.now, environment_.timeout);
  const bool unreachable = !peer.is_usable() || peer.hello_failed;
  if (fate == PeerFate::kLost) {
    wake(peer);
    environment_.core.on_peer(nid, lnet::PeerNotice::kLost, environment_.now);
  } else if (fate == PeerFate::kDelete) {
    remove(peer, false);
  }
  if (unreachable) environment_.core.on_unreachable(nid, cause);
}

// A peer that we have broken off gets another record all the same: it may know a tag of this one.
void Peers::remove(Peer& peer, bool broken_off) {
  bind(peer, nullptr);
  wake(peer);
  if (broken_off) return cache_.remove(peer);
  environment_.count(Id::kPeersDeleted);
  const lnet::Nid nid = peer.nid;
  const Instant last_alive = peer.last_alive;
  cache_.remove(peer);
  environment_.core.on_peer(nid, lnet::PeerNotice::kDown, last_alive);
}

}  // namespace plnet::kfilnd
