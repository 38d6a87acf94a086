// SPDX-License-Identifier: BSD-3-Clause
// What the simulator's LNDs have in common, whatever their wire: messages that wait for a peer and
// how they end, decisions that came for parked ones, links until they may go home, and the order of
// a turn. What is done with a connection, each of them says in its hooks.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "lib/base/intrusive_list.hpp"
#include "lib/base/pool.hpp"
#include "lib/lnet/api/lnd.hpp"

namespace plnet::sim {

// A remote interface and what waits for it. Lives as long as its link is known.
struct PeerQueue : ListNode<> {
  lnet::PeerLink* link = nullptr;
  lnet::Transmit* first = nullptr;
  lnet::Transmit* last = nullptr;
  std::uint32_t incoming = 0;  // connections of theirs that hold the link
  bool releasing = false;
};

// `Peer` is a PeerQueue with the connection of ours, `Table` has the counters kFailed and kExpired.
template <class Peer, class Table>
class SimLnd : public lnet::Lnd {
 public:
  [[nodiscard]] const lnet::LndTraits& traits() const final { return traits_; }
  std::size_t send(std::span<lnet::Transmit* const> burst) final;
  unsigned flush(Instant now) final;
  void cancel(lnet::Transmit& transmit) final;
  void release_peer(lnet::PeerLink& link) final;
  void shut_down() final;
  [[nodiscard]] bool idle() const final;
  [[nodiscard]] Instant next_deadline() const final { return next_look_; }
  [[nodiscard]] CounterView counters() const final { return counters_.view(); }

  [[nodiscard]] std::uint64_t count(typename Table::Id id) const { return counters_.get(id); }

 protected:
  using Id = typename Table::Id;

  // `receives_max`: messages that may be parked at a time.
  SimLnd(const lnet::LndTraits& traits, std::size_t peers_max, std::size_t receives_max,
         lnet::LndUpcalls& core)
      : traits_(traits), core_(core), peers_(peers_max) {
    decided_.reserve(receives_max);
    undated_.reserve(kUndatedUsual);
  }

  // --- Hooks ---
  // Something waits for the peer, or the way to it has changed.
  virtual void serve(Peer& peer) = 0;
  // The first message has left in part: it ends with its connection only.
  [[nodiscard]] virtual bool head_begun(const Peer& /*peer*/) const { return false; }
  virtual void on_late_head(Peer& /*peer*/) {}
  // Some have waited for their turn in vain.
  virtual void on_late_waiting(Peer& /*peer*/) {}
  [[nodiscard]] virtual Health late_health(const Peer& /*peer*/) const {
    return Health::kLocalTimeout;
  }
  // For a message that was decided(), unless it has gone meanwhile.
  virtual void carry_out_decision(std::uint32_t rx_index) = 0;
  virtual void check_connections(Instant now) = 0;
  // All that lead to or from the peer; all there are.
  virtual void close_connections(Peer& peer) = 0;
  virtual void close_all() = 0;
  [[nodiscard]] virtual bool disconnected(const Peer& peer) const = 0;
  [[nodiscard]] virtual bool all_closed() const = 0;

  // --- For them ---
  // Null: there is no room.
  [[nodiscard]] Peer* peer_of(lnet::PeerLink& link);
  // serve() it in this turn or the next.
  void wake(Peer& peer);
  void look_at(Instant when) { next_look_ = std::min(next_look_, when); }
  void decided(std::uint32_t rx_index) { decided_.push_back(rx_index); }
  // The connection has come to know its sender. True: close it, that peer is to go.
  [[nodiscard]] bool keep_link(lnet::PeerLink*& kept, lnet::PeerLink* link);
  void drop_link(lnet::PeerLink*& kept);
  void complete(const lnet::Completion& completion);
  void report();
  void fail_waiting(Peer& peer, Errc cause, Health health);
  void end_quarantine(lnet::Transmit& transmit) {
    --messages_;
    core_.on_quarantine_over(transmit);
  }
  [[nodiscard]] bool shutting_down() const { return shutting_down_; }
  [[nodiscard]] const Pool<Peer>& peers() const { return peers_; }
  [[nodiscard]] Pool<Peer>& peers() { return peers_; }

