// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-sim/net/rdma/peer_queues.hpp"

#include <utility>

namespace plnet::sim {

using namespace lnet;

// --- Messages out ---

std::size_t PeerQueues::send(std::span<Transmit* const> burst) {
  if (shutting_down_) return 0;
  for (Transmit* const transmit : burst) {
    ++messages_;
    transmit->lnd_next = nullptr;
    transmit->lnd_state = 0;
    if (transmit->deadline == Instant::max()) undated_.push_back(transmit);
    Peer* const peer = peer_of(*transmit->next_hop);
    if (peer == nullptr) {
      transmit->lnd_next = orphans_;
      orphans_ = transmit;
      continue;
    }
    const bool waited = peer->first != nullptr;
    (waited ? peer->last->lnd_next : peer->first) = transmit;
    peer->last = transmit;
    look_at(transmit->deadline);
    if (!waited) wake(*peer);
  }
  return burst.size();
}

void PeerQueues::complete(const Completion& completion) {
  if (!completion.status) counters_.add(Id::kFailed);
  ended_[ended_count_++] = completion;
  if (!completion.quarantined) --messages_;
  if (ended_count_ == ended_.size()) report();
}

void PeerQueues::report() {
  const std::size_t count = ended_count_;
  ended_count_ = 0;
  if (count > 0) core_.on_sent(std::span(ended_).first(count));
}

void PeerQueues::fail_waiting(Peer& peer, Errc cause, Health health) {
  while (Transmit* const transmit = peer.first) {
    peer.first = transmit->lnd_next;
    complete({.transmit = transmit, .status = std::unexpected(cause), .health = health});
  }
}

void PeerQueues::cancel(Transmit& transmit) {
  transmit.lnd_state |= kCancelled;
  cancel_wanted_ = true;
  next_look_ = Instant::min();
}

// Those that were cancelled or are late.
void PeerQueues::drop_marked(Peer& peer, Instant now) {
  Transmit* keep = nullptr;
  Transmit* at = std::exchange(peer.first, nullptr);
  bool some_late = false;
  while (at != nullptr) {
    Transmit& transmit = *at;
    at = transmit.lnd_next;
    if ((transmit.lnd_state & kCancelled) != 0) {
      complete({.transmit = &transmit, .status = std::unexpected(Errc::kCancelled)});
    } else if (transmit.deadline <= now) {
      some_late = true;
      counters_.add(Id::kExpired);
      complete({.transmit = &transmit,
                .status = std::unexpected(Errc::kTimedOut),
                .health = Health::kLocalTimeout});
    } else {
      (keep == nullptr ? peer.first : keep->lnd_next) = &transmit;
      keep = &transmit;
      look_at(transmit.deadline);
    }
  }
  if (keep != nullptr) keep->lnd_next = nullptr;
  peer.last = keep;
  if (some_late) on_late_waiting(peer);
}

void PeerQueues::check_deadlines(Instant now) {
  cancel_wanted_ = false;
  next_look_ = Instant::max();
  for (std::uint32_t i = 0; i < peers_.capacity(); ++i) {
    if (peers_.is_lent(i)) drop_marked(peers_.at(i), now);
  }
  check_connections(now);
}

// --- A turn ---

unsigned PeerQueues::flush(Instant now) {
  now_ = now;
  unsigned work = 0;
  for (Transmit* const transmit : undated_)
    look_at(transmit->deadline = now + traits_.lnd_timeout);
  undated_.clear();
  while (Transmit* const orphan = orphans_) {
    orphans_ = orphan->lnd_next;
    complete({.transmit = orphan,
              .status = std::unexpected(Errc::kNoMemory),
              .health = Health::kLocalDropped});
    ++work;
  }
  for (std::size_t i = 0; i < decided_.size(); ++i, ++work)
    carry_out_decision(decided_[i]);
  decided_.clear();
  if (now >= next_look_ || cancel_wanted_) check_deadlines(now);
  while (Peer* const peer = dirty_.pop_front()) {
    ++work;
    quiet_.push_back(*peer);
    if (!peer->releasing && !shutting_down_) {
      serve(*peer);
    } else {
      fail_waiting(*peer, Errc::kShutdown, Health::kLocalAborted);
    }
  }
  report();
  if (releases_ > 0) finish_releases();
  return work;
}

// --- Peers and their links ---

PeerQueues::Peer* PeerQueues::peer_of(PeerLink& link) {
  if (link.lnd_peer != nullptr) return static_cast<Peer*>(link.lnd_peer);
  Peer* const peer = peers_.take();
  if (peer == nullptr) return nullptr;
  *peer = Peer{};
  peer->link = &link;
  link.lnd_peer = peer;
  quiet_.push_back(*peer);
  return peer;
}

void PeerQueues::wake(Peer& peer) {
  peer.unlink();
  dirty_.push_back(peer);
}

bool PeerQueues::keep_link(PeerLink*& kept, PeerLink* link) {
  if (link == nullptr || kept == link) return false;
  Peer* const peer = peer_of(*link);
  if (peer == nullptr) return false;
  PLNET_CHECK(kept == nullptr, "a connection has one sender");
  kept = link;
  ++peer->incoming;
  return peer->releasing;
}

void PeerQueues::drop_link(PeerLink*& kept) {
  if (kept != nullptr) --static_cast<Peer*>(kept->lnd_peer)->incoming;
  kept = nullptr;
}

void PeerQueues::release_peer(PeerLink& link) {
  if (link.lnd_peer == nullptr) return core_.on_peer_released(link);
  Peer& peer = *static_cast<Peer*>(link.lnd_peer);
  if (peer.releasing) return;
  peer.releasing = true;
  ++releases_;
  wake(peer);
  close_connections(peer);
}

void PeerQueues::finish_releases() {
  IntrusiveList<Peer> again;
  again.splice_back(quiet_);
  while (Peer* const peer = again.pop_front()) {
    if (peer->releasing && disconnected(*peer) && peer->first == nullptr && peer->incoming == 0) {
      PeerLink& link = *peer->link;
      link.lnd_peer = nullptr;
      --releases_;
      peers_.give(peer);
      core_.on_peer_released(link);
    } else {
      quiet_.push_back(*peer);
    }
  }
}

void PeerQueues::shut_down() {
  if (shutting_down_) return;
  shutting_down_ = true;
  for (std::uint32_t i = 0; i < peers_.capacity(); ++i) {
    if (peers_.is_lent(i)) wake(peers_.at(i));
  }
  close_all();
}

bool PeerQueues::idle() const {
  if (messages_ > 0 || receiving_ > 0 || releases_ > 0 || ended_count_ > 0) return false;
  return !shutting_down_ || all_closed();
}

}  // namespace plnet::sim
