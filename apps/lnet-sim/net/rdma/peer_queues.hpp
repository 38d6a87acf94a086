// SPDX-License-Identifier: BSD-3-Clause
// The half of RdmaLnd that knows no queue pair: messages that wait for a peer and how they end,
// decisions for parked ones, links until they may go home, and the order of a turn. What is done
// with a queue pair is in the hooks.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "apps/lnet-sim/net/rdma/counters.hpp"
#include "apps/lnet-sim/net/rdma/pair.hpp"
#include "lib/base/pool.hpp"

namespace plnet::sim {

class PeerQueues : public lnet::Lnd {
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

  [[nodiscard]] std::uint64_t count(RdmaLndCounters::Id id) const { return counters_.get(id); }

 protected:
  using Id = RdmaLndCounters::Id;
  using Peer = RdmaPeer;

  // `receives_max`: messages that may be parked at a time.
  PeerQueues(const lnet::LndTraits& traits, std::size_t peers_max, std::size_t receives_max,
             lnet::LndUpcalls& core)
      : traits_(traits), core_(core), peers_(peers_max) {
    decided_.reserve(receives_max);
    undated_.reserve(kUndatedUsual);
  }

  // --- Hooks ---
  // Something waits for the peer, or the way to it has changed.
  virtual void serve(Peer& peer) = 0;
  // Some have waited for their turn in vain.
  virtual void on_late_waiting(Peer& /*peer*/) {}
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
  Counters<RdmaLndCounters> counters_;
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

}  // namespace plnet::sim
