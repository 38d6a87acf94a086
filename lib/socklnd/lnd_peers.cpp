// SPDX-License-Identifier: BSD-3-Clause
// What a flush does for a peer on which something has happened, or for which a timer has run out.
#include <algorithm>

#include "lib/socklnd/lnd.hpp"

namespace plnet::socklnd {

using namespace lnet;

namespace {

struct ConnectFailure {
  Errc status;
  Health health;
};

// lustre-release socklnd_cb.c: ksocknal_txlist_done(). Other than there, an answer that breaks the
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

std::uintptr_t milliseconds(Instant now) {
  return static_cast<std::uintptr_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count());
}

Instant came(const Transmit& transmit) {
  return Instant{std::chrono::milliseconds(transmit.lnd_state >> kCameShift)};
}

}  // namespace

void SockLnd::serve(Peer& peer, Instant now) {
  if (shutting_down_ || peer.releasing) return finish(peer);
  if (is_given_up()) leave_interface(peer);
  if (peer.closing) close_all(peer);
  if (!peer.waiting.empty()) stamp(peer, now);
  if (peer.sweep || peer.check) sweep(peer, now);
  if (peer.check) check_progress(peer, now);
  peer.check = false;
  settle_outcome(peer, now);
  drain_waiting(peer);
  tell(peer, now);
  if (peer.lanes_changed) announce(peer);
  if (!peer.waiting.empty()) peer.initiated = true;
  if (may_try(peer, now)) {
    if (const auto type = peer.next_type(quota_)) start_attempt(peer, *type);
    settle_outcome(peer, now);
  }
  const bool backing_off = peer.interval > Duration{} && peer.retry_at > now;
  if (!peer.waiting.empty() && peer.attempt == nullptr && peer.open_count() == 0 &&
      (backing_off || peer.is_userspace())) {
    peer.waiting.for_each([this](Transmit&) { counters_.add(Id::kUnreachable); });
    end_all(peer.waiting, Errc::kNoRoute, Health::kRemoteError, Left::kNothing);
    peer.initiated = false;
  }
  if (!peer.bound && peer.connections.empty() && peer.waiting.empty()) return drop_peer(peer);
  arm(peer, now);
}

// Old connections end before new ones are made, so that what the two sides know of each other is
// not mixed up.
bool SockLnd::may_try(Peer& peer, Instant now) const {
  if (!peer.initiated || peer.satisfied || peer.is_userspace() || is_given_up()) return false;
  if (peer.attempt != nullptr || now < peer.retry_at) return false;
  bool closing = false;
  peer.connections.for_each([&](Connection& connection) {
    closing |= connection.state == State::kClosing && connection.was_open;
  });
  return !closing;
}

// On the way out: everything ends, then the link goes home.
void SockLnd::finish(Peer& peer) {
  end_all(peer.waiting, Errc::kShutdown, Health::kLocalAborted);
  peer.connections.for_each([&](Connection& connection) {
    connection.ours = true;
    close_connection(connection, shutting_down_ ? Id::kClosedShutdown : Id::kClosedReleased,
                     Errc::kShutdown, false);
  });
  peer.attempt = nullptr;
  peer.outcome = Outcome::kNone;
  timers_.cancel(peer.timer);
  if (!peer.releasing || !peer.connections.empty()) return;
  PeerLink* const link = peer.link;
  Peer* const bound = link != nullptr ? static_cast<Peer*>(link->lnd_peer) : nullptr;
  if (&peer != bound) return drop_peer(peer);
  bool alone = true;
  peers_by_id_.for_each(peer.id.nid, [&](Peer& other) { alone &= &other == &peer; });
  if (!alone) return;  // drop_peer() of the last one brings us here again
  report();
  link->lnd_peer = nullptr;
  drop_peer(peer);
  --releases_;
  core_.on_peer_released(*link);
}

// send() knows no time.
void SockLnd::stamp(Peer& peer, Instant now) {
  peer.waiting.for_each([&](Transmit& transmit) {
    if (transmit.lnd_state >> kCameShift == 0) {
      transmit.lnd_state |= std::max<std::uintptr_t>(milliseconds(now), 1) << kCameShift;
    }
  });
}

