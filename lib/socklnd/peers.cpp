// SPDX-License-Identifier: BSD-3-Clause
#include "lib/socklnd/peers.hpp"

#include <memory>

#include "lib/base/check.hpp"

namespace plnet::socklnd {

using lnet::kLustrePid;
using lnet::PeerLink;
using Id = SockLndCounters::Id;

Peers::Peers(Environment& environment)
    : environment_(environment),
      pool_(environment.config.peers_max),
      by_id_(environment.config.peers_max),
      timers_(environment.config.start, kTick) {}

Peer* Peers::make(const lnet::ProcessId& id) {
  PLNET_CHECK(find(id) == nullptr, "a process has one peer record");
  Peer* const peer = pool_.take();
  if (peer == nullptr) return nullptr;
  PLNET_CHECK(!peer->linked() && !peer->timer.running(), "a free peer is in no list");
  std::destroy_at(peer);  // no state of the previous peer may remain
  std::construct_at(peer);
  peer->owner = this;
  peer->id = id;
  const Peer* const bound = find({id.nid, kLustrePid});
  peer->releasing = bound != nullptr && bound->releasing;
  by_id_.insert(*peer);
  environment_.count(Id::kPeers);
  quiet_.push_back(*peer);
  return peer;
}

Peer* Peers::find_or_make(const lnet::ProcessId& id) {
  Peer* const known = find(id);
  return known != nullptr ? known : make(id);
}

Peer* Peers::of_link(PeerLink& link) {
  if (link.lnd_peer != nullptr) {
    auto* const bound = static_cast<Peer*>(link.lnd_peer);
    PLNET_DEBUG_CHECK(bound->bound && bound->link == &link, "a link and its peer name each other");
    return bound;
  }
  Peer* const peer = find_or_make({link.nid, kLustrePid});
  if (peer == nullptr) return nullptr;
  PLNET_CHECK(!peer->bound, "a peer is bound to one link");
  peer->link = &link;
  peer->bound = true;
  peer->lanes_changed = environment_.config.lanes != nullptr;
  link.lnd_peer = peer;
  return peer;
}

Peer* Peers::of_message(const lnet::Transmit& transmit) {
  PLNET_CHECK(transmit.next_hop != nullptr, "a message has a next hop");
  const lnet::MessageHeader& header = transmit.header;
  if ((header.destination_pid & lnet::kPidUserFlag) != 0 &&
      header.destination == transmit.next_hop->nid) {
    return find({header.destination, header.destination_pid});
  }
  return of_link(*transmit.next_hop);
}

void Peers::keep_link(Peer& peer, PeerLink* link) {
  if (link == nullptr || peer.link == link) return;
  PLNET_CHECK(link->nid == peer.id.nid && peer.link == nullptr, "a NID has one link");
  const Peer* const bound = of_link(*link);
  if (bound == nullptr) return;
  peer.link = link;
  if (bound->releasing) {
    peer.releasing = true;
    serve_soon(peer);
  }
}

void Peers::remove(Peer& peer) {
  PLNET_CHECK(peer.connections.empty() && peer.waiting.empty(), "a removed peer has nothing left");
  PLNET_CHECK(peer.attempt == nullptr && peer.open_count() == 0,
              "a removed peer has no attempt under way");
  PLNET_CHECK(peer.link == nullptr || peer.link->lnd_peer != &peer, "no link names a removed peer");
  timers_.cancel(peer.timer);
  peer.unlink();
  by_id_.erase(peer);
  const lnet::Nid nid = peer.id.nid;
  pool_.give(&peer);
  environment_.counters.subtract(Id::kPeers);
  // The peer that is bound to the link of the NID is released after all other processes of it.
  Peer* const bound = find({nid, kLustrePid});
  if (bound != nullptr && bound->releasing) serve_soon(*bound);
}

bool Peers::accept_identity(Peer& peer, const Hello& hello) {
  if (peer.incarnation_known && !peer.matches(hello)) {
    peer.forget_identity();
    peer.closing = peer.open_count() > 0;
    peer.close_cause = Errc::kStale;
    serve_soon(peer);
    return false;
  }
  peer.protocol = hello.protocol;
  peer.incarnation = hello.source_incarnation;
  peer.incarnation_known = true;
  return true;
}

void Peers::serve_all_soon() {
  for (std::uint32_t i = 0; i < slots(); ++i) {
    if (Peer* const peer = at(i)) serve_soon(*peer);
  }
}

void Peers::serve_at(Peer& peer, Instant when) {
  if (when == Instant::max()) {
    timers_.cancel(peer.timer);
  } else if (!peer.timer.running() || when < peer.timer.deadline()) {
    timers_.start(peer.timer, when);
  }
}

}  // namespace plnet::socklnd
