// SPDX-License-Identifier: BSD-3-Clause
// Messages on their way out: queued on a connection, or on their peer until there is one; written,
// as many as fit, in one call; or relayed from the socket in which their payload lies.
// lustre-release lnet/klnds/socklnd/socklnd_cb.c: ksocknal_launch_packet(),
// ksocknal_process_transmit(), ksocknal_tx_done().
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "lib/socklnd/completions.hpp"
#include "lib/socklnd/connections.hpp"
#include "lib/socklnd/environment.hpp"
#include "lib/socklnd/outgoing.hpp"
#include "lib/socklnd/peers.hpp"

namespace plnet::socklnd {

class Sends {
 public:
  Sends(Environment& environment, Connections& connections, Peers& peers, Completions& completions);

  // Lnd::send().
  std::size_t send(std::span<lnet::Transmit* const> burst);
  // Ends the message when its peer is served, unless it has been written in part.
  void cancel(lnet::Transmit& transmit);

  // --- A peer ---
  // Sets the arrival time of waiting messages, which send() does not know.
  static void stamp(Peer& peer, Instant now);
  // Ends cancelled and expired messages of which nothing was written.
  void end_expired(Peer& peer, Instant now);
  // Moves waiting messages to connections that have opened.
  void queue_waiting(Peer& peer);

  // --- A connection ---
  void write_greeting(Connection& connection);
  // Writes, or relays, the first items of the connection. There must be one.
  void write(Connection& connection);
  // The connection is lost: its messages end.
  void end_all(Connection& connection, Errc cause);

  // The next checksum is sent wrong: inject_csum_error.
  void set_spoil_checksum(bool spoil) { spoil_checksum_ = spoil; }

 private:
  using Id = SockLndCounters::Id;
  using State = Connection::State;

  // False: nothing was taken, since the note about the message's lane may still come.
  [[nodiscard]] bool send(lnet::Transmit& transmit);
  // There is no connection for the message. `peer` may be null.
  [[nodiscard]] bool send_later(Peer* peer, lnet::Transmit& transmit);
  void note_deadline(Peer& peer, const lnet::Transmit& transmit) {
    if (transmit.deadline >= peer.earliest_deadline) return;
    peer.earliest_deadline = transmit.deadline;
    peers_.serve_soon(peer);
  }
  void end_unreachable(lnet::Transmit& transmit);
  void queue(Connection& connection, lnet::Transmit& transmit);
  [[nodiscard]] bool has_expired(Peer& peer, lnet::Transmit& transmit, Instant now);
  void gather(const Connection& connection);
  // TCP has taken so many bytes of what gather() has collected.
  void on_taken(Connection& connection, std::size_t taken);

  // --- A payload that lies in another socket ---
  [[nodiscard]] bool may_relay(const Connection& connection, const lnet::Transmit& transmit) const;
  // Reads the payload into its buffer, if it is not there.
  // False: the payload is lost, and the message must not be sent.
  [[nodiscard]] bool bring_payload(lnet::Transmit& transmit);
  void end_lost(lnet::Transmit& transmit);
  void end_lost_front(Connection& connection);
  void relay_front(Connection& connection);

  Environment& environment_;
  Connections& connections_;
  Peers& peers_;
  Completions& completions_;
  std::uint64_t posts_ = 0;  // messages queued, ever: orders connections for round robin
  bool spoil_checksum_;
  Outgoing outgoing_;
};

}  // namespace plnet::socklnd
