// SPDX-License-Identifier: BSD-3-Clause
// Connection setup: attempts of this node, requests of peers, races between the two, rejections and
// their retries. lustre-release v2_17_0 lnet/klnds/o2iblnd/o2iblnd_cb.c:
// kiblnd_launch_tx(), kiblnd_passive_connect(), kiblnd_connreq_done(), kiblnd_rejected(),
// kiblnd_peer_connect_failed(), kiblnd_reconnect_peer().
#pragma once

#include "lib/o2iblnd/connections.hpp"
#include "lib/o2iblnd/environment.hpp"
#include "lib/o2iblnd/peers.hpp"
#include "lib/o2iblnd/receives.hpp"
#include "lib/o2iblnd/sends.hpp"

namespace plnet::o2iblnd {

class Handshakes {
 public:
  Handshakes(Environment& environment, Connections& connections, Peers& peers, Sends& sends,
             Receives& receives);

  // A message for a peer without a connection waits; the first begins as many attempts as there
  // are to be connections.
  void wait_for_connection(Peer& peer, Tx& tx);

  void on_request(QueuePairId request, const Ipv4Endpoint& from, std::span<const std::byte> data);
  void on_established(Connection& connection, std::span<const std::byte> data);
  void on_rejected(Connection& connection, RejectKind kind, std::span<const std::byte> data);
  // A connection is disconnected: the peer may have none left.
  void on_ended(Connection& connection);
  // --- Connections on other shards: handshakes_lanes.cpp ---
  // A word of the home about a connection that lies here, or is to be made here.
  void on_home_note(const LaneNote& note);
  // At the home of a peer: a word about a connection on another shard. The LND itself handles
  // kDrained.
  void on_lane_note(const LaneNote& note);
  // Tells the core the lanes on which messages to the peer can leave.
  void announce(Peer& peer);
  // Attempts that are due or too late, messages that have waited for too long.
  void look_at(Peer& peer);
  void look_at(Connection& connection);

 private:
  using Id = O2ibCounters::Id;

  void connect(Peer& peer);
  void connect_here(Peer& peer);
  // The queue pair is less deep than offered if memory is short.
  [[nodiscard]] Result<Connection*> dial(Peer& peer, Offer offer, std::uint64_t incarnation);
  [[nodiscard]] Result<void> prepare(QueuePairId request, Offer& offer);
  void answer(Connection& connection, const Message& request);
  void begin_accepting(Peer& peer, const Message& message);
  // Begins the traffic of a connection that is established.
  void open(Connection& connection);
  void attempt_failed(Peer& peer, bool active, Errc cause);
  void establish(Connection& connection, Errc failure, bool failed);
  [[nodiscard]] std::expected<Peer*, RejectReason> judge_peer(const Message& request,
                                                              const Ipv4Endpoint& from);
  [[nodiscard]] std::expected<void, RejectReason> accept(QueuePairId request, Peer& peer,
                                                         const Message& message);
  void reject(QueuePairId request, RejectReason why, const Message& message,
              const Ipv4Endpoint& from);
  void close_other_lives(Peer& peer, std::uint16_t version, std::uint64_t incarnation);
  void close_all(Peer& peer, Errc cause);
  // Nothing: this shard.
  [[nodiscard]] std::optional<lnet::ShardId> shard_for(const Peer& peer);
  // Null: the connection is to lie on this shard.
  [[nodiscard]] Connection* stand_in(Peer& peer, bool active, const Offer& offer);
  [[nodiscard]] bool has_local(const Peer& peer);
  [[nodiscard]] bool accept_away(QueuePairId request, Peer& peer, const Message& message,
                                 const Offer& offer);
  [[nodiscard]] Peer* peer_of(const Lane& lane);
  void give_lane(Lane& lane, Connection& connection);
  void dial_for(Lane& lane);
  void accept_for(Lane& lane);
  void tell_alive(Peer& peer, const Connection& connection);
  [[nodiscard]] std::uint16_t depth_to_ask(const Peer& peer, std::uint16_t version) const;

  // The time for the peer's own request, after it has rejected ours in its favour.
  static constexpr Duration kRaceWait = std::chrono::milliseconds(50);
  static constexpr Duration kReconnectWait = std::chrono::seconds(1);

  Environment& environment_;
  Connections& connections_;
  Peers& peers_;
  Sends& sends_;
  Receives& receives_;
  Message message_;  // the present one
};

}  // namespace plnet::o2iblnd
