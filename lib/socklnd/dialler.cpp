// SPDX-License-Identifier: BSD-3-Clause
#include "lib/socklnd/dialler.hpp"

#include <utility>

#include "lib/base/check.hpp"

namespace plnet::socklnd {

namespace {

struct ConnectFailure {
  Errc status;
  Health health;
};

// lustre-release socklnd_cb.c: ksocknal_txlist_done(). Unlike the kernel, an answer that breaks the
// protocol says nothing of our interface, and a network of ours that is down says nothing of the
// peer.
ConnectFailure connect_failure(Errc cause) {
  switch (cause) {
    case Errc::kTimedOut: return {cause, Health::kNetworkTimeout};
    case Errc::kNetworkDown: return {cause, Health::kLocalDropped};
    case Errc::kNoRoute:
    case Errc::kRefused:
    case Errc::kProtocol:
    case Errc::kStale:
    case Errc::kVersion:
    case Errc::kReset: return {cause, Health::kRemoteDropped};
    default: return {cause, Health::kLocalError};
  }
}

}  // namespace

Dialler::Dialler(Environment& environment, Connections& connections, Peers& peers,
                 Completions& completions, Lanes& lanes, InterfaceWatch& interface)
    : environment_(environment),
      connections_(connections),
      peers_(peers),
      completions_(completions),
      lanes_(lanes),
      interface_(interface) {}

// --- A peer ---

void Dialler::settle(Peer& peer, Instant now) {
  const Outcome outcome = std::exchange(peer.outcome, Outcome::kNone);
  switch (outcome) {
    case Outcome::kNone: return;
    case Outcome::kOpened:
      peer.refusals = peer.port_searches = 0;
      peer.interval = {};
      peer.retry_at = Instant::min();
      return;
    case Outcome::kLater:  // the peer answers, so there is no backoff
      peer.interval = {};
      peer.retry_at = now + reconnect_least(environment_.config.tunables);
      break;
    case Outcome::kAtOnce: break;
    case Outcome::kFailed: return on_attempt_failed(peer, peer.failure, now);
  }
  if (++peer.refusals < Peer::kRefusalsMax) return;
  peer.refusals = Peer::kRefusalsMax - 1;  // until one succeeds, each further one is the last
  if (!peer.has_each(environment_.quota)) {
    const Errc cause = outcome == Outcome::kLater ? Errc::kRefused : Errc::kProtocol;
    return on_attempt_failed(peer, cause, now);
  }
  environment_.count(Id::kSatisfied);
  peer.satisfied = true;
}

// A reset of an attempt that began beside open connections, and that ends with them, tells no more
// than that the peer was lost. The next message tries at once; the end of that attempt has a cause.
void Dialler::on_attempt_failed(Peer& peer, Errc cause, Instant now) {
  if (cause == Errc::kReset && peer.attempt_beside && peer.open_count() == 0) {
    peer.attempt_beside = false;
    peer.initiated = !peer.waiting.empty();
    return;
  }
  peer.interval = reconnect_after(environment_.config.tunables, peer.interval);
  peer.retry_at = now + peer.interval;
  interface_.suspect();
  if (peer.open_count() > 0) return;
  peer.initiated = false;
  const ConnectFailure failure = connect_failure(cause);
  completions_.end_all(peer.waiting, failure.status, failure.health, Completions::Left::kNothing);
  peer.was_alive = false;
  environment_.core.on_peer(peer.id.nid, lnet::PeerNotice::kDown, now);
  environment_.core.on_unreachable(peer.id.nid, cause);
}

void Dialler::dial_if_due(Peer& peer, Instant now) {
  if (!may_dial(peer, now)) return;
  if (const auto type = peer.next_type(environment_.quota)) begin_attempt(peer, *type);
  settle(peer, now);
}

// Old connections end before new ones are made, so that the states of the two sides do not mix.
bool Dialler::may_dial(Peer& peer, Instant now) const {
  if (!peer.initiated || peer.satisfied || peer.is_userspace() || interface_.given_up())
    return false;
  if (peer.attempt != nullptr || now < peer.retry_at) return false;
  bool closing = false;
  peer.connections.for_each([&](Connection& connection) {
    closing |= connection.state == State::kClosing && connection.was_open;
  });
  return !closing;
}

void Dialler::begin_attempt(Peer& peer, ConnectionType type) {
  PLNET_CHECK(peer.attempt == nullptr, "a peer has one attempt at a time");
  peer.attempt_beside = peer.open_count() > 0;
  if (lanes_.dial(peer, type)) return;
  const Protocol protocol = peer.protocol.value_or(environment_.usual_protocol(peer));
  const auto connection = dial(peer, type, protocol);
  if (!connection) return on_attempt_ended(peer, connection.error());
  peer.attempt = *connection;
  peer.port_searches = 0;
}

// The attempt ended before a HELLO came. The search for a source port goes on in the next turn.
void Dialler::on_attempt_ended(Peer& peer, Errc cause) {
  if (cause == Errc::kAgain) {
    if (++peer.port_searches < Peer::kPortSearchesMax) return peers_.serve_soon(peer);
    environment_.count(Id::kAttempts);
    environment_.count(Id::kAttemptFailed);
    cause = Errc::kBusy;
  }
  peer.port_searches = 0;
  peer.outcome = Outcome::kFailed;
  peer.failure = cause;
}

void Dialler::end_unreachable(Peer& peer, Instant now) {
  const bool backing_off = peer.interval > Duration{} && peer.retry_at > now;
  if (peer.waiting.empty() || peer.attempt != nullptr || peer.open_count() > 0 ||
      (!backing_off && !peer.is_userspace()))
    return;
  peer.waiting.for_each([this](lnet::Transmit&) { environment_.count(Id::kUnreachable); });
  completions_.end_all(peer.waiting, Errc::kNoRoute, Health::kRemoteError,
                       Completions::Left::kNothing);
  peer.initiated = false;
}

// --- A connection of ours ---

ConnectRequest Dialler::request_for(const Peer& peer, ConnectionType type) const {
  const SockLndConfig& config = environment_.config;
  const bool bulk = type != ConnectionType::kControl;
  ConnectRequest request;
  // A peer of the other address family is connected to from the address that the system chooses, as
  // the kernel does (lustre-release lnet/lnet/lib-socket.c: lnet_sock_create()).
  const bool same_family = config.nid.is_large() == peer.id.nid.is_large();
  if (same_family) request.addresses.local = address_of(config.nid, 0);
  request.addresses.remote = address_of(
      peer.id.nid, bulk ? config.tunables.accept_port_bulk : config.tunables.accept_port);
  request.privileged_port = config.privileged;
  request.options = stream_options(config.tunables);
  return request;
}

Result<Connection*> Dialler::dial(Peer& peer, ConnectionType type, Protocol protocol) {
  PLNET_CHECK(!peer.is_userspace(), "processes connect to us");
  const auto fail = [&](Errc cause) {
    environment_.count(Id::kAttempts);
    environment_.count(Id::kAttemptFailed);
    return std::unexpected(cause);
  };
  if (connections_.free_count() == 0) return fail(Errc::kNoMemory);
  // A kernel that accepts all asserts that a HELLO from an unprivileged port came over IPv4
  // (lustre-release lnet/klnds/socklnd/socklnd_cb.c: ksocknal_recv_hello()).
  if (!environment_.config.privileged && peer.id.nid.is_large()) {
    environment_.count(Id::kAttemptUnprivileged);
    return fail(Errc::kNotPermitted);
  }
  const auto stream = environment_.driver().connect(request_for(peer, type));
  if (!stream && stream.error() == Errc::kAgain) return std::unexpected(Errc::kAgain);
  if (!stream) return fail(stream.error());
  Connection* const connection = connections_.make(peer, *stream, type);
  if (connection == nullptr) return fail(Errc::kNoMemory);
  environment_.count(Id::kAttempts);
  connection->by_us = true;
  connection->protocol = protocol;
  connections_.serve_soon(*connection);
  return connection;
}

void Dialler::on_connected(Connection& connection) {
  PLNET_CHECK(connection.by_us && !connection.away, "only connections of ours are dialled");
  if (connection.state != State::kDialing) return;
  connection.state = State::kGreeting;
  connection.deadline = Instant::max();  // the next flush sets the one of this step
  connection.greeting.add_request(connection.peer->id.nid);
  connections_.add_hello(connection, static_cast<std::int32_t>(connection.type));
  connections_.serve_soon(connection);
}

std::size_t Dialler::read_hello(Connection& connection, std::span<const std::byte> staged) {
  PLNET_CHECK(connection.state == State::kGreeting, "a HELLO is read once");
  const auto before = connection.reader.state();
  const std::size_t used = connection.reader.take(staged);
  PLNET_DEBUG_CHECK(used <= staged.size(), "a HELLO ends within the bytes read");
  if (connection.reader.state() != before)
    connection.deadline = Instant::max();  // each part has its own
  if (!connection.reader.reading()) on_hello(connection);
  return used;
}

void Dialler::on_hello(Connection& connection) {
  if (connection.reader.state() != HelloReader::State::kDone)
    return give_up(connection, Id::kAttemptGarbage, Outcome::kFailed, Errc::kProtocol);
  if (connection.lane == nullptr) return judge_reply(connection, connection.reader.hello());
  PLNET_CHECK(!connection.away && connection.lane->shard != connection.lane->home,
              "the HELLO of a lane is read on its shard");
  connection.state = State::kJudged;
  environment_.driver().pause_reading(connection.stream);
  connection.lane->reply = connection.reader.hello();
  environment_.config.lanes->report(*connection.lane, LaneWord::kReply);
}

// lustre-release socklnd_cb.c: ksocknal_recv_hello(), the active part; socklnd.c:
// ksocknal_create_conn(). A refusal also tells the peer's incarnation and version.
void Dialler::judge_reply(Connection& connection, const Hello& reply) {
  PLNET_CHECK(connection.by_us && !connection.was_open, "a reply answers an attempt of ours");
  Peer& peer = *connection.peer;
  const auto fatal = [&](Id why) { give_up(connection, why, Outcome::kFailed, Errc::kProtocol); };
  if (reply.source != peer.id.nid || reply.source_pid != peer.id.pid) {
    return fatal(Id::kAttemptIdentity);
  }
  const bool refused = reply.type == static_cast<std::int32_t>(ConnectionType::kNone);
  if (!refused && inverted(reply.type) != connection.type) return fatal(Id::kAttemptType);
  if (reply.protocol == Protocol::kV1) return fatal(Id::kAttemptVersion);
  // One of the two NIDs does not fit into the version of the peer: a retry would not help.
  const bool needs_v4 = environment_.usual_protocol(peer) == Protocol::kV4;
  if (needs_v4 && reply.protocol != Protocol::kV4) return fatal(Id::kAttemptVersion);
  const bool other_version = reply.protocol != connection.protocol;
  if (!peers_.accept_identity(peer, reply)) {
    return give_up(connection, Id::kAttemptStale, Outcome::kAtOnce, Errc::kStale);
  }
  if (refused && other_version) {
    return give_up(connection, Id::kAttemptVersion, Outcome::kAtOnce, Errc::kVersion);
  }
  if (refused) return give_up(connection, Id::kAttemptRefused, Outcome::kLater, Errc::kBusy);
  connection.protocol = reply.protocol;
  environment_.count(Id::kOpenedByUs);
  peer.attempt = nullptr;
  peer.outcome = Outcome::kOpened;
  if (connection.away) environment_.config.lanes->say(*connection.lane, LaneWord::kOpen);
  connections_.open(connection, connection.reader.swapped());
}

void Dialler::give_up(Connection& connection, Id why, Outcome outcome, Errc cause) {
  PLNET_CHECK(!connection.was_open && connection.state != State::kClosing,
              "an attempt that is under way fails");
  Peer& peer = *connection.peer;
  environment_.count(why);
  if (cause == Errc::kProtocol) environment_.complain(peer.id.nid, why);
  connection.state = State::kClosing;
  connections_.close_stream(connection, cause);
  if (peer.attempt == &connection) {
    peer.attempt = nullptr;
    peer.outcome = outcome;
    peer.failure = cause;
  }
  peers_.serve_soon(peer);
}

void Dialler::on_connection_lost(Connection& connection, Errc cause) {
  Peer& peer = *connection.peer;
  const Errc why = cause == Errc::kClosed ? Errc::kReset : cause;  // as lnet_sock_read() has it
  if (connection.state == State::kOpen) {
    connections_.leave_open(connection, why);
    peer.closing = true;
    peer.close_cause = why;
  } else if (peer.attempt == &connection) {
    peer.attempt = nullptr;
    on_attempt_ended(peer, why);
  }
}

}  // namespace plnet::socklnd