// Takes out what was cancelled or has lapsed and was not begun.
void SockLnd::sweep(Peer& peer, Instant now) {
  peer.sweep = false;
  peer.earliest_deadline = Instant::max();
  const auto lapsed = [&](Transmit& transmit) { return has_lapsed(peer, transmit, now); };
  peer.waiting.take_out(0, [&](Transmit& transmit) {
    if (lapsed(transmit)) return true;
    if (now < came(transmit) + timeout_) return false;
    end(transmit, std::unexpected(Errc::kTimedOut), Health::kNetworkTimeout);
    return true;
  });
  peer.connections.for_each([&](Connection& connection) {
    const bool begun = connection.front_sent > 0 && !connection.front_is_noop;
    connection.queue.take_out(begun ? 1 : 0, [&](Transmit& transmit) {
      if (!lapsed(transmit)) return false;
      connection.queued_bytes -= wire_bytes(connection.protocol, transmit);
      return true;
    });
  });
}

bool SockLnd::has_lapsed(Peer& peer, Transmit& transmit, Instant now) {
  if ((transmit.lnd_state & kCancelled) != 0) {
    end(transmit, std::unexpected(Errc::kCancelled), Health::kOk);
    return true;
  }
  if (transmit.deadline <= now) {
    counters_.add(Id::kExpired);
    end(transmit, std::unexpected(Errc::kTimedOut), Health::kNetworkTimeout);
    return true;
  }
  peer.earliest_deadline = std::min(peer.earliest_deadline, transmit.deadline);
  return false;
}

// One that ends takes the others with it, as the kernel has it.
void SockLnd::close_all(Peer& peer) {
  peer.closing = false;
  peer.connections.for_each([&](Connection& connection) {
    if (connection.state != State::kOpen) return;
    close_connection(connection, Id::kClosedSibling, peer.close_cause, false);
  });
}

// Our interface has been down for too long.
void SockLnd::leave_interface(Peer& peer) {
  peer.connections.for_each([&](Connection& connection) {
    close_connection(connection, Id::kClosedNiDown, Errc::kNetworkDown, false);
  });
  end_all(peer.waiting, Errc::kNetworkDown, Health::kLocalDropped, Left::kNothing);
  peer.attempt = nullptr;  // that it ends says nothing of the peer
  peer.outcome = Outcome::kNone;
  peer.initiated = false;
}

// lustre-release socklnd_cb.c: ksocknal_connect().
void SockLnd::settle_outcome(Peer& peer, Instant now) {
  const Outcome outcome = std::exchange(peer.outcome, Outcome::kNone);
  switch (outcome) {
    case Outcome::kNone: return;
    case Outcome::kOpened:
      peer.refusals = peer.port_searches = 0;
      peer.interval = {};
      peer.retry_at = Instant::min();
      return;
    case Outcome::kLater:  // an answer: whoever waits is not kept from a peer that is silent
      peer.interval = {};
      peer.retry_at = now + reconnect_least(config_.tunables);
      break;
    case Outcome::kAtOnce: break;
    case Outcome::kFailed: return attempt_failed(peer, peer.failure, now);
  }
  if (++peer.refusals < Peer::kRefusalsMax) return;
  peer.refusals = Peer::kRefusalsMax - 1;  // until one succeeds, each further one is the last
  if (!peer.has_each(quota_)) {
    const Errc cause = outcome == Outcome::kLater ? Errc::kRefused : Errc::kProtocol;
    return attempt_failed(peer, cause, now);
  }
  counters_.add(Id::kSatisfied);
  peer.satisfied = true;
}

void SockLnd::attempt_failed(Peer& peer, Errc cause, Instant now) {
  peer.interval = reconnect_after(config_.tunables, peer.interval);
  peer.retry_at = now + peer.interval;
  interface_.suspected = true;
  if (peer.open_count() > 0) return;
  peer.initiated = false;
  const ConnectFailure failure = connect_failure(cause);
  end_all(peer.waiting, failure.status, failure.health, Left::kNothing);
  peer.was_alive = false;
  core_.on_peer(peer.id.nid, PeerNotice::kDown, now);
  core_.on_unreachable(peer.id.nid, cause);
}

