// SPDX-License-Identifier: BSD-3-Clause
// Attempts of ours to connect to peers: one at a time for a peer, from the choice of the next
// connection to the peer's answer, and the retries after a failure. lustre-release
// lnet/klnds/socklnd/socklnd_cb.c: ksocknal_connect().
#pragma once

#include <cstddef>
#include <span>

#include "lib/socklnd/completions.hpp"
#include "lib/socklnd/connections.hpp"
#include "lib/socklnd/environment.hpp"
#include "lib/socklnd/interface_watch.hpp"
#include "lib/socklnd/lanes.hpp"
#include "lib/socklnd/peers.hpp"

namespace plnet::socklnd {

class Dialler {
 public:
  Dialler(Environment& environment, Connections& connections, Peers& peers,
          Completions& completions, Lanes& lanes, InterfaceWatch& interface);

  // --- A peer ---
  // Takes note of an attempt that has ended, and sets the time of the next one.
  void settle(Peer& peer, Instant now);
  // Begins an attempt if the peer wants one more connection and it is time.
  void dial_if_due(Peer& peer, Instant now);
  // Ends messages that wait though no attempt is to be expected soon.
  void end_unreachable(Peer& peer, Instant now);

  // --- A connection of ours ---
  // Connects from this shard.
  [[nodiscard]] Result<Connection*> dial(Peer& peer, ConnectionType type, Protocol protocol);
  void on_connected(Connection& connection);
  // Reads the peer's HELLO. The connection stays in state kGreeting until it is complete.
  [[nodiscard]] std::size_t read_hello(Connection& connection, std::span<const std::byte> staged);
  // The HELLO is complete. For a lane it was read on another shard.
  void judge_reply(Connection& connection, const Hello& reply);
  // The attempt has failed before it opened.
  void give_up(Connection& connection, SockLndCounters::Id why, Outcome outcome, Errc cause);

  // Any connection of the peer has ended by itself: its siblings are closed if it was open, else
  // the attempt has failed.
  void on_connection_lost(Connection& connection, Errc cause);

 private:
  using Id = SockLndCounters::Id;
  using State = Connection::State;

  [[nodiscard]] bool may_dial(Peer& peer, Instant now) const;
  void begin_attempt(Peer& peer, ConnectionType type);
  void on_attempt_ended(Peer& peer, Errc cause);
  void on_attempt_failed(Peer& peer, Errc cause, Instant now);
  [[nodiscard]] ConnectRequest request_for(const Peer& peer, ConnectionType type) const;
  void on_hello(Connection& connection);

  Environment& environment_;
  Connections& connections_;
  Peers& peers_;
  Completions& completions_;
  Lanes& lanes_;
  InterfaceWatch& interface_;
};

}  // namespace plnet::socklnd
