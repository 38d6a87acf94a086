// SPDX-License-Identifier: BSD-3-Clause
// Messages on their way out: which connection, and as many as fit into one write.
#include "lib/socklnd/lnd.hpp"

namespace plnet::socklnd {

using namespace lnet;

namespace {

enum class Fit : std::uint8_t { kNo, kMaybe, kYes };
enum class Kind : std::uint8_t { kMessage, kNoop, kNonblockingNoop };

// lustre-release socklnd_proto.c: ksocknal_match_tx(), ksocknal_match_tx_v3().
Fit fit_of(const Connection& connection, Kind kind, bool large) {
  const bool v2 = connection.protocol == Protocol::kV2;
  const bool elsewhere = kind == Kind::kNonblockingNoop && !v2;
  switch (connection.type) {
    case ConnectionType::kAny: return v2 ? Fit::kYes : Fit::kNo;
    case ConnectionType::kControl:
      if (elsewhere) return Fit::kNo;
      return large ? Fit::kMaybe : Fit::kYes;
    case ConnectionType::kBulkOut:
      if (elsewhere) return Fit::kNo;
      return large ? Fit::kYes : Fit::kMaybe;
    case ConnectionType::kBulkIn:
      if (elsewhere) return Fit::kYes;
      return v2 || kind != Kind::kMessage ? Fit::kMaybe : Fit::kNo;
    default: return Fit::kNo;
  }
}

bool is_large(std::uint64_t wire_bytes, const Tunables& tunables) {
  return wire_bytes >= static_cast<std::uint64_t>(tunables.min_bulk);
}

}  // namespace

// lustre-release socklnd_cb.c: ksocknal_find_conn_locked(). What lies in socket buffers is not
// counted: asking for it costs a system call.
template <class FitOf>
Connection* SockLnd::choose_by(Peer& peer, FitOf&& fit_of) {
  Connection* best = nullptr;
  Fit best_fit = Fit::kNo;
  peer.connections.for_each([&](Connection& connection) {
    if (connection.state != State::kOpen || connection.away) return;
    const Fit fit = fit_of(connection);
    if (fit == Fit::kNo || fit < best_fit) return;
    const bool emptier = best == nullptr || connection.queued_bytes < best->queued_bytes;
    const bool turn = best != nullptr && config_.tunables.round_robin != 0 &&
                      connection.queued_bytes == best->queued_bytes &&
                      connection.last_post < best->last_post;
    if (fit > best_fit || emptier || turn) {
      best = &connection;
      best_fit = fit;
    }
  });
  return best;
}

// None while one of them is lost: in this turn the others go, too, with what they would have taken.
Connection* SockLnd::choose(Peer& peer, const Transmit& transmit) {
  if (peer.closing) return nullptr;
  return choose_by(peer, [&](const Connection& connection) {
    const std::uint64_t bytes = wire_bytes(connection.protocol, transmit);
    return fit_of(connection, Kind::kMessage, is_large(bytes, config_.tunables));
  });
}

Connection* SockLnd::choose_for_noop(Peer& peer, bool nonblocking) {
  const Kind kind = nonblocking ? Kind::kNonblockingNoop : Kind::kNoop;
  return choose_by(peer, [&](const Connection& connection) {
    return fit_of(connection, kind, is_large(kFrameBytes, config_.tunables));
  });
}

void SockLnd::enqueue(Connection& connection, Transmit& transmit) {
  if (connection.is_settled()) {
    connection.sent_since = true;
    look_at(*connection.peer);  // for the time when it is to be acknowledged
  }
  connection.queue.push(transmit);
  connection.queued_bytes += wire_bytes(connection.protocol, transmit);
  connection.last_post = ++posts_;
  look_at(connection);
}

void SockLnd::pump(Connection& connection, Instant now) {
  if (std::exchange(connection.heard_since, false)) {
    connection.rx_progress = now;
    connection.peer->heard = now;
  }
  if (connection.state == State::kClosing) return;
  const auto eager = config_.tunables.eager_ack & static_cast<std::int64_t>(connection.type);
  if (std::exchange(connection.boundary, false) && eager != 0) {
    streams_.driver().acknowledge_now(connection.stream);
  }
  const bool introducing = connection.state != State::kOpen;
  if (introducing && connection.deadline == Instant::max()) {
    const Duration step = connection.by_us
                              ? timeout_
                              : Duration(std::chrono::seconds(config_.tunables.accept_timeout));
    connection.deadline = now + step;
    look_at(*connection.peer);
  }
  while (!connection.blocked && connection.state != State::kDialing) {
    if (connection.greeting_sent < connection.greeting_bytes) {
      write_greeting(connection);
    } else if (connection.state == State::kOpen && connection.has_to_send()) {
      write_some(connection);
    } else {
      break;
    }
  }
  if (std::exchange(connection.sent_since, false)) connection.tx_progress = now;
  if (connection.state == State::kRefusing &&
      connection.greeting_sent == connection.greeting_bytes) {
    connection.state = State::kClosing;
    streams_.driver().close(connection.stream, Errc::kBusy);
  }
}

void SockLnd::write_greeting(Connection& connection) {
  const std::array<std::span<const std::byte>, 1> piece{std::span(connection.greeting)
                                                            .first(connection.greeting_bytes)
                                                            .subspan(connection.greeting_sent)};
  const std::size_t taken = streams_.driver().write(connection.stream, piece);
  connection.greeting_sent = static_cast<std::uint8_t>(connection.greeting_sent + taken);
  connection.written += taken;
  connection.blocked = connection.greeting_sent < connection.greeting_bytes;
}

void SockLnd::write_some(Connection& connection) {
  if (!connection.queue.empty() && connection.queue.front()->kept) return relay_front(connection);
  gather(connection);
  counters_.add(Id::kWrites);
  const std::size_t taken = streams_.driver().write(connection.stream, outgoing_.pieces());
  connection.written += taken;
  connection.blocked = taken < outgoing_.bytes();
  count_taken(connection, taken);
}

// What was begun goes on; then acknowledgements, for which somebody keeps memory.
void SockLnd::gather(const Connection& connection) {
  outgoing_.begin(connection.front_sent, {.wanted = connection.protocol == Protocol::kV2 &&
                                                    config_.tunables.enable_csum != 0,
                                          .begun = connection.front_checksum,
                                          .spoil = spoil_checksum_});
  const Transmit* next = connection.queue.front();
  const auto add_message = [&] {
    const Transmit& transmit = *next;
    next = transmit.lnd_next;
    return outgoing_.add(transmit, connection.protocol, *config_.arenas);
  };
  if (connection.front_sent > 0 && !connection.front_is_noop && !add_message()) return;
  for (std::uint8_t i = 0; i < connection.noops && !outgoing_.full(); ++i)
    outgoing_.add_noop(connection.noop_cookies[(connection.noops_first + i) % kNoopPlaces]);
  while (next != nullptr && !outgoing_.full()) {
    if (!add_message()) return;
  }
}

void SockLnd::count_taken(Connection& connection, std::size_t taken) {
  std::uint64_t left = taken + connection.front_sent;
  connection.front_sent = 0;
  std::uint64_t end_of_item = connection.written - taken - (left - taken);
  for (const Outgoing::Item& item : outgoing_.items()) {
    if (item.spoilt && left > 0) {
      spoil_checksum_ = false;
      counters_.add(Id::kSpoilt);
    }
    if (left < item.bytes) {
      connection.front_checksum = item.checksum;
      connection.front_sent = static_cast<std::uint32_t>(left);
      connection.front_is_noop = item.noop;
      break;
    }
    left -= item.bytes;
    end_of_item += item.bytes;
    if (!item.noop) {
      connection.queued_bytes -= item.bytes;
      connection.ends[connection.messages_sent++ % kEndsRemembered] = end_of_item;
      counters_.add(Id::kSent);
      end(*connection.queue.pop(), {}, Health::kOk);
    } else {
      const std::uint64_t cookie = connection.noop_cookies[connection.noops_first];
      counters_.add(cookie == kKeepaliveCookie ? Id::kKeepalivesSent : Id::kAcksSent);
      connection.pop_noop();
    }
  }
  noops_have_room(connection);
}

void SockLnd::noops_have_room(Connection& connection) {
  if (!connection.noops_full || connection.noops > kNoopsWaitingMax / 2) return;
  connection.noops_full = false;
  if (connection.paused()) return;
  streams_.driver().resume_reading(connection.stream);
  (void)receive(connection, {});  // a message may be complete already
}

}  // namespace plnet::socklnd