void SockLnd::start_attempt(Peer& peer, ConnectionType type) {
  if (dial_away(peer, type)) return;
  const auto connection = dial(peer, type, peer.protocol.value_or(usual_protocol(peer)));
  if (!connection) return attempt_ended(peer, connection.error());
  peer.attempt = *connection;
  peer.port_searches = 0;
}

// One that did not come to a HELLO. A search for a source port goes on in the next turn.
void SockLnd::attempt_ended(Peer& peer, Errc cause) {
  if (cause == Errc::kAgain) {
    if (++peer.port_searches < Peer::kPortSearchesMax) return look_at(peer);
    counters_.add(Id::kAttempts);
    counters_.add(Id::kAttemptFailed);
    cause = Errc::kBusy;
  }
  peer.port_searches = 0;
  peer.outcome = Outcome::kFailed;
  peer.failure = cause;
}

Result<Connection*> SockLnd::dial(Peer& peer, ConnectionType type, Protocol protocol) {
  const bool bulk = type != ConnectionType::kControl;
  ConnectRequest request;
  // To a peer of the other family: from whatever address of that family the system takes, as the
  // kernel does (lustre-release lnet/lnet/lib-socket.c: lnet_sock_create()).
  const bool same_family = config_.nid.is_large() == peer.id.nid.is_large();
  if (same_family) request.addresses.local = address_of(config_.nid, 0);
  request.addresses.remote = address_of(
      peer.id.nid, bulk ? config_.tunables.accept_port_bulk : config_.tunables.accept_port);
  request.privileged_port = config_.privileged;
  request.options = stream_options(config_.tunables);
  const auto fail = [&](Errc cause) {
    counters_.add(Id::kAttempts);
    counters_.add(Id::kAttemptFailed);
    return std::unexpected(cause);
  };
  if (connections_.free_count() == 0) return fail(Errc::kNoMemory);
  // A kernel that accepts all asserts that a HELLO from an unprivileged port came over IPv4
  // (lustre-release lnet/klnds/socklnd/socklnd_cb.c: ksocknal_recv_hello()).
  if (!config_.privileged && peer.id.nid.is_large()) {
    counters_.add(Id::kAttemptUnprivileged);
    return fail(Errc::kNotPermitted);
  }
  const auto stream = streams_.driver().connect(request);
  if (!stream && stream.error() == Errc::kAgain) return std::unexpected(Errc::kAgain);
  if (!stream) return fail(stream.error());
  Connection* const connection = new_connection(peer, *stream, type);
  if (connection == nullptr) return fail(Errc::kNoMemory);
  counters_.add(Id::kAttempts);
  connection->by_us = true;
  connection->protocol = protocol;
  look_at(*connection);
  return connection;
}

void SockLnd::drain_waiting(Peer& peer) {
  while (Transmit* const transmit = peer.waiting.front()) {
    Connection* const connection = choose(peer, *transmit);
    if (connection == nullptr) return;
    peer.waiting.pop();
    enqueue(*connection, *transmit);
  }
}

void SockLnd::tell(Peer& peer, Instant now) {
  if (std::exchange(peer.notice_lost, false)) {
    peer.was_alive = false;
    core_.on_peer(peer.id.nid, PeerNotice::kLost, now);
    if (peer.notice_silent) core_.on_unreachable(peer.id.nid, Errc::kTimedOut);
  }
  if (!std::exchange(peer.notice_alive, false)) return;
  const bool restarted = std::exchange(peer.restarted, false);
  peer.heard = now;
  peer.connections.for_each([now](Connection& connection) {
    if (connection.was_open && connection.since == Instant{}) connection.since = now;
  });
  if (peer.was_alive && !restarted) return;
  peer.was_alive = true;
  core_.on_peer(peer.id.nid, restarted ? PeerNotice::kAliveAfterRestart : PeerNotice::kAlive, now);
}

