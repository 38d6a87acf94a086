// SPDX-License-Identifier: BSD-3-Clause
// Attempts of ours and how they end.
#include "lib/o2iblnd/handshakes.hpp"

#include <algorithm>

#include "lib/base/check.hpp"

namespace plnet::o2iblnd {

using State = Connection::State;

Handshakes::Handshakes(Environment& environment, Connections& connections, Peers& peers,
                       Sends& sends, Receives& receives)
    : environment_(environment),
      connections_(connections),
      peers_(peers),
      sends_(sends),
      receives_(receives) {}

void Handshakes::wait_for_connection(Peer& peer, Tx& tx) {
  PLNET_CHECK(tx.connection == nullptr && !tx.linked(),
              "a message waits before it has a connection");
  sends_.wait(tx, peer);
  peer.elsewhere = false;
  if (peer.is_known()) return connect_here(peer);
  const unsigned wanted = connections_per_peer(environment_.tunables);
  peer.connecting = wanted;
  for (unsigned i = 0; i < wanted; ++i)
    connect(peer);
}

// Connections of other shards take no message from here: this shard needs one of its own.
void Handshakes::connect_here(Peer& peer) {
  if (environment_.config.lanes == nullptr || peer.waiting.empty()) return;
  if (peer.reconnecting > 0 || has_local(peer)) return;
  ++peer.connecting;
  connect(peer);
}

std::uint16_t Handshakes::depth_to_ask(const Peer& peer, std::uint16_t version) const {
  const unsigned own = queue_depth(environment_.tunables, version);
  const unsigned most = peer.queue_depth == 0 ? own : std::min<unsigned>(own, peer.queue_depth);
  return static_cast<std::uint16_t>(
      depth_that_fits(environment_.driver.limits(), version, most, peer.max_frags));
}

void Handshakes::connect(Peer& peer) {
  PLNET_CHECK(peer.connecting > 0, "the caller has counted the attempt");
  environment_.count(Id::kConnects);
  const std::uint16_t version = peer.version == 0 ? kVersion2 : peer.version;
  const Offer offer{
      .version = version, .queue_depth = depth_to_ask(peer, version), .max_frags = peer.max_frags};
  if (Connection* const away = stand_in(peer, true, offer)) {
    away->lane->incarnation = peer.incarnation;
    return environment_.config.lanes->say(*away->lane, LaneWord::kDial);
  }
  const auto begun = dial(peer, offer, peer.incarnation);
  if (!begun) attempt_failed(peer, true, begun.error());
}

Result<Connection*> Handshakes::dial(Peer& peer, Offer offer, std::uint64_t incarnation) {
  if (!connections_.has_room()) return std::unexpected(Errc::kNoMemory);
  const unsigned wanted = offer.queue_depth;
  PLNET_CHECK(wanted > 0, "a connection has a receive at least");
  const bool privileged = environment_.tunables.use_privileged_port != 0;
  const auto port = static_cast<std::uint16_t>(privileged ? kPrivilegedPortEnd - 1 : 0);
  Result<QueuePairId> id = std::unexpected(Errc::kNoMemory);
  // The depth is smaller if there is no memory for the queue pair.
  for (;; --offer.queue_depth) {
    std::array<std::byte, kConnectBytes> data{};
    (void)encode({.kind = Kind::kConnectRequest,
                  .version = offer.version,
                  .source_nid = environment_.self.nid,
                  .source_stamp = environment_.self.incarnation,
                  .destination_nid = peer.nid64,
                  .destination_stamp = incarnation,
                  .parameters = {.queue_depth = offer.queue_depth, .max_frags = offer.max_frags}},
                 0, data);
    if (environment_.tunables.cksum != 0) set_checksum(data, environment_.config.char_sign);
    id = environment_.driver.connect(
        {environment_.config.nid.address32(), port},
        {peer.nid.address32(), static_cast<std::uint16_t>(environment_.tunables.service)},
        size_of(offer.version, offer.queue_depth, offer.max_frags),
        connect_parameters(environment_.tunables), data);
    if (id || id.error() != Errc::kNoMemory || offer.queue_depth < 2) break;
  }
  if (!id) return std::unexpected(id.error());
  if (offer.queue_depth < wanted) peer.queue_depth = offer.queue_depth;
  Connection* const connection = connections_.take(peer, *id, true, offer);
  PLNET_CHECK(connection != nullptr, "the caller has looked for room");
  if (!connections_.post_all(*connection)) connections_.close(*connection, Errc::kNoMemory);
  return connection;
}

// The end of the last attempt fails the waiting messages. kiblnd_peer_connect_failed().
void Handshakes::attempt_failed(Peer& peer, bool active, Errc cause) {
  unsigned& attempts = active ? peer.connecting : peer.accepting;
  PLNET_CHECK(attempts > 0, "an attempt ends once");
  --attempts;
  environment_.count(Id::kConnectFailures);
  if (peer.is_connecting()) return;
  peer.reconnects = 0;
  if (!peer.connections.empty()) return;
  // Connections on other shards keep the peer, but messages that wait here cannot use them.
  const bool lost = !peer.is_open();
  Health health = Health::kLocalDropped;
  if (cause == Errc::kNoRoute || cause == Errc::kTimedOut) health = Health::kNetworkTimeout;
  if (cause == Errc::kRefused) health = Health::kRemoteDropped;
  if (cause == Errc::kShutdown) health = Health::kLocalAborted;
  if (lost) Peers::forget(peer);
  sends_.give_up_all(peer.waiting, cause, health);
  if (!lost) return;
  if (!peer.releasing && !environment_.shutting_down) {
    environment_.report();
    environment_.core.on_peer(peer.nid, lnet::PeerNotice::kDown, peer.last_alive);
    environment_.core.on_unreachable(peer.nid, cause);
  }
  peers_.release_unused(peer);
}

void Handshakes::on_rejected(Connection& connection, RejectKind kind,
                             std::span<const std::byte> data) {
  if (connection.state != State::kConnecting) return;
  PLNET_CHECK(connection.active, "only a request of ours is rejected");
  connection.disconnected = true;  // it never was more; it drains without another event
  if (connection.is_lane()) {
    Lane& lane = *connection.lane;
    lane.rejected = true;
    lane.reject_kind = kind;
    lane.keep(data);
    return connections_.close(connection, Errc::kRefused);
  }
  connection.retry = judge_reject(kind, data, connection.offer);
  connections_.close(connection, connection.retry.cause);
}

// An attempt that a peer has rejected is made again once its queue pair has gone, if it is needed.
void Handshakes::on_ended(Connection& connection) {
  PLNET_CHECK(connection.state == State::kClosing && !connection.has_queued(),
              "the messages of a connection end before it");
  Peer& peer = *connection.peer;
  if (connection.is_lane()) {
    Lane& lane = *connection.lane;
    return environment_.config.lanes->report(
        lane, lane.rejected ? LaneWord::kRejected : LaneWord::kDisconnected, connection.cause);
  }
  peers_.announce_soon(peer);
  if (connection.established) {
    if (peer.is_known()) return;
    Peers::forget(peer);
    sends_.give_up_all(peer.waiting, Errc::kAborted, Health::kLocalAborted);
    if (!peer.releasing && !environment_.shutting_down) {
      environment_.report();
      environment_.core.on_peer(peer.nid, lnet::PeerNotice::kLost, peer.last_alive);
    }
    return;
  }
  const Retry& retry = connection.retry;
  const bool needed = (!peer.waiting.empty() || peer.version != retry.version) &&
                      peer.connecting > 0 && peer.accepting == 0;
  const bool ended = environment_.shutting_down || peer.releasing;
  if (connection.active && retry.again && needed && !ended) {
    ++peer.reconnecting;
    peer.version = retry.version;
    if (retry.incarnation) peer.incarnation = *retry.incarnation;
    if (retry.max_frags) peer.max_frags = *retry.max_frags;
    if (retry.queue_depth) peer.queue_depth = *retry.queue_depth;
    Duration wait{};
    if (retry.race) wait = kRaceWait;
    if (peer.reconnects >= kReconnectsAtOnce) wait = kReconnectWait;
    peer.retry_at = std::max(peer.retry_at, environment_.now + wait);
  }
  attempt_failed(peer, connection.active, connection.cause);
}

void Handshakes::look_at(Peer& peer) {
  sends_.expire(peer.waiting);
  if (peer.reconnecting == 0 || environment_.now < peer.retry_at) return;
  while (peer.reconnecting > 0) {
    --peer.reconnecting;
    ++peer.connecting;
    ++peer.reconnects;
    environment_.count(Id::kReconnects);
    connect(peer);
  }
}

void Handshakes::look_at(Connection& connection) {
  const bool under_way =
      connection.state == State::kConnecting || connection.state == State::kAccepting;
  if (!under_way || connection.is_lane()) return;  // its home checks it
  if (environment_.now - connection.begun <= connect_timeout(environment_.timeout)) return;
  environment_.count(Id::kConnectTimeouts);
  connections_.close(connection, Errc::kNetworkDown);
}

void Handshakes::on_established(Connection& connection, std::span<const std::byte> data) {
  const bool expected =
      connection.state == State::kAccepting || connection.state == State::kConnecting;
  if (!expected) return;
  if (connection.is_lane()) {
    connection.lane->keep(data);
    return environment_.config.lanes->report(*connection.lane, LaneWord::kEstablished);
  }
  if (connection.state == State::kAccepting) return establish(connection, Errc::kClosed, false);
  Message& ack = message_;
  const Result<void> judged = judge_ack(data, connection.offer, environment_.self, ack);
  if (!judged) {
    // The queue pair is up already: it becomes established, and ends at once.
    environment_.complain(judged.error() == Errc::kStale ? Id::kWrongLife : Id::kType,
                          connection.peer->nid);
    return establish(connection, judged.error(), true);
  }
  connection.incarnation = ack.source_stamp;
  connection.offer.queue_depth = ack.parameters.queue_depth;
  connection.offer.max_frags = ack.parameters.max_frags;
  establish(connection, Errc::kClosed, false);
}

void Handshakes::establish(Connection& connection, Errc failure, bool failed) {
  Peer& peer = *connection.peer;
  const bool first = !peer.is_open();
  unsigned& attempts = connection.active ? peer.connecting : peer.accepting;
  PLNET_CHECK(!connection.established, "a connection is established once");
  PLNET_CHECK(attempts > 0, "an attempt ends once");
  --attempts;
  connection.established = true;
  connection.state = State::kEstablished;
  peer.reconnects = 0;
  if (failed || peer.releasing || environment_.shutting_down) {
    if (!connection.away) environment_.count(Id::kEstablished);
    connections_.close(connection, failed ? failure : Errc::kShutdown);
    sends_.give_up_all(peer.waiting, Errc::kAborted, Health::kLocalError);
    return;
  }
  const std::uint16_t version = connection.offer.version;
  close_other_lives(peer, version, connection.incarnation);
  peer.version = version;
  peer.incarnation = connection.incarnation;
  peer.last_alive = environment_.now;
  peers_.announce_soon(peer);
  if (connection.away) {
    peer.away.push_back(connection);
    if (first) tell_alive(peer, connection);
    connection.lane->offer = connection.offer;
    connection.lane->incarnation = connection.incarnation;
    environment_.config.lanes->say(*connection.lane, LaneWord::kOpen);
    return connect_here(peer);
  }
  peer.connections.push_back(connection);
  if (first) tell_alive(peer, connection);
  open(connection);
}

void Handshakes::open(Connection& connection) {
  const std::uint16_t version = connection.offer.version;
  const unsigned depth = connection.offer.queue_depth;
  PLNET_CHECK(depth > 0 && !connection.away, "an established connection has credits");
  PLNET_CHECK(connection.credits.sends_posted() == 0,
              "nothing is sent before the credits are known");
  environment_.count(Id::kEstablished);
  connection.last_send = environment_.now;
  connection.credits =
      Credits({.depth = depth,
               .high_water = credits_high_water(environment_.tunables, version, depth),
               .sends_max = concurrent_sends(environment_.tunables, version),
               .version = version});
  // All waiting messages take the first connection. kiblnd_connreq_done().
  while (Tx* const tx = connection.peer->waiting.pop_front())
    sends_.queue(*tx, connection);
  connections_.serve_soon(connection);
  receives_.read_early(connection);
}

void Handshakes::tell_alive(Peer& peer, const Connection& connection) {
  const bool restarted =
      peer.last_incarnation != 0 && peer.last_incarnation != connection.incarnation;
  if (restarted) environment_.count(Id::kRestarts);
  peer.last_incarnation = connection.incarnation;
  environment_.core.on_peer(
      peer.nid, restarted ? lnet::PeerNotice::kAliveAfterRestart : lnet::PeerNotice::kAlive,
      environment_.now);
}

}  // namespace plnet::o2iblnd
