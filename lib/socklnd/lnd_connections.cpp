// SPDX-License-Identifier: BSD-3-Clause
// How connections begin and end.
#include <algorithm>
#include <cstring>
#include <optional>

#include "lib/socklnd/lnd.hpp"

namespace plnet::socklnd {

using namespace lnet;

namespace {

std::optional<SockLndCounters::Id> open_row(ConnectionType type) {
  switch (type) {
    case ConnectionType::kControl: return SockLndCounters::Id::kOpenControl;
    case ConnectionType::kBulkIn: return SockLndCounters::Id::kOpenBulkIn;
    case ConnectionType::kBulkOut: return SockLndCounters::Id::kOpenBulkOut;
    default: return std::nullopt;
  }
}

// A peer that ends its connections, breaks the protocol or begins anew says nothing of our
// interface; nor does a network on which packets are lost, unless nothing arrives there any more,
// which whoever judges NetworkTimeout looks at.
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

}  // namespace

SocketAddress SockLnd::address_of(const Nid& nid, std::int64_t port) const {
  SocketAddress address{.port = static_cast<std::uint16_t>(port)};
  if (nid.is_large()) {
    std::ranges::copy(nid.address_be, address.ip.begin());
    return address;
  }
  address.ip[10] = address.ip[11] = 0xff;
  std::copy_n(nid.address_be.begin(), 4, address.ip.begin() + 12);
  return address;
}

// nullptr, and the stream closed, if there is no room.
Connection* SockLnd::new_connection(Peer& peer, StreamId stream, ConnectionType type) {
  Connection* const connection = connections_.take();
  const bool room =
      connection != nullptr && streams_.give(stream, *this, connections_.index_of(connection));
  if (!room) {
    if (connection != nullptr) connections_.give(connection);
    counters_.add(Id::kRefusedNoRoom);
    streams_.driver().close(stream, Errc::kNoSpace);
    return nullptr;
  }
  begin(*connection, peer, type);
  connection->stream = stream;
  return connection;
}

void SockLnd::begin(Connection& connection, Peer& peer, ConnectionType type) {
  const std::uint32_t generation = connection.generation;
  connection = Connection{};
  connection.generation = generation + 1;  // an old answer for this slot stays a stale one
  connection.peer = &peer;
  connection.type = type;
  peer.connections.push_back(connection);
}

// --- Ours ---

void SockLnd::on_connected(std::uint32_t slot, const StreamAddresses& /*addresses*/) {
  Connection& connection = connections_.at(slot);
  if (connection.state != State::kDialing) return;
  connection.state = State::kGreeting;
  connection.deadline = Instant::max();  // a step of its own
  greet(connection);
  look_at(connection);
}

// Request and HELLO in one write: the acceptor's patience is short.
void SockLnd::greet(Connection& connection) {
  const Peer& peer = *connection.peer;
  const auto out = std::span(connection.greeting);
  const std::size_t request = encode_acceptor_request(peer.id.nid, out.first<kAcceptorV2Bytes>());
  connection.greeting_bytes = static_cast<std::uint8_t>(request);
  answer(connection, static_cast<std::int32_t>(connection.type));
}

// Our HELLO, behind what is in the greeting already.
void SockLnd::answer(Connection& connection, std::int32_t type) {
  Hello hello{.protocol = connection.protocol,
              .source = config_.nid,
              .destination = connection.peer->id.nid,
              .source_pid = config_.pid,
              .source_incarnation = config_.incarnation};
  hello.type = type;
  std::array<std::byte, kHelloV4Bytes> out{};
  const auto length = encode_hello(hello, out);
  PLNET_CHECK(length.has_value(), "NIDs of a network fit into its protocol");
  std::memcpy(connection.greeting.data() + connection.greeting_bytes, out.data(), *length);
  connection.greeting_bytes = static_cast<std::uint8_t>(connection.greeting_bytes + *length);
}

void SockLnd::on_reply(Connection& connection) {
  if (connection.reader.state() == HelloReader::State::kDone) {
    if (connection.lane == nullptr) return judge_reply(connection, connection.reader.hello());
    connection.state = State::kJudged;
    streams_.driver().pause_reading(connection.stream);
    connection.lane->reply = connection.reader.hello();
    return config_.lanes->report(*connection.lane, LaneWord::kReply);
  }
  give_up(connection, Id::kAttemptGarbage, Outcome::kFailed, Errc::kProtocol);
}

// lustre-release socklnd_cb.c: ksocknal_recv_hello(), the active part; socklnd.c:
// ksocknal_create_conn(). Also a refusal says who the peer is now, and in which version.
void SockLnd::judge_reply(Connection& connection, const Hello& reply) {
  Peer& peer = *connection.peer;
  const auto fatal = [&](Id why) { give_up(connection, why, Outcome::kFailed, Errc::kProtocol); };
  if (reply.source != peer.id.nid || reply.source_pid != peer.id.pid) {
    return fatal(Id::kAttemptIdentity);
  }
  const bool refused = reply.type == static_cast<std::int32_t>(ConnectionType::kNone);
  if (!refused && inverted(reply.type) != connection.type) return fatal(Id::kAttemptType);
  if (reply.protocol == Protocol::kV1) return fatal(Id::kAttemptVersion);
  // Our NID, or theirs, does not fit into what they speak: there is nothing to try again with.
  const bool needs_v4 = usual_protocol(peer) == Protocol::kV4;
  if (needs_v4 && reply.protocol != Protocol::kV4) return fatal(Id::kAttemptVersion);
  const bool other_version = reply.protocol != connection.protocol;
  if (!accept_identity(peer, reply)) {
    return give_up(connection, Id::kAttemptStale, Outcome::kAtOnce, Errc::kStale);
  }
  if (refused && other_version) {
    return give_up(connection, Id::kAttemptVersion, Outcome::kAtOnce, Errc::kVersion);
  }
  if (refused) return give_up(connection, Id::kAttemptRefused, Outcome::kLater, Errc::kBusy);
  connection.protocol = reply.protocol;
  counters_.add(Id::kOpenedByUs);
  peer.attempt = nullptr;
  peer.outcome = Outcome::kOpened;
  if (connection.away) config_.lanes->say(*connection.lane, LaneWord::kOpen);
  open(connection, connection.reader.swapped());
}

void SockLnd::give_up(Connection& connection, Id why, Outcome outcome, Errc cause) {
  Peer& peer = *connection.peer;
  counters_.add(why);
  if (cause == Errc::kProtocol) complain(peer.id.nid, why);
  connection.state = State::kClosing;
  end_stream(connection, cause);
  if (peer.attempt == &connection) {
    peer.attempt = nullptr;
    peer.outcome = outcome;
    peer.failure = cause;
  }
  look_at(peer);
}

// --- Theirs ---

void SockLnd::take(const Arrival& arrival) {
  if (has_share(arrival.peer.nid)) {
    counters_.add(Id::kRefusedShare);
    complain(arrival.peer.nid, Id::kRefusedShare);
    return streams_.driver().discard(arrival.stream);
  }
  if (connections_.free_count() == 0) close_unused();
  Peer* const known = peers_by_id_.find(arrival.peer);
  Peer* const peer = known != nullptr || shutting_down_ ? known : new_peer(arrival.peer);
  if (peer == nullptr || shutting_down_) {
    counters_.add(shutting_down_ ? Id::kClosedShutdown : Id::kRefusedNoRoom);
    return streams_.driver().discard(arrival.stream);
  }
  peer->elsewhere = false;
  look_at(*peer);
  const auto refused = refusal(*peer, arrival);
  if (!refused && take_away(*peer, arrival)) return;
  Connection* const connection = adopt(*peer, arrival);
  if (connection == nullptr) {
    if (peer->open_count() == 0) forget(*peer);
    return;
  }
  const ConnectionType type = refused ? ConnectionType::kNone : arrival.type;
  answer(*connection, static_cast<std::int32_t>(type));
  look_at(*connection);
  if (refused) {
    counters_.add(*refused);
    connection->state = State::kRefusing;
    return;
  }
  counters_.add(Id::kOpenedByPeer);
  open(*connection, arrival.swapped);
}

// A NID is one address, with any number of processes on unprivileged ports. A full set for a node
// is always within the share.
bool SockLnd::has_share(const Nid& nid) const {
  const std::size_t most = std::max(quota_.bulk, quota_.control);
  // Each process is a peer of its own here.
  const std::size_t all = std::min(config_.connections_max, config_.peers_max);
  const std::size_t share =
      std::max({all / kAddressConnectionsPart, kAddressConnectionsLeast, 3 * most});
  std::size_t count = 0;
  peers_by_id_.for_each(nid, [&](const Peer& peer) { count += peer.open_count(); });
  return count >= share;
}

// Closes a connection on which no message was ever sent or received, to make room for another. The
// place comes free in a later poll.
void SockLnd::close_unused() {
  for (std::size_t look = 0; look < kUnusedLooks; ++look) {
    const std::uint32_t slot = unused_hand_;
    unused_hand_ = slot + 1 == connection_slots() ? 0 : slot + 1;
    if (!connections_.is_lent(slot)) continue;
    Connection& connection = connections_.at(slot);
    if (connection.state != State::kOpen || connection.away || connection.by_us) continue;
    const bool unused = !connection.peer->connections.any_of([](const Connection& each) {
      return each.away || each.messages_received > 0 || each.messages_sent > 0 ||
             each.has_to_send() || each.rx != Rx::kNone;
    });
    const bool old = connection.since != Instant{} && flushed_ >= connection.since + kUnusedAfter;
    if (!unused || !old) continue;
    return close_connection(connection, Id::kClosedUnused, Errc::kNoSpace, false);
  }
}

// nullptr, and the stream gone, if it cannot be had or there is no room.
Connection* SockLnd::adopt(Peer& peer, const Arrival& arrival) {
  const auto stream = streams_.driver().adopt(arrival.stream, stream_options(config_.tunables));
  if (!stream) {
    counters_.add(Id::kRefusedAdopt);
    streams_.driver().discard(arrival.stream);
    return nullptr;
  }
  Connection* const connection = new_connection(peer, *stream, arrival.type);
  if (connection != nullptr) connection->protocol = arrival.hello.protocol;
  return connection;
}

// lustre-release socklnd.c: ksocknal_create_conn(), in its order.
std::optional<SockLnd::Id> SockLnd::refusal(Peer& peer, const Arrival& arrival) {
  if (peer.releasing) return Id::kRefusedReleasing;
  // Of two that connect to each other at once the connection of the higher NID survives.
  const bool ours_wins = std::memcmp(&peer.id.nid, &config_.nid, sizeof(Nid)) < 0;
  if (peer.attempt != nullptr && ours_wins) return Id::kRefusedRace;
  // It may not end the connections of who has the NID.
  if (!arrival.proven && peer.incarnation_known && !fits(peer, arrival.hello))
    return Id::kRefusedUnproven;
  if (!accept_identity(peer, arrival.hello)) return Id::kRefusedStale;
  const std::uint16_t most = std::max(quota_.bulk, quota_.control);
  if (peer.id.nid != config_.nid && peer.open_of(arrival.type) >= most) {
    return Id::kRefusedDuplicate;
  }
  return std::nullopt;
}

// --- Both ---

bool SockLnd::fits(const Peer& peer, const Hello& hello) {
  return peer.incarnation == hello.source_incarnation && peer.protocol == hello.protocol;
}

// False: it has restarted, or speaks another version now. All that was with it ends.
bool SockLnd::accept_identity(Peer& peer, const Hello& hello) {
  if (peer.incarnation_known && !fits(peer, hello)) {
    forget(peer);
    peer.closing = peer.open_count() > 0;
    peer.close_cause = Errc::kStale;
    look_at(peer);
    return false;
  }
  peer.protocol = hello.protocol;
  peer.incarnation = hello.source_incarnation;
  peer.incarnation_known = true;
  return true;
}

void SockLnd::forget(Peer& peer) {
  peer.protocol.reset();
  peer.incarnation_known = false;
}

void SockLnd::open(Connection& connection, bool swapped) {
  Peer& peer = *connection.peer;
  connection.state = State::kOpen;
  connection.was_open = true;
  ++peer.open_of(connection.type);
  peer.lanes_changed = config_.lanes != nullptr;
  look_at(peer);
  if (!connection.away) {
    connection.sent_since = connection.heard_since = true;
    connection.framing = Framing(connection.protocol, swapped);
    connection.deadline = Instant::max();
    counters_.add(Id::kOpen);
    if (const auto row = open_row(connection.type)) counters_.add(*row);
    look_at(connection);
  }
  if (is_lane(connection)) return;  // what it says of the peer is its home's to tell
  // lustre-release socklnd.c: ksocknal_associate_cb_conn_locked(). Whoever comes to us is there.
  peer.interval = {};
  peer.retry_at = Instant::min();
  peer.restarted |= peer.last_incarnation != 0 && peer.last_incarnation != peer.incarnation;
  peer.last_incarnation = peer.incarnation;
  peer.notice_alive = true;
}

void SockLnd::leave_open(Connection& connection, Errc cause) {
  Peer& peer = *connection.peer;
  --peer.open_of(connection.type);
  peer.lanes_changed = config_.lanes != nullptr;
  if (!connection.away) {
    counters_.subtract(Id::kOpen);
    if (const auto row = open_row(connection.type)) counters_.subtract(*row);
  }
  if (peer.open_count() > 0) return;
  peer.satisfied = false;
  peer.notice_lost = !peer.elsewhere;
  peer.notice_silent = peer.notice_lost && cause == Errc::kTimedOut;
  look_at(peer);
  if (peer.attempt == nullptr || peer.attempt->state == State::kDialing) forget(peer);
  // An attempt that has just made them end is to be repeated, whether or not anything waits.
  const bool again = peer.outcome == Outcome::kAtOnce;
  if (peer.waiting.empty() && peer.attempt == nullptr && !again) peer.initiated = false;
}

void SockLnd::complain(const Nid& nid, Id why) {
  if (config_.complaints == nullptr) return;
  const auto row = static_cast<std::size_t>(why);
  config_.complaints->tell({.nid = nid, .cause = SockLndCounters::kInfo[row].name});
}

void SockLnd::close_connection(Connection& connection, Id why, Errc cause, bool siblings) {
  if (connection.state == State::kClosing) return;
  if (connection.rx == Rx::kKept) bring(handle_of(connection));  // it goes with the socket
  Peer& peer = *connection.peer;
  if (!connection.away) counters_.add(why);
  if (cause == Errc::kProtocol && why != Id::kClosedSibling) complain(peer.id.nid, why);
  if (connection.state == State::kOpen) leave_open(connection, cause);
  connection.state = State::kClosing;
  end_stream(connection, cause);
  if (siblings) {
    peer.closing = true;
    peer.close_cause = cause;
  }
  look_at(peer);
}

void SockLnd::end_stream(Connection& connection, Errc cause) {
  if (!connection.away) return streams_.driver().close(connection.stream, cause);
  PLNET_CHECK(connection.lane != nullptr, "who stands for a connection has its lane");
  config_.lanes->say(*connection.lane, LaneWord::kClose, cause);
}

void SockLnd::on_writable(std::uint32_t slot) {
  Connection& connection = connections_.at(slot);
  connection.blocked = false;
  look_at(connection);
}

void SockLnd::on_closed(std::uint32_t slot, Errc cause, std::uint64_t unacknowledged_bytes) {
  interface_.suspected |= cause != Errc::kClosed;
  Connection& connection = connections_.at(slot);
  const bool attempt = connection.by_us && !connection.was_open;
  if (attempt && connection.state != State::kClosing) counters_.add(Id::kAttemptFailed);
  if (connection.state == State::kOpen) count_end(connection, cause);
  mourn(connection, cause);
  if (connection.was_open) count_lost(connection, unacknowledged_bytes);
  end_receive(connection, cause);
  end_transmits(connection, cause);
  Lane* const lane = connection.lane;
  bury(connection);
  if (lane != nullptr) config_.lanes->report_gone(*lane, cause);
}

// What its end means to its peer.
void SockLnd::mourn(Connection& connection, Errc cause) {
  Peer& peer = *connection.peer;
  const Errc why = cause == Errc::kClosed ? Errc::kReset : cause;  // as lnet_sock_read() has it
  if (connection.state == State::kOpen) {
    leave_open(connection, why);
    peer.closing = true;
    peer.close_cause = why;
  } else if (peer.attempt == &connection) {
    peer.attempt = nullptr;
    attempt_ended(peer, why);
  }
}

void SockLnd::bury(Connection& connection) {
  Peer& peer = *connection.peer;
  connection.ListNode<OfPeer>::unlink();
  if (connection.fresh) connection.ListNode<ForFlush>::unlink();
  connection.fresh = false;
  connection.rx = Rx::kNone;
  connections_.give(&connection);
  look_at(peer);
}

void SockLnd::count_end(const Connection& connection, Errc cause) {
  switch (cause) {
    case Errc::kClosed:
      return counters_.add(connection.framing.at_boundary() ? Id::kClosedByPeer
                                                            : Id::kClosedInMessage);
    case Errc::kReset: return counters_.add(Id::kClosedReset);
    case Errc::kTimedOut: return counters_.add(Id::kClosedTcpTimeout);
    default: return counters_.add(Id::kClosedError);
  }
}

void SockLnd::count_lost(const Connection& connection, std::uint64_t unacknowledged) {
  if (unacknowledged == 0) return;
  counters_.add(Id::kLossyCloses);
  counters_.add(Id::kLostBytes, unacknowledged);
  const std::uint64_t safe = connection.written - std::min(unacknowledged, connection.written);
  const auto known = std::min<std::uint64_t>(connection.messages_sent, kEndsRemembered);
  for (std::uint64_t i = 0; i < known; ++i) {
    if (connection.ends[i] > safe) counters_.add(Id::kLostMessages);
  }
}

// lustre-release socklnd_cb.c: ksocknal_process_transmit(), ksocknal_tx_done();
// socklnd.c: ksocknal_destroy_conn(). For the kernel all of these are local errors: there a peer
// that resets its connections takes the health of our interface down.
void SockLnd::end_transmits(Connection& connection, Errc cause) {
  if (connection.ours) return end_all(connection.queue, Errc::kShutdown, Health::kLocalAborted);
  if (connection.queue.empty()) return;
  const bool begun = connection.front_sent > 0 && !connection.front_is_noop;
  const bool of_peer = is_of_peer(cause);
  if (connection.stuck || (begun && cause == Errc::kTimedOut)) {
    end(*connection.queue.pop(), std::unexpected(Errc::kTimedOut),
        connection.stuck ? Health::kNetworkTimeout : Health::kRemoteTimeout);
  } else if (begun) {
    end(*connection.queue.pop(), std::unexpected(Errc::kIo),
        of_peer ? Health::kRemoteError : Health::kLocalError);
  }
  end_all(connection.queue, Errc::kIo, of_peer ? Health::kRemoteDropped : Health::kLocalDropped,
          Left::kNothing);
}

// lustre-release socklnd.c: ksocknal_destroy_conn().
void SockLnd::end_receive(Connection& connection, Errc cause) {
  const Rx was = std::exchange(connection.rx, Rx::kNone);
  if (was == Rx::kNone) return;
  PLNET_CHECK(was != Rx::kKept, "a stream that keeps a payload does not end");
  --receiving_;
  if (was == Rx::kParked) return core_.on_parked_gone(handle_of(connection), cause);
  const bool wanted = was == Rx::kReceiving || connection.decision.verdict == RxVerdict::kReceive;
  if (was == Rx::kSkipping || !wanted) return;
  if (connection.ours) {
    core_.on_received(handle_of(connection), std::unexpected(Errc::kShutdown),
                      Health::kLocalAborted);
  } else {
    core_.on_received(handle_of(connection), std::unexpected(Errc::kIo),
                      is_of_peer(cause) ? Health::kRemoteError : Health::kLocalError);
  }
}

}  // namespace plnet::socklnd
