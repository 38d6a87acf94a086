// SPDX-License-Identifier: BSD-3-Clause
// The contract with the core and the driver, and the turn.
#include "lib/socklnd/lnd.hpp"

#include <algorithm>
#include <utility>

#include "lib/base/check.hpp"

namespace plnet::socklnd {

using lnet::PeerLink;
using lnet::PeerNotice;
using lnet::Transmit;
using Left = Completions::Left;

SockLnd::SockLnd(const SockLndConfig& config, lnet::LndUpcalls& core, StreamSwitch& streams)
    : environment_(config, core, streams),
      traits_{.name = "tcp",
              .net_type = lnet::NetType::kTcp,
              .takes_kept = config.relay_bytes_min > 0,
              .connects = true,
              .bulk_bytes_min = bulk_bytes_min(config),
              .lnd_timeout = environment_.timeout},
      completions_(environment_),
      connections_(environment_, peers_),
      peers_(environment_),
      noops_(environment_, connections_),
      kept_(environment_, connections_, noops_),
      sends_(environment_, connections_, peers_, completions_),
      receives_(environment_, connections_, peers_, noops_),
      interface_(environment_),
      lanes_(environment_, connections_),
      dialler_(environment_, connections_, peers_, completions_, lanes_, interface_),
      arrivals_(environment_, connections_, peers_, lanes_),
      lane_notes_(environment_, connections_, peers_, dialler_),
      progress_(environment_, connections_, dialler_, noops_) {
  connections_.set_receivers(*this, kept_);
}

SockLnd::~SockLnd() = default;

// Timers that run keep the old timeout until they expire.
void SockLnd::set_tunables(const Tunables& tunables) {
  if (tunables.inject_csum_error != environment_.config.tunables.inject_csum_error)
    sends_.set_spoil_checksum(tunables.inject_csum_error != 0);
  const ConnectionQuota before = environment_.quota;
  environment_.set_tunables(tunables);
  traits_.lnd_timeout = environment_.timeout;
  traits_.bulk_bytes_min = bulk_bytes_min(environment_.config);
  if (environment_.quota.bulk <= before.bulk) return;
  for (std::uint32_t i = 0; i < peers_.slots(); ++i) {
    Peer* const peer = peers_.at(i);
    if (peer == nullptr) continue;
    peer->satisfied = false;
    peers_.serve_soon(*peer);
  }
}

// --- The contract with the core ---

std::size_t SockLnd::send(std::span<Transmit* const> burst) {
  return environment_.shutting_down ? 0 : sends_.send(burst);
}

void SockLnd::resume(lnet::RxHandle rx, const lnet::RxDecision& decision) {
  PLNET_DEBUG_CHECK(is_sound(decision), "a decision has room for the bytes that it takes");
  receives_.resume(rx, decision);
}

void SockLnd::cancel(Transmit& transmit) {
  sends_.cancel(transmit);
}

void SockLnd::release_peer(PeerLink& link) {
  if (link.lnd_peer == nullptr) {
    // A peer whose first message waits for a decision is not bound to the link yet.
    peers_.for_each(link.nid, [&](Peer& peer) {
      peer.closing = true;
      peer.close_cause = Errc::kShutdown;
      peers_.serve_soon(peer);
    });
    return environment_.core.on_peer_released(link);
  }
  const Peer& bound = *static_cast<const Peer*>(link.lnd_peer);
  PLNET_CHECK(bound.link == &link && bound.id.nid == link.nid,
              "a link and its peer name each other");
  if (bound.releasing) return;
  ++releases_;
  peers_.for_each(link.nid, [&](Peer& peer) {
    peer.releasing = true;
    peers_.serve_soon(peer);
  });
}

void SockLnd::shut_down() {
  if (std::exchange(environment_.shutting_down, true)) return;
  peers_.serve_all_soon();
}

bool SockLnd::idle() const {
  if (completions_.messages() > 0 || environment_.receiving > 0 || releases_ > 0) return false;
  return !environment_.shutting_down || connections_.none();
}

std::uint64_t SockLnd::unsent_bytes(Instant since) {
  return progress_.unsent_bytes(since);
}

Instant SockLnd::next_deadline() const {
  if (connections_.has_to_serve() || peers_.has_busy() || kept_.has_old()) return Instant::min();
  return std::min(peers_.next_timer(), interface_.next_deadline());
}

std::optional<ConnectionFacts> SockLnd::connection_facts(std::uint32_t slot, Instant now) const {
  const Connection* const connection = connections_.find(slot);
  // The shard on which it lies reports a connection.
  if (connection == nullptr || connection->away) return std::nullopt;
  return facts_of(*connection, now);
}

std::optional<PeerFacts> SockLnd::peer_facts(std::uint32_t slot, Instant now) {
  Peer* const peer = peers_.at(slot);
  if (peer == nullptr || peer->elsewhere) return std::nullopt;  // its home reports it
  return facts_of(*peer, environment_.quota, now);
}

// --- The contract with the driver ---

std::span<std::byte> SockLnd::destination(std::uint32_t slot) {
  const Connection& connection = connections_.of_slot(slot);
  if (connection.state != State::kOpen) return {};
  return receives_.destination(connection);
}

std::size_t SockLnd::on_bytes(std::uint32_t slot, std::size_t direct,
                              std::span<const std::byte> staged) {
  Connection& connection = connections_.of_slot(slot);
  PLNET_DEBUG_CHECK(direct == 0 || connection.state == State::kOpen,
                    "payload goes straight to its target on open connections alone");
  connection.heard_since = true;
  connections_.serve_soon(connection);
  std::size_t used = 0;
  if (connection.state == State::kGreeting) {
    used = dialler_.read_hello(connection, staged);
    PLNET_CHECK(used <= staged.size(), "a HELLO ends within the bytes read");
    // The HELLO is not complete, or its home judges it while reading is paused.
    if (connection.state == State::kGreeting || connection.state == State::kJudged) return used;
  }
  if (connection.state != State::kOpen) return staged.size();
  used += receives_.on_bytes(connection, direct, staged.subspan(used));
  PLNET_DEBUG_CHECK(used <= staged.size(), "no more bytes are used than were read");
  connection.read += direct + used;
  kept_.wait_for_rest(connection);
  return used;
}

void SockLnd::on_writable(std::uint32_t slot) {
  Connection& connection = connections_.of_slot(slot);
  PLNET_DEBUG_CHECK(!connection.away, "a stand-in has no stream");
  connection.blocked = false;
  connections_.serve_soon(connection);
}

void SockLnd::on_awaited(std::uint32_t slot) {
  kept_.on_awaited(connections_.of_slot(slot));
}

void SockLnd::on_connected(std::uint32_t slot, const StreamAddresses& /*addresses*/) {
  dialler_.on_connected(connections_.of_slot(slot));
}

void SockLnd::on_closed(std::uint32_t slot, Errc cause, std::uint64_t unacknowledged_bytes) {
  if (cause != Errc::kClosed) interface_.suspect();
  Connection& connection = connections_.of_slot(slot);
  PLNET_CHECK(!connection.away, "a stand-in has no stream");
  const bool attempt = connection.by_us && !connection.was_open;
  if (attempt && connection.state != State::kClosing) environment_.count(Id::kAttemptFailed);
  connections_.count_end(connection, cause, unacknowledged_bytes);
  dialler_.on_connection_lost(connection, cause);
  receives_.end(connection, cause);
  sends_.end_all(connection, cause);
  Lane* const lane = connection.lane;
  connections_.release(connection);
  if (lane != nullptr) environment_.config.lanes->report_gone(*lane, cause);
}

// --- The turn ---

unsigned SockLnd::flush(Instant now) {
  environment_.flushed = now;
  unsigned work = peers_.run_timers(now);
  if (interface_.gives_up(now)) peers_.serve_all_soon();
  kept_.bring_old();
  // An event of a connection (an attempt has opened, a decision has come) is an event for its peer,
  // which is served below. Messages that the peer then puts on connections go out in the second
  // round.
  for (unsigned round = 0; round < 2; ++round) {
    while (Connection* const connection = connections_.next_to_serve()) {
      ++work;
      receives_.run_decided(*connection);
      serve(*connection, now);
    }
    IntrusiveList<Peer> busy;
    peers_.take_busy(busy);
    while (Peer* const peer = busy.pop_front()) {
      ++work;
      peers_.set_quiet(*peer);
      serve(*peer, now);
    }
  }
  completions_.report();
  interface_.check(now);
  return work;
}

void SockLnd::serve(Connection& connection, Instant now) {
  if (std::exchange(connection.heard_since, false)) {
    connection.rx_progress = now;
    connection.peer->heard = now;
  }
  if (connection.state == State::kClosing) return;
  const Tunables& tunables = environment_.config.tunables;
  const auto eager = tunables.eager_ack & static_cast<std::int64_t>(connection.type);
  if (std::exchange(connection.boundary, false) && eager != 0) {
    environment_.driver().acknowledge_now(connection.stream);
  }
  const bool introducing = connection.state != State::kOpen;
  if (introducing && connection.deadline == Instant::max()) {
    const Duration step = connection.by_us
                              ? environment_.timeout
                              : Duration(std::chrono::seconds(tunables.accept_timeout));
    connection.deadline = now + step;
    peers_.serve_soon(*connection.peer);
  }
  write_all(connection);
  if (std::exchange(connection.sent_since, false)) connection.tx_progress = now;
  if (connection.state == State::kRefusing && connection.greeting.done()) {
    connection.state = State::kClosing;
    connections_.close_stream(connection, Errc::kBusy);
  }
}

void SockLnd::write_all(Connection& connection) {
  while (!connection.blocked && connection.state != State::kDialing) {
    if (!connection.greeting.done()) {
      sends_.write_greeting(connection);
    } else if (connection.state == State::kOpen && connection.has_to_send()) {
      sends_.write(connection);
      if (noops_.resume_if_room(connection)) (void)receives_.read(connection, {});
    } else {
      return;
    }
  }
}

void SockLnd::serve(Peer& peer, Instant now) {
  if (environment_.shutting_down || peer.releasing) return end_peer(peer);
  if (interface_.given_up()) leave_interface(peer);
  if (peer.closing) close_siblings(peer);
  if (!peer.waiting.empty()) Sends::stamp(peer, now);
  if (peer.sweep || peer.check) sends_.end_expired(peer, now);
  if (peer.check) progress_.check(peer, now);
  peer.check = false;
  dialler_.settle(peer, now);
  sends_.queue_waiting(peer);
  tell_core(peer, now);
  if (peer.lanes_changed) lanes_.announce(peer);
  if (!peer.waiting.empty()) peer.initiated = true;
  dialler_.dial_if_due(peer, now);
  dialler_.end_unreachable(peer, now);
  if (!peer.bound && peer.connections.empty() && peer.waiting.empty()) return peers_.remove(peer);
  set_timer(peer, now);
}

// The kernel too closes all connections of a peer if one of them ends.
void SockLnd::close_siblings(Peer& peer) {
  peer.closing = false;
  PLNET_CHECK(!peer.releasing, "a peer that is released ends as a whole");
  peer.connections.for_each([&](Connection& connection) {
    if (connection.state != State::kOpen) return;
    connections_.close(connection, Id::kClosedSibling, peer.close_cause, false);
  });
}

// Our interface has been down for longer than the grace period.
void SockLnd::leave_interface(Peer& peer) {
  peer.connections.for_each([&](Connection& connection) {
    connections_.close(connection, Id::kClosedNiDown, Errc::kNetworkDown, false);
  });
  completions_.end_all(peer.waiting, Errc::kNetworkDown, Health::kLocalDropped, Left::kNothing);
  peer.attempt = nullptr;  // its end says nothing of the peer
  peer.outcome = Outcome::kNone;
  peer.initiated = false;
}

void SockLnd::tell_core(Peer& peer, Instant now) {
  lnet::LndUpcalls& core = environment_.core;
  if (std::exchange(peer.notice_lost, false)) {
    peer.was_alive = false;
    core.on_peer(peer.id.nid, PeerNotice::kLost, now);
    if (peer.notice_silent) core.on_unreachable(peer.id.nid, Errc::kTimedOut);
  }
  if (!std::exchange(peer.notice_alive, false)) return;
  const bool restarted = std::exchange(peer.restarted, false);
  peer.heard = now;
  peer.connections.for_each([now](Connection& connection) {
    if (connection.was_open && connection.since == Instant{}) connection.since = now;
  });
  if (peer.was_alive && !restarted) return;
  peer.was_alive = true;
  core.on_peer(peer.id.nid, restarted ? PeerNotice::kAliveAfterRestart : PeerNotice::kAlive, now);
}

// The next moment at which the peer is to be served though nothing happens.
void SockLnd::set_timer(Peer& peer, Instant now) {
  Instant when = std::min(peer.earliest_deadline, progress_.next_check(peer, now));
  if (const Transmit* const oldest = peer.waiting.front())
    when = std::min(when, waits_since(*oldest) + environment_.timeout);
  if (peer.initiated && !peer.satisfied && peer.retry_at > now)
    when = std::min(when, peer.retry_at);
  peers_.serve_at(peer, when);
}

// The LND shuts down, or the core wants the peer released: everything of it ends.
void SockLnd::end_peer(Peer& peer) {
  const Id why = environment_.shutting_down ? Id::kClosedShutdown : Id::kClosedReleased;
  completions_.end_all(peer.waiting, Errc::kShutdown, Health::kLocalAborted);
  peer.connections.for_each([&](Connection& connection) {
    connection.ours = true;
    connections_.close(connection, why, Errc::kShutdown, false);
  });
  peer.attempt = nullptr;
  peer.outcome = Outcome::kNone;
  peers_.stop_timer(peer);
  if (peer.releasing && peer.connections.empty()) release(peer);
}

// The peer that is bound to the link goes last of all processes of its NID.
void SockLnd::release(Peer& peer) {
  PeerLink* const link = peer.link;
  const Peer* const bound = link != nullptr ? static_cast<Peer*>(link->lnd_peer) : nullptr;
  if (&peer != bound) return peers_.remove(peer);
  bool alone = true;
  peers_.for_each(peer.id.nid, [&](Peer& other) { alone &= &other == &peer; });
  if (!alone) return;  // Peers::remove() of the last one serves this peer again
  PLNET_CHECK(releases_ > 0, "only a link that the core has released goes");
  PLNET_CHECK(bound->link == link && peer.releasing,
              "a link goes with the peer that is bound to it");
  completions_.report();
  link->lnd_peer = nullptr;
  peers_.remove(peer);
  --releases_;
  environment_.core.on_peer_released(*link);
}

}  // namespace plnet::socklnd
