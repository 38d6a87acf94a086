// SPDX-License-Identifier: BSD-3-Clause
// The peers of one LND: a bounded number, found by process id or through their link, and the list
// of those that the next flush serves.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lib/base/intrusive_list.hpp"
#include "lib/base/pool.hpp"
#include "lib/base/timer_wheel.hpp"
#include "lib/socklnd/environment.hpp"
#include "lib/socklnd/peer.hpp"

namespace plnet::socklnd {

class Peers {
 public:
  explicit Peers(Environment& environment);

  // nullptr: unknown.
  [[nodiscard]] Peer* find(const lnet::ProcessId& id) const { return by_id_.find(id); }
  // nullptr: there are as many as may be.
  [[nodiscard]] Peer* make(const lnet::ProcessId& id);
  [[nodiscard]] Peer* find_or_make(const lnet::ProcessId& id);
  // The peer of a link, which is bound to it from now on. nullptr: no room.
  [[nodiscard]] Peer* of_link(lnet::PeerLink& link);
  // The peer that a message goes to. nullptr: a process that is not connected, or no room.
  [[nodiscard]] Peer* of_message(const lnet::Transmit& transmit);
  // A decision of the core has named the link of a sender.
  void keep_link(Peer& peer, lnet::PeerLink* link);
  // Calls `visit` for each process of a NID; it may not add or remove peers.
  template <class Visit>
  void for_each(const lnet::Nid& nid, Visit&& visit) const {
    by_id_.for_each(nid, visit);
  }
  // The peer has no connection and no message any more. Its record is free afterwards.
  void remove(Peer& peer);

  // A HELLO tells the peer's incarnation and version. False: the peer has restarted or speaks
  // another version now; all its connections are closed.
  [[nodiscard]] bool accept_identity(Peer& peer, const Hello& hello);

  // The next flush serves the peer.
  void serve_soon(Peer& peer) {
    PLNET_DEBUG_CHECK(peer.owner == this, "a peer of this LND");
    peer.unlink();
    busy_.push_back(peer);
  }
  void serve_all_soon();
  void take_busy(IntrusiveList<Peer>& to) { to.splice_back(busy_); }
  // A peer taken from the busy list is served: nothing is to do until serve_soon().
  void set_quiet(Peer& peer) { quiet_.push_back(peer); }
  [[nodiscard]] bool has_busy() const { return !busy_.empty(); }

  // Serves the peer no later than that, though nothing happens; Instant::max(): never.
  void serve_at(Peer& peer, Instant when);
  void stop_timer(Peer& peer) { timers_.cancel(peer.timer); }
  unsigned run_timers(Instant now) { return timers_.advance(now); }
  [[nodiscard]] Instant next_timer() const { return timers_.next_deadline(); }

  [[nodiscard]] std::uint32_t slots() const { return static_cast<std::uint32_t>(pool_.capacity()); }
  // nullptr: the slot is empty.
  [[nodiscard]] Peer* at(std::uint32_t slot) {
    return pool_.is_lent(slot) ? &pool_.at(slot) : nullptr;
  }

 private:
  friend struct Peer;  // its timer
  // Timers run in whole quarters of timeouts; this is fine enough.
  static constexpr Duration kTick = std::chrono::milliseconds(5);

  void on_timer(Peer& peer) {
    peer.check = true;
    serve_soon(peer);
  }

  Environment& environment_;
  Pool<Peer> pool_;  // before the lists and timers that refer to its peers
  PeerTable by_id_;
  TimerWheel timers_;
  IntrusiveList<Peer> quiet_;
  IntrusiveList<Peer> busy_;
};

}  // namespace plnet::socklnd