 private:
  static constexpr std::uintptr_t kCancelled = 1;  // Transmit::lnd_state
  static constexpr std::size_t kCompletionsMax = 32;
  static constexpr std::size_t kUndatedUsual = 256;  // of a turn: more than NIs have credits

  void check_deadlines(Instant now);
  void drop_marked(Peer& peer, Instant now);
  void finish_releases();

  const lnet::LndTraits traits_;

 protected:
  lnet::LndUpcalls& core_;
  Counters<Table> counters_;
  std::size_t receiving_ = 0;  // messages
  Instant now_{};

 private:
  Pool<Peer> peers_;
  IntrusiveList<Peer> dirty_;             // to be served
  IntrusiveList<Peer> quiet_;             // all others
  lnet::Transmit* orphans_ = nullptr;     // there was no room for their peer
  std::vector<std::uint32_t> decided_;    // room for all from the start
  std::vector<lnet::Transmit*> undated_;  // came without a deadline: they get ours
  std::array<lnet::Completion, kCompletionsMax> ended_;
  std::size_t ended_count_ = 0;
  std::size_t messages_ = 0;
  unsigned releases_ = 0;
  Instant next_look_ = Instant::max();
  bool cancel_wanted_ = false;
  bool shutting_down_ = false;
};

// --- Messages out ---

template <class Peer, class Table>
std::size_t SimLnd<Peer, Table>::send(std::span<lnet::Transmit* const> burst) {
  if (shutting_down_) return 0;
  for (lnet::Transmit* const transmit : burst) {
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

template <class Peer, class Table>
void SimLnd<Peer, Table>::complete(const lnet::Completion& completion) {
  if (!completion.status) counters_.add(Id::kFailed);
  ended_[ended_count_++] = completion;
  if (!completion.quarantined) --messages_;
  if (ended_count_ == ended_.size()) report();
}

template <class Peer, class Table>
void SimLnd<Peer, Table>::report() {
  const std::size_t count = ended_count_;
  ended_count_ = 0;
  if (count > 0) core_.on_sent(std::span(ended_).first(count));
}

template <class Peer, class Table>
void SimLnd<Peer, Table>::fail_waiting(Peer& peer, Errc cause, Health health) {
  while (lnet::Transmit* const transmit = peer.first) {
    peer.first = transmit->lnd_next;
    complete({.transmit = transmit, .status = std::unexpected(cause), .health = health});
  }
}

template <class Peer, class Table>
void SimLnd<Peer, Table>::cancel(lnet::Transmit& transmit) {
  transmit.lnd_state |= kCancelled;
  cancel_wanted_ = true;
  next_look_ = Instant::min();
}

// Those that were cancelled or are late.
template <class Peer, class Table>
void SimLnd<Peer, Table>::drop_marked(Peer& peer, Instant now) {
  lnet::Transmit* keep = peer.first != nullptr && head_begun(peer) ? peer.first : nullptr;
  lnet::Transmit* at = keep != nullptr ? keep->lnd_next : peer.first;
  bool some_late = false;
  if (keep == nullptr) {
    peer.first = nullptr;
  } else if (keep->deadline <= now) {
    on_late_head(peer);
  } else {
    look_at(keep->deadline);
  }
  while (at != nullptr) {
    lnet::Transmit& transmit = *at;
    at = transmit.lnd_next;
    if ((transmit.lnd_state & kCancelled) != 0) {
      complete({.transmit = &transmit, .status = std::unexpected(Errc::kCancelled)});
    } else if (transmit.deadline <= now) {
      some_late = true;
      counters_.add(Id::kExpired);
      complete({.transmit = &transmit,
                .status = std::unexpected(Errc::kTimedOut),
                .health = late_health(peer)});
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

template <class Peer, class Table>
void SimLnd<Peer, Table>::check_deadlines(Instant now) {
  cancel_wanted_ = false;
  next_look_ = Instant::max();
  for (std::uint32_t i = 0; i < peers_.capacity(); ++i) {
    if (peers_.is_lent(i)) drop_marked(peers_.at(i), now);
  }
  check_connections(now);
}

// --- A turn ---

template <class Peer, class Table>
unsigned SimLnd<Peer, Table>::flush(Instant now) {
  now_ = now;
  unsigned work = 0;
  for (lnet::Transmit* const transmit : undated_)
    look_at(transmit->deadline = now + traits_.lnd_timeout);
  undated_.clear();
  while (lnet::Transmit* const orphan = orphans_) {
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
    } else if (!head_begun(*peer)) {
      fail_waiting(*peer, Errc::kShutdown, Health::kLocalAborted);
    }
  }
  report();
  if (releases_ > 0) finish_releases();
  return work;
}

// --- Peers and their links ---

template <class Peer, class Table>
Peer* SimLnd<Peer, Table>::peer_of(lnet::PeerLink& link) {
  if (link.lnd_peer != nullptr) return static_cast<Peer*>(link.lnd_peer);
  Peer* const peer = peers_.take();
  if (peer == nullptr) return nullptr;
  *peer = Peer{};
  peer->link = &link;
  link.lnd_peer = peer;
  quiet_.push_back(*peer);
  return peer;
}

template <class Peer, class Table>
void SimLnd<Peer, Table>::wake(Peer& peer) {
  peer.unlink();
  dirty_.push_back(peer);
}

template <class Peer, class Table>
bool SimLnd<Peer, Table>::keep_link(lnet::PeerLink*& kept, lnet::PeerLink* link) {
  if (link == nullptr || kept == link) return false;
  Peer* const peer = peer_of(*link);
  if (peer == nullptr) return false;
  PLNET_CHECK(kept == nullptr, "a connection has one sender");
  kept = link;
  ++peer->incoming;
  return peer->releasing;
}

template <class Peer, class Table>
void SimLnd<Peer, Table>::drop_link(lnet::PeerLink*& kept) {
  if (kept != nullptr) --static_cast<Peer*>(kept->lnd_peer)->incoming;
  kept = nullptr;
}

template <class Peer, class Table>
void SimLnd<Peer, Table>::release_peer(lnet::PeerLink& link) {
  if (link.lnd_peer == nullptr) return core_.on_peer_released(link);
  Peer& peer = *static_cast<Peer*>(link.lnd_peer);
  if (peer.releasing) return;
  peer.releasing = true;
  ++releases_;
  wake(peer);
  close_connections(peer);
}

template <class Peer, class Table>
void SimLnd<Peer, Table>::finish_releases() {
  IntrusiveList<Peer> again;
  again.splice_back(quiet_);
  while (Peer* const peer = again.pop_front()) {
    if (peer->releasing && disconnected(*peer) && peer->first == nullptr && peer->incoming == 0) {
      lnet::PeerLink& link = *peer->link;
      link.lnd_peer = nullptr;
      --releases_;
      peers_.give(peer);
      core_.on_peer_released(link);
    } else {
      quiet_.push_back(*peer);
    }
  }
}

template <class Peer, class Table>
void SimLnd<Peer, Table>::shut_down() {
  if (shutting_down_) return;
  shutting_down_ = true;
  for (std::uint32_t i = 0; i < peers_.capacity(); ++i) {
    if (peers_.is_lent(i)) wake(peers_.at(i));
  }
  close_all();
}

template <class Peer, class Table>
bool SimLnd<Peer, Table>::idle() const {
  if (messages_ > 0 || receiving_ > 0 || releases_ > 0 || ended_count_ > 0) return false;
  return !shutting_down_ || all_closed();
}

}  // namespace plnet::sim
