// SPDX-License-Identifier: BSD-3-Clause
#include "lib/socklnd/progress_watch.hpp"

#include <algorithm>

#include "lib/base/check.hpp"

namespace plnet::socklnd {

void ProgressWatch::check(Peer& peer, Instant now) {
  peer.connections.for_each([&](Connection& connection) {
    check(connection, now);
    if (connection.away) peer.heard = std::max(peer.heard, connection.lane->peer_heard.get());
    if (connection.is_lane()) connection.lane->peer_heard.set(peer.heard);
  });
  if (!peer.elsewhere) noops_.keep_alive(peer, now);
}

void ProgressWatch::check(Connection& connection, Instant now) {
  if (connection.state == State::kClosing || connection.away) return;
  if (connection.state == State::kOpen) return check_transfer(connection, now);
  check_introduction(connection, now);
}

void ProgressWatch::check_introduction(Connection& connection, Instant now) {
  if (now < connection.deadline) {
    // TCP tries for the whole timeout; an operator wants to know earlier.
    const bool silent = connection.by_us && connection.peer->open_count() == 0 &&
                        now + environment_.timeout - kDialPatience >= connection.deadline;
    if (silent) environment_.core.on_unreachable(connection.peer->id.nid, Errc::kTimedOut);
    return;
  }
  if (connection.by_us) {
    dialler_.give_up(connection, Id::kAttemptTimeout, Outcome::kFailed, Errc::kTimedOut);
  } else {
    connections_.close(connection, Id::kClosedTxStuck, Errc::kTimedOut, false);
  }
}

void ProgressWatch::check_transfer(Connection& connection, Instant now) {
  std::uint32_t unanswered = 0;
  PLNET_DEBUG_CHECK(connection.acknowledged <= connection.written,
                    "the peer acknowledges bytes that were written");
  if (connection.written > connection.acknowledged) {
    const StreamProgress progress = environment_.driver().progress(connection.stream);
    unanswered = progress.unanswered;
    if (note_acknowledged(connection, progress.unacknowledged_bytes)) {
      connection.tx_progress = now;
      connection.peer->heard = now;  // its TCP at least (ksnp_last_alive)
    }
  }
  // The TCP of a peer that reads slowly, or not at all, answers.
  const Duration silence_max = silence_max_of(*connection.peer);
  const bool silent = silence_max > Duration{} && unanswered >= kUnansweredLeast;
  if (silent && now - connection.tx_progress >= silence_max) {
    connection.stuck = true;
    return connections_.close(connection, Id::kClosedSilent, Errc::kTimedOut);
  }
  const bool sending = connection.has_to_send() || connection.written > connection.acknowledged;
  if (sending && now - connection.tx_progress >= environment_.timeout) {
    connection.stuck = true;
    return connections_.close(connection, Id::kClosedTxStuck, Errc::kTimedOut);
  }
  if (is_slow(connection, now)) {
    environment_.complain(connection.peer->id.nid, Id::kClosedSlow);
    return connections_.close(connection, Id::kClosedSlow, Errc::kTimedOut);
  }
  if (connection.paused()) connection.rx_paused = now;
  const bool receiving = !connection.framing.at_boundary() && !connection.paused();
  const Instant expected_since = std::max(connection.rx_progress, connection.rx_paused);
  if (receiving && now - expected_since >= environment_.timeout) {
    connections_.close(connection, Id::kClosedRxStuck, Errc::kTimedOut);
  }
}

// Bytes of a payload are taken as soon as they are read, so the rate is the peer's. It is measured
// for as long as the payload lasts, a span at a time; not of other messages, nor while reading is
// paused.
bool ProgressWatch::is_slow(Connection& connection, Instant now) const {
  const std::uint32_t rate_min = environment_.config.payload_rate_min;
  const bool reads = connection.rx == Connection::Rx::kReceiving && !connection.paused();
  if (rate_min == 0 || !reads) return false;
  Connection::Pace& pace = connection.pace;
  const bool same = pace.generation == connection.generation && connection.rx_paused < pace.since;
  const bool full = now - pace.since >= kPaceSpan;
  if (same && !full) return false;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - pace.since).count();
  const auto wanted = static_cast<std::uint64_t>(seconds) * rate_min;
  const bool slow = same && connection.read - pace.read < wanted;
  pace = {.generation = connection.generation, .read = connection.read, .since = now};
  return slow;
}

// A peer that reports its interface down has as long as our own interface when its link is down.
Duration ProgressWatch::silence_max_of(const Peer& peer) const {
  const SockLndConfig& config = environment_.config;
  const bool is_down = peer.link != nullptr && peer.link->is_down();
  return is_down && config.down_grace > Duration{} ? config.down_grace : config.silence_max;
}

bool ProgressWatch::ask_acknowledged(Connection& connection) {
  return note_acknowledged(connection,
                           environment_.driver().progress(connection.stream).unacknowledged_bytes);
}

bool ProgressWatch::note_acknowledged(Connection& connection, std::uint64_t unacknowledged) {
  const std::uint64_t acknowledged =
      connection.written - std::min(unacknowledged, connection.written);
  const bool more = acknowledged > connection.acknowledged;
  if (more) connection.acknowledged = acknowledged;
  return more;
}

Instant ProgressWatch::next_check(Peer& peer, Instant now) const {
  const SockLndConfig& config = environment_.config;
  if (peer.connections.empty()) return Instant::max();
  Instant when = now + environment_.timeout / 4;
  const bool watched = config.silence_max > Duration{} || config.down_grace > Duration{};
  peer.connections.for_each([&](const Connection& connection) {
    if (connection.state == State::kClosing) return;
    when = std::min(when, connection.deadline);
    const bool paced = config.payload_rate_min > 0 && connection.rx == Connection::Rx::kReceiving;
    if (paced || (watched && !connection.is_settled()))
      when = std::min(when, now + kLookForSilence);
  });
  return when;
}

// Acknowledgements that are known already cost no system call. Further sockets are asked when those
// before them have nothing unacknowledged.
std::uint64_t ProgressWatch::unsent_bytes(Instant since) {
  const bool first = since > unsent_since_;
  unsent_since_ = std::max(unsent_since_, since);
  unsigned asked = 0;
  std::uint64_t bytes = 0;
  for (std::uint32_t slot = 0; slot < connections_.slots(); ++slot) {
    Connection* const connection = connections_.find(slot);
    if (connection == nullptr || connection->state != State::kOpen || connection->away) continue;
    if (first) connection->owed_to = connection->written;
    if (connection->owed_to <= connection->acknowledged) continue;
    if (asked < kAskedAtOnce) {
      ++asked;
      // This is progress that check_transfer() will not see any more.
      connection->sent_since |= ask_acknowledged(*connection);
      connections_.serve_soon(*connection);
    }
    PLNET_DEBUG_CHECK(connection->owed_to <= connection->written,
                      "the transport has bytes that were written");
    if (connection->owed_to > connection->acknowledged)
      bytes += connection->owed_to - connection->acknowledged;
  }
  return bytes;
}

}  // namespace plnet::socklnd
