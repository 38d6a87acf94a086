// SPDX-License-Identifier: BSD-3-Clause
// The TCP LND of one interface on one shard: an lnet::Lnd over byte streams. Peers whose home is
// this shard have their connections here; the acceptor hands over connections that peers make
// (peer_homes.hpp). Bulk connections beyond the first of their kind may lie on other shards of the
// CPT (lane.hpp). Sans-IO: it only speaks to its driver, its core and its like on those shards.
// lustre-release lnet/klnds/socklnd/socklnd.c, socklnd_cb.c.
//
// This class is the contract with the core and the driver, and the turn: flush(). Its parts have
// the rest, each one noun: peers, connections, attempts (Dialler), arrivals, lanes and the notes
// about them, messages out (Sends, Noops) and in (Receives, KeptPayloads), the watches over
// progress and over the interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "lib/socklnd/arrivals.hpp"
#include "lib/socklnd/completions.hpp"
#include "lib/socklnd/connections.hpp"
#include "lib/socklnd/dialler.hpp"
#include "lib/socklnd/environment.hpp"
#include "lib/socklnd/facts.hpp"
#include "lib/socklnd/interface_watch.hpp"
#include "lib/socklnd/kept_payloads.hpp"
#include "lib/socklnd/lane_notes.hpp"
#include "lib/socklnd/lanes.hpp"
#include "lib/socklnd/noops.hpp"
#include "lib/socklnd/peers.hpp"
#include "lib/socklnd/progress_watch.hpp"
#include "lib/socklnd/receives.hpp"
#include "lib/socklnd/sends.hpp"

namespace plnet::socklnd {

class SockLnd : public lnet::Lnd, public StreamUser {
 public:
  // `core`, `streams` and the configuration's parts outlive it.
  SockLnd(const SockLndConfig& config, lnet::LndUpcalls& core, StreamSwitch& streams);
  ~SockLnd() override;

  [[nodiscard]] const lnet::LndTraits& traits() const override { return traits_; }
  std::size_t send(std::span<lnet::Transmit* const> burst) override;
  void resume(lnet::RxHandle rx, const lnet::RxDecision& decision) override;
  unsigned flush(Instant now) override;
  void cancel(lnet::Transmit& transmit) override;
  void release_peer(lnet::PeerLink& link) override;
  void shut_down() override;
  [[nodiscard]] bool idle() const override;
  [[nodiscard]] std::uint64_t unsent_bytes(Instant since) override;
  [[nodiscard]] Instant next_deadline() const override;
  [[nodiscard]] CounterView counters() const override { return environment_.counters.view(); }

  // A peer whose home this is has connected. Between two turns.
  void accept(const Arrival& arrival) { arrivals_.accept(arrival); }
  // Whether accept() has room for one more.
  [[nodiscard]] bool has_room() const { return connections_.free_count() > 0; }
  // A note about a lane from here or to here. Between two turns.
  void on_lane_note(const LaneNote& note) { lane_notes_.on_note(note); }
  // Other values of those tunables that change live; the rest is as before. Between two turns.
  void set_tunables(const Tunables& tunables);
  // The link or the address of the interface has gone, or both are there. Between two turns.
  void set_usable(bool usable) { interface_.set_usable(usable); }

  std::span<std::byte> destination(std::uint32_t slot) override;
  std::size_t on_bytes(std::uint32_t slot, std::size_t direct,
                       std::span<const std::byte> staged) override;
  void on_writable(std::uint32_t slot) override;
  void on_awaited(std::uint32_t slot) override;
  void on_connected(std::uint32_t slot, const StreamAddresses& addresses) override;
  void on_closed(std::uint32_t slot, Errc cause, std::uint64_t unacknowledged_bytes) override;

  [[nodiscard]] std::uint64_t count(SockLndCounters::Id id) const {
    return environment_.counters.get(id);
  }
  // For reports and tests; nullptr: unknown.
  [[nodiscard]] const Peer* peer(const lnet::ProcessId& id) const { return peers_.find(id); }
  // For reports, slot by slot, so that a long list can be told in pieces; nothing of an empty slot.
  [[nodiscard]] std::uint32_t connection_slots() const { return connections_.slots(); }
  [[nodiscard]] std::optional<ConnectionFacts> connection_facts(std::uint32_t slot,
                                                                Instant now) const;
  [[nodiscard]] std::uint32_t peer_slots() const { return peers_.slots(); }
  [[nodiscard]] std::optional<PeerFacts> peer_facts(std::uint32_t slot, Instant now);

 private:
  using Id = SockLndCounters::Id;
  using State = Connection::State;

  // --- The turn: a connection ---
  void serve(Connection& connection, Instant now);
  void write_all(Connection& connection);

  // --- The turn: a peer ---
  void serve(Peer& peer, Instant now);
  void close_siblings(Peer& peer);
  void leave_interface(Peer& peer);
  void tell_core(Peer& peer, Instant now);
  void set_timer(Peer& peer, Instant now);
  void end_peer(Peer& peer);
  void release(Peer& peer);

  Environment environment_;
  lnet::LndTraits traits_;
  Completions completions_;
  Connections connections_;  // before the peers and parts that list them: lists go first
  Peers peers_;
  Noops noops_;
  KeptPayloads kept_;
  Sends sends_;
  Receives receives_;
  InterfaceWatch interface_;
  Lanes lanes_;
  Dialler dialler_;
  Arrivals arrivals_;
  LaneNotes lane_notes_;
  ProgressWatch progress_;
  std::size_t releases_ = 0;  // peers that the core wants released
};

}  // namespace plnet::socklnd
