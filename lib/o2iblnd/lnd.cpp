// SPDX-License-Identifier: BSD-3-Clause
// The contract with the core, and the turn.
#include "lib/o2iblnd/lnd.hpp"

#include <algorithm>
#include <utility>

#include "lib/base/check.hpp"

namespace plnet::o2iblnd {

namespace {

lnet::LndTraits traits_of(const O2ibLndConfig& config) {
  const std::uint32_t inline_bytes_max = config.always_bulk ? 0 : kInlineBytesMax;
  return {.name = "o2ib",
          .net_type = lnet::NetType::kO2ib,
          .places_replies = true,
          .reports_timeouts = true,
          .connects = true,
          .inline_bytes_max = inline_bytes_max,
          .bulk_bytes_min = config.lanes == nullptr ? ~0U : inline_bytes_max + 1,
          .lnd_timeout = lnd_timeout(config.tunables, config.lnet_lnd_timeout)};
}

}  // namespace

O2ibLnd::O2ibLnd(const O2ibLndConfig& config, lnet::LndUpcalls& core, VerbsDriver& driver)
    : environment_(config, core, driver),
      traits_(traits_of(config)),
      tx_pool_(environment_, Connections::receives_max(config)),
      inbound_pool_(config.receives_max),
      connections_(environment_),
      peers_(environment_),
      sends_(environment_, tx_pool_, connections_, receives_),
      receives_(environment_, inbound_pool_, connections_, peers_, sends_),
      handshakes_(environment_, connections_, peers_, sends_, receives_),
      look_at_(config.start) {
  PLNET_CHECK(config.nid.is_of(lnet::NetType::kO2ib) && !config.nid.is_large(), "a NID of o2ib");
  PLNET_CHECK(config.incarnation != 0, "0 says that an incarnation is not known");
  PLNET_CHECK(config.connections_max > 0 && config.peers_max > 0, "room for a connection at least");
  driver.set_mapping(map_rules(environment_.tunables));
}

O2ibLnd::~O2ibLnd() = default;

Result<void> O2ibLnd::listen() {
  PLNET_CHECK(!listening_ && !environment_.shutting_down, "an LND listens once");
  const auto done =
      environment_.driver.listen({environment_.config.nid.address32(),
                                  static_cast<std::uint16_t>(environment_.tunables.service)});
  listening_ = done.has_value();
  return done;
}

std::size_t O2ibLnd::send(std::span<lnet::Transmit* const> burst) {
  std::size_t taken = 0;
  while (taken < burst.size() && !must_wait(*burst[taken]) && sends_.accept(*burst[taken]))
    ++taken;
  return taken;
}

// A message may reach a lane before the word that opens the lane.
bool O2ibLnd::must_wait(const lnet::Transmit& transmit) const {
  const LaneEnd* const lanes = environment_.config.lanes;
  if (transmit.lane == 0 || lanes == nullptr || lanes->empty()) return false;
  const Peer* const peer = peers_.find(lnet::to_nid64(transmit.next_hop->nid).value);
  return peer == nullptr || peer->connections.empty();
}

void O2ibLnd::resume(lnet::RxHandle rx, const lnet::RxDecision& decision) {
  PLNET_DEBUG_CHECK(is_sound(decision), "a decision of the core is complete");
  receives_.resume(rx, decision);
}

void O2ibLnd::cancel(lnet::Transmit& transmit) {
  sends_.cancel(transmit);
}

void O2ibLnd::release_peer(lnet::PeerLink& link) {
  peers_.start_release(link);
  releases_due_ = true;
}

void O2ibLnd::shut_down() {
  environment_.shutting_down = true;
}

bool O2ibLnd::idle() const {
  PLNET_DEBUG_CHECK(tx_pool_.used() > 0 || environment_.sends_posted == 0,
                    "each posted send belongs to a message");
  return tx_pool_.used() == 0 && inbound_pool_.free_count() == inbound_pool_.capacity() &&
         peers_.releasing().empty() && environment_.reported_count == 0 && !has_work() &&
         (!environment_.shutting_down || connections_.used() == 0);
}

bool O2ibLnd::has_work() const {
  return sends_.has_outgoing() || receives_.has_decided() || connections_.has_to_serve() ||
         connections_.has_closed() || peers_.has_to_announce() || releases_due_ ||
         (environment_.shutting_down && !closed_everything_);
}

Instant O2ibLnd::next_deadline() const {
  if (has_work()) return Instant::min();
  const bool anything = connections_.used() > 0 || peers_.size() > 0;
  return anything ? look_at_ : Instant::max();
}

unsigned O2ibLnd::flush(Instant now) {
  environment_.now = now;
  sends_.end_cancelled();
  if (environment_.shutting_down && !std::exchange(closed_everything_, true)) close_everything();
  unsigned work = end_closed();
  look_around();
  work += receives_.run_decided();
  work += launch();
  work += serve();
  work += end_closed();
  if (releases_due_) work += serve_releases();
  environment_.report();
  while (Peer* const peer = peers_.next_to_announce())
    handshakes_.announce(*peer);
  return work;
}

unsigned O2ibLnd::launch() {
  unsigned work = 0;
  while (Tx* const tx = sends_.next_outgoing()) {
    launch(*tx);
    ++work;
  }
  return work;
}

void O2ibLnd::launch(Tx& tx) {
  PLNET_DEBUG_CHECK(tx.transmit != nullptr && tx.connection == nullptr,
                    "only messages of the core wait to be sent");
  lnet::PeerLink& link = *tx.transmit->next_hop;
  if (environment_.shutting_down || (!peers_.releasing().empty() && peers_.is_releasing(link)))
    return sends_.give_up(tx, Errc::kShutdown, Health::kLocalAborted);
  if (tx.transmit->deadline <= environment_.now) {
    environment_.count(Id::kExpired);
    return sends_.give_up(tx, Errc::kTimedOut, Health::kLocalTimeout);
  }
  const Result<Peer*> found = peers_.of_link(link);
  if (!found) return sends_.give_up(tx, found.error(), Health::kLocalError);
  Peer& peer = **found;
  tx.peer = &peer;
  Connection* const connection = peer.connections.pop_front();
  if (connection == nullptr && tx.transmit->lane != 0) {  // mostly ended by the peer
    peer.elsewhere = true;
    environment_.count(Id::kNoLane);
    return sends_.give_up(tx, Errc::kIo, Health::kRemoteDropped);
  }
  if (connection == nullptr) return handshakes_.wait_for_connection(peer, tx);
  PLNET_DEBUG_CHECK(connection->is_open(), "the connections of a peer are established");
  peer.connections.push_back(*connection);  // round robin
  sends_.queue(tx, *connection);
}

unsigned O2ibLnd::serve() {
  IntrusiveList<Connection, ForService> now;
  connections_.take_to_serve(now);
  unsigned work = 0;
  while (Connection* const connection = now.pop_front()) {
    receives_.offer_arrived(*connection);
    sends_.serve(*connection);
    ++work;
  }
  return work;
}

// Ends the messages of connections that are disconnected by now.
unsigned O2ibLnd::end_closed() {
  unsigned work = 0;
  while (Connection* const connection = connections_.next_closed()) {
    sends_.end_all(*connection);
    receives_.end_all(*connection);
    handshakes_.on_ended(*connection);
    const Peer& peer = *connection->peer;
    if (peer.reconnecting > 0) look_at_ = std::min(look_at_, peer.retry_at);
    releases_due_ = releases_due_ || !peers_.releasing().empty();
    ++work;
  }
  return work;
}

void O2ibLnd::look_around() {
  if (environment_.now < look_at_) return;
  std::uint32_t left = kLookedAtOnce;
  for (; left > 0 && next_connection_ < connections_.slots(); ++next_connection_) {
    Connection* const connection = connections_.at(next_connection_);
    if (connection == nullptr) continue;
    look_at(*connection);
    --left;
  }
  for (; left > 0 && next_peer_ < peers_.slots(); ++next_peer_) {
    Peer* const peer = peers_.at(next_peer_);
    if (peer == nullptr) continue;
    handshakes_.look_at(*peer);
    --left;
  }
  if (left == 0) return;  // the next flush goes on
  next_connection_ = next_peer_ = 0;
  look_at_ = environment_.now + kLookInterval;
}

// A late message ends the whole queue pair: nothing else keeps the peer from our memory.
void O2ibLnd::look_at(Connection& connection) {
  if (!connection.is_open()) return handshakes_.look_at(connection);
  Instant& alive = connection.peer->last_alive;
  if (connection.away) {
    alive = std::max(alive, connection.lane->peer_heard.get());
    return;
  }
  if (connection.is_lane()) connection.lane->peer_heard.set(alive);
  sends_.expire(connection.messages);
  sends_.expire(connection.for_answer);
  if (sends_.is_late(connection)) {
    environment_.count(Id::kTimeouts);
    return connections_.close(connection, Errc::kTimedOut);
  }
  connections_.serve_soon(connection);  // a NOOP may be due
}

void O2ibLnd::close_peer(Peer& peer) {
  PLNET_CHECK(peer.releasing, "only a peer that is removed loses its connections");
  if (std::exchange(peer.closed, true)) return;
  sends_.give_up_all(peer.waiting, Errc::kShutdown, Health::kLocalAborted);
  peer.reconnecting = 0;
  for (std::uint32_t i = 0; i < connections_.slots() && peer.users > 0; ++i) {
    Connection* const connection = connections_.at(i);
    if (connection != nullptr && connection->peer == &peer)
      connections_.close(*connection, Errc::kShutdown);
  }
}

void O2ibLnd::close_everything() {
  if (std::exchange(listening_, false))
    environment_.driver.stop_listening({environment_.config.nid.address32(),
                                        static_cast<std::uint16_t>(environment_.tunables.service)});
  for (std::uint32_t i = 0; i < connections_.slots(); ++i) {
    if (Connection* const one = connections_.at(i)) connections_.close(*one, Errc::kShutdown);
  }
  for (std::uint32_t i = 0; i < peers_.slots(); ++i) {
    Peer* const peer = peers_.at(i);
    if (peer == nullptr) continue;
    peer->reconnecting = 0;
    sends_.give_up_all(peer->waiting, Errc::kShutdown, Health::kLocalAborted);
    peers_.release_unused(*peer);
  }
}

unsigned O2ibLnd::serve_releases() {
  releases_due_ = false;
  for (lnet::PeerLink* const link : peers_.releasing()) {
    if (auto* const peer = static_cast<Peer*>(link->lnd_peer)) close_peer(*peer);
  }
  (void)end_closed();
  environment_.report();  // the core learns the ends of a peer's messages before its release
  return static_cast<unsigned>(std::erase_if(peers_.releasing(), [this](lnet::PeerLink* link) {
    auto* const peer = static_cast<Peer*>(link->lnd_peer);
    if ((peer != nullptr && peer->users > 0) || sends_.has_any_of(link)) return false;
    if (peer != nullptr) {
      PLNET_CHECK(peer->link == link && peer->waiting.empty(), "a removed peer has no messages");
      peer->releasing = peer->closed = false;
      peers_.bind(*peer, nullptr);
      Peers::forget(*peer);
      peers_.release_unused(*peer);
    }
    PLNET_CHECK(link->lnd_peer == nullptr, "peer and link part before the core frees the link");
    environment_.core.on_peer_released(*link);
    return true;
  }));
}

}  // namespace plnet::o2iblnd