void SockLnd::check_progress(Peer& peer, Instant now) {
  peer.connections.for_each([&](Connection& connection) {
    check_connection(connection, now);
    if (connection.away) peer.heard = std::max(peer.heard, connection.lane->peer_heard.get());
    if (is_lane(connection)) connection.lane->peer_heard.set(peer.heard);
  });
  if (!peer.elsewhere) send_keepalive(peer, now);
}

void SockLnd::check_connection(Connection& connection, Instant now) {
  if (connection.state == State::kClosing || connection.away) return;
  if (connection.state == State::kOpen) return check_transfer(connection, now);
  if (now < connection.deadline) {
    // TCP goes on trying for the whole timeout; people want to know before.
    const bool silent = connection.by_us && connection.peer->open_count() == 0 &&
                        now + timeout_ - kDialPatience >= connection.deadline;
    if (silent) core_.on_unreachable(connection.peer->id.nid, Errc::kTimedOut);
    return;
  }
  if (connection.by_us) {
    give_up(connection, Id::kAttemptTimeout, Outcome::kFailed, Errc::kTimedOut);
  } else {
    close_connection(connection, Id::kClosedTxStuck, Errc::kTimedOut, false);
  }
}

// Whether its TCP has acknowledged more since.
bool SockLnd::ask_acknowledged(Connection& connection) {
  return note_acknowledged(connection,
                           streams_.driver().progress(connection.stream).unacknowledged_bytes);
}

bool SockLnd::note_acknowledged(Connection& connection, std::uint64_t under_way) {
  const std::uint64_t acknowledged = connection.written - std::min(under_way, connection.written);
  const bool more = acknowledged > connection.acknowledged;
  if (more) connection.acknowledged = acknowledged;
  return more;
}

// What was acknowledged when last asked costs nothing to know; sockets beyond so many are asked
// when those before them are done.
std::uint64_t SockLnd::unsent_bytes(Instant since) {
  const bool first = since > unsent_since_;
  unsent_since_ = std::max(unsent_since_, since);
  unsigned asked = 0;
  std::uint64_t bytes = 0;
  for (std::uint32_t slot = 0; slot < connections_.capacity(); ++slot) {
    if (!connections_.is_lent(slot)) continue;
    Connection& connection = connections_.at(slot);
    if (connection.state != State::kOpen || connection.away) continue;
    if (first) connection.owed_to = connection.written;
    if (connection.owed_to <= connection.acknowledged) continue;
    if (asked < kAskedAtOnce) {
      ++asked;
      // That is progress, of which check_transfer() will not hear any more.
      connection.sent_since |= ask_acknowledged(connection);
      look_at(connection);
    }
    if (connection.owed_to > connection.acknowledged)
      bytes += connection.owed_to - connection.acknowledged;
  }
  return bytes;
}

// A payload that is read is taken at once, so its pace is the peer's. Looked at for as long as it
// lasts, a span at a time; other messages, and what we do not read, have none.
bool SockLnd::is_slow(Connection& connection, Instant now) const {
  const bool reads = connection.rx == Rx::kReceiving && !connection.paused();
  if (config_.payload_rate_min == 0 || !reads) return false;
  Connection::Pace& pace = connection.pace;
  const bool same = pace.generation == connection.generation && connection.rx_paused < pace.since;
  const bool full = now - pace.since >= kPaceSpan;
  if (same && !full) return false;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - pace.since).count();
  const auto wanted = static_cast<std::uint64_t>(seconds) * config_.payload_rate_min;
  const bool slow = same && connection.read - pace.read < wanted;
  pace = {.generation = connection.generation, .read = connection.read, .since = now};
  return slow;
}

// A peer that says that its interface is down has as long as ours when we see its link go down.
Duration SockLnd::silence_max_of(const Peer& peer) const {
  const bool is_down = peer.link != nullptr && peer.link->is_down();
  return is_down && config_.down_grace > Duration{} ? config_.down_grace : config_.silence_max;
}

