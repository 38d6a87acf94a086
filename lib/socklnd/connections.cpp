// SPDX-License-Identifier: BSD-3-Clause
#include "lib/socklnd/connections.hpp"

#include <algorithm>
#include <optional>

#include "lib/base/check.hpp"

namespace plnet::socklnd {

namespace {

std::optional<SockLndCounters::Id> open_row(ConnectionType type) {
  switch (type) {
    case ConnectionType::kControl: return SockLndCounters::Id::kOpenControl;
    case ConnectionType::kBulkIn: return SockLndCounters::Id::kOpenBulkIn;
    case ConnectionType::kBulkOut: return SockLndCounters::Id::kOpenBulkOut;
    default: return std::nullopt;
  }
}

}  // namespace

bool is_of_peer(Errc cause) {
  switch (cause) {
    case Errc::kReset:
    case Errc::kClosed:
    case Errc::kRefused:
    case Errc::kNoRoute:
    case Errc::kTimedOut:
    case Errc::kProtocol:
    case Errc::kStale:
    case Errc::kVersion: return true;
    default: return false;
  }
}

Connections::Connections(Environment& environment, Peers& peers)
    : environment_(environment), peers_(peers), pool_(environment.config.connections_max) {}

// --- Begin ---

Connection* Connections::make(Peer& peer, StreamId stream, ConnectionType type) {
  PLNET_CHECK(user_ != nullptr && keeper_ != nullptr, "set_receivers() has been called");
  Connection* const connection = pool_.take();
  const bool room = connection != nullptr &&
                    environment_.streams.give(stream, *user_, pool_.index_of(connection));
  if (!room) {
    if (connection != nullptr) pool_.give(connection);
    environment_.count(Id::kRefusedNoRoom);
    environment_.driver().close(stream, Errc::kNoSpace);
    return nullptr;
  }
  begin(*connection, peer, type);
  connection->stream = stream;
  return connection;
}

void Connections::begin(Connection& connection, Peer& peer, ConnectionType type) {
  PLNET_CHECK(connection.queue.empty() && connection.rx == Connection::Rx::kNone,
              "a free connection has no messages");
  PLNET_CHECK(!connection.fresh && !connection.ListNode<OfPeer>::linked() &&
                  !connection.ListNode<Keeping>::linked(),
              "a free connection is in no list");
  const std::uint32_t generation = connection.generation;
  connection = Connection{};
  connection.generation = generation + 1;  // a late decision for this slot stays a stale one
  connection.peer = &peer;
  connection.type = type;
  peer.connections.push_back(connection);
}

Connection* Connections::adopt(Peer& peer, const Arrival& arrival) {
  const auto stream =
      environment_.driver().adopt(arrival.stream, stream_options(environment_.config.tunables));
  if (!stream) {
    environment_.count(Id::kRefusedAdopt);
    environment_.driver().discard(arrival.stream);
    return nullptr;
  }
  Connection* const connection = make(peer, *stream, arrival.type);
  if (connection != nullptr) connection->protocol = arrival.hello.protocol;
  return connection;
}

Connection& Connections::make_stand_in(Peer& peer, ConnectionType type, Lane& lane) {
  Connection* const connection = pool_.take();
  PLNET_CHECK(connection != nullptr, "the caller has looked for a free place");
  begin(*connection, peer, type);
  PLNET_CHECK(
      environment_.config.lanes != nullptr && lane.home == environment_.config.lanes->shard(),
      "the home of a lane has its stand-in");
  connection->away = true;
  connection->lane = &lane;
  lane.incarnation = environment_.config.incarnation;
  lane.at_home = pool_.index_of(connection);
  return *connection;
}

void Connections::add_hello(Connection& connection, std::int32_t type) {
  const SockLndConfig& config = environment_.config;
  Hello hello{.protocol = connection.protocol,
              .source = config.nid,
              .destination = connection.peer->id.nid,
              .source_pid = config.pid,
              .source_incarnation = config.incarnation};
  hello.type = type;
  connection.greeting.add_hello(hello);
}

void Connections::open(Connection& connection, bool swapped) {
  PLNET_CHECK(connection.state != State::kOpen && !connection.was_open, "a connection opens once");
  Peer& peer = *connection.peer;
  connection.state = State::kOpen;
  connection.was_open = true;
  ++peer.open_of(connection.type);
  peer.lanes_changed = environment_.config.lanes != nullptr;
  peers_.serve_soon(peer);
  if (!connection.away) {
    connection.sent_since = connection.heard_since = true;
    connection.framing = Framing(connection.protocol, swapped);
    connection.deadline = Instant::max();
    environment_.count(Id::kOpen);
    if (const auto row = open_row(connection.type)) environment_.count(*row);
    serve_soon(connection);
  }
  if (connection.is_lane()) return;  // its home knows the state of the peer
  // lustre-release socklnd.c: ksocknal_associate_cb_conn_locked(). The peer is reachable.
  peer.interval = {};
  peer.retry_at = Instant::min();
  peer.restarted |= peer.last_incarnation != 0 && peer.last_incarnation != peer.incarnation;
  peer.last_incarnation = peer.incarnation;
  peer.notice_alive = true;
}

// --- End ---

void Connections::close(Connection& connection, Id why, Errc cause, bool siblings) {
  if (connection.state == State::kClosing) return;
  Peer& peer = *connection.peer;
  if (siblings) {
    peer.closing = true;
    peer.close_cause = cause;
  }
  if (connection.rx == Connection::Rx::kKept) (void)keeper_->bring(handle_of(connection));
  if (connection.state == State::kClosing) return;  // a payload that is lost closes its connection
  if (!connection.away) environment_.count(why);
  if (cause == Errc::kProtocol && why != Id::kClosedSibling)
    environment_.complain(peer.id.nid, why);
  if (connection.state == State::kOpen) leave_open(connection, cause);
  connection.state = State::kClosing;
  close_stream(connection, cause);
  peers_.serve_soon(peer);
}

void Connections::close_stream(Connection& connection, Errc cause) {
  if (!connection.away) return environment_.driver().close(connection.stream, cause);
  PLNET_CHECK(connection.lane != nullptr, "a stand-in has a lane");
  environment_.config.lanes->say(*connection.lane, LaneWord::kClose, cause);
}

void Connections::leave_open(Connection& connection, Errc cause) {
  PLNET_CHECK(connection.state == State::kOpen, "an open connection leaves once");
  Peer& peer = *connection.peer;
  PLNET_CHECK(peer.open_of(connection.type) > 0, "an open connection is counted");
  --peer.open_of(connection.type);
  peer.lanes_changed = environment_.config.lanes != nullptr;
  if (!connection.away) {
    environment_.counters.subtract(Id::kOpen);
    if (const auto row = open_row(connection.type)) environment_.counters.subtract(*row);
  }
  if (peer.open_count() > 0) return;
  peer.satisfied = false;
  peer.notice_lost = !peer.elsewhere;
  peer.notice_silent = peer.notice_lost && cause == Errc::kTimedOut;
  if (peer.notice_lost) {
    // A backoff until now was that of one more connection beside others. With none left the next
    // message tries at once, and if that fails, the cause is reported. An attempt that ends in the
    // same turn sets its own backoff afterwards.
    peer.interval = {};
    peer.retry_at = Instant::min();
  }
  peers_.serve_soon(peer);
  if (peer.attempt == nullptr || peer.attempt->state == State::kDialing) peer.forget_identity();
  // An attempt that has just made them end is repeated even if no message waits.
  const bool again = peer.outcome == Outcome::kAtOnce;
  if (peer.waiting.empty() && peer.attempt == nullptr && !again) peer.initiated = false;
}

void Connections::count_end(const Connection& connection, Errc cause,
                            std::uint64_t unacknowledged) {
  const auto row = [&] {
    switch (cause) {
      case Errc::kClosed:
        return connection.framing.at_boundary() ? Id::kClosedByPeer : Id::kClosedInMessage;
      case Errc::kReset: return Id::kClosedReset;
      case Errc::kTimedOut: return Id::kClosedTcpTimeout;
      default: return Id::kClosedError;
    }
  };
  if (connection.state == State::kOpen) environment_.count(row());
  if (connection.was_open) count_lost(connection, unacknowledged);
}

void Connections::count_lost(const Connection& connection, std::uint64_t unacknowledged) {
  if (unacknowledged == 0) return;
  environment_.count(Id::kLossyCloses);
  environment_.count(Id::kLostBytes, unacknowledged);
  const std::uint64_t safe = connection.written - std::min(unacknowledged, connection.written);
  const auto known = std::min<std::uint64_t>(connection.messages_sent, kEndsRemembered);
  for (std::uint64_t i = 0; i < known; ++i) {
    if (connection.ends[i] > safe) environment_.count(Id::kLostMessages);
  }
}

void Connections::release(Connection& connection) {
  PLNET_CHECK(connection.queue.empty(), "the messages of a connection end before it");
  Peer& peer = *connection.peer;
  PLNET_CHECK(peer.attempt != &connection, "the attempt of a connection ends before it");
  PLNET_CHECK(connection.rx == Connection::Rx::kNone && !connection.ListNode<Keeping>::linked(),
              "the payload of a connection ends before it");
  connection.ListNode<OfPeer>::unlink();
  if (connection.fresh) connection.ListNode<ForFlush>::unlink();
  connection.fresh = false;
  connection.rx = Connection::Rx::kNone;
  pool_.give(&connection);
  peers_.serve_soon(peer);
}

}  // namespace plnet::socklnd