void SockLnd::check_transfer(Connection& connection, Instant now) {
  std::uint32_t unanswered = 0;
  if (connection.written > connection.acknowledged) {
    const StreamProgress progress = streams_.driver().progress(connection.stream);
    unanswered = progress.unanswered;
    if (note_acknowledged(connection, progress.unacknowledged_bytes)) {
      connection.tx_progress = now;
      connection.peer->heard = now;  // its TCP at least (ksnp_last_alive)
    }
  }
  // A peer that reads slowly, or not at all, answers.
  const Duration silence_max = silence_max_of(*connection.peer);
  const bool silent = silence_max > Duration{} && unanswered >= kUnansweredLeast;
  if (silent && now - connection.tx_progress >= silence_max) {
    connection.stuck = true;
    return close_connection(connection, Id::kClosedSilent, Errc::kTimedOut);
  }
  const bool sending = connection.has_to_send() || connection.written > connection.acknowledged;
  if (sending && now - connection.tx_progress >= timeout_) {
    connection.stuck = true;
    return close_connection(connection, Id::kClosedTxStuck, Errc::kTimedOut);
  }
  if (is_slow(connection, now)) {
    complain(connection.peer->id.nid, Id::kClosedSlow);
    return close_connection(connection, Id::kClosedSlow, Errc::kTimedOut);
  }
  if (connection.paused()) connection.rx_paused = now;
  const bool receiving = !connection.framing.at_boundary() && !connection.paused();
  const Instant expected_since = std::max(connection.rx_progress, connection.rx_paused);
  if (receiving && now - expected_since >= timeout_) {
    close_connection(connection, Id::kClosedRxStuck, Errc::kTimedOut);
  }
}

// Non-blocking NOOPs go where we send acknowledgements, and only there.
void SockLnd::send_keepalive(Peer& peer, Instant now) {
  const Duration silence = std::chrono::seconds(config_.tunables.keepalive);
  if (silence == Duration{} || now < peer.heard + silence || now < peer.keepalive_again) return;
  Connection* quietest = nullptr;
  bool answering = false;
  peer.connections.for_each([&](Connection& connection) {
    answering |= connection.noops > 0;
    const bool fits = connection.state == State::kOpen && !connection.away &&
                      connection.type == ConnectionType::kBulkIn &&
                      connection.protocol != Protocol::kV2;
    if (!fits) return;
    if (quietest == nullptr || connection.queued_bytes < quietest->queued_bytes) {
      quietest = &connection;
    }
  });
  if (quietest == nullptr || answering) return;
  quietest->push_noop(kKeepaliveCookie);
  peer.keepalive_again = now + kKeepaliveAgain;
  look_at(*quietest);
}

// The next moment at which this peer needs us though nothing happens.
void SockLnd::arm(Peer& peer, Instant now) {
  Instant when = peer.earliest_deadline;
  if (!peer.connections.empty()) when = std::min(when, now + timeout_ / 4);
  const bool watched = config_.silence_max > Duration{} || config_.down_grace > Duration{};
  peer.connections.for_each([&](const Connection& connection) {
    if (connection.state == State::kClosing) return;
    when = std::min(when, connection.deadline);
    const bool paced = config_.payload_rate_min > 0 && connection.rx == Rx::kReceiving;
    if (paced || (watched && !connection.is_settled()))
      when = std::min(when, now + kLookForSilence);
  });
  if (const Transmit* const oldest = peer.waiting.front()) {
    when = std::min(when, came(*oldest) + timeout_);
  }
  if (peer.initiated && !peer.satisfied && peer.retry_at > now)
    when = std::min(when, peer.retry_at);
  if (when == Instant::max()) {
    timers_.cancel(peer.timer);
  } else if (!peer.timer.running() || when < peer.timer.deadline()) {
    timers_.start(peer.timer, when);
  }
}

void SockLnd::on_peer_timer(Peer& peer) {
  peer.check = true;
  look_at(peer);
}

}  // namespace plnet::socklnd
