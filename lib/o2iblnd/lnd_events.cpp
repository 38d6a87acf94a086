// SPDX-License-Identifier: BSD-3-Clause
// The driver's events, and reports.
#include "lib/base/check.hpp"
#include "lib/o2iblnd/lnd.hpp"

namespace plnet::o2iblnd {

using State = Connection::State;

void O2ibLnd::on_completions(std::span<const WorkCompletion> burst) {
  for (const WorkCompletion& completion : burst) {
    if (completion.event == WorkEvent::kSent) {
      sends_.on_sent(completion);
    } else {
      receives_.on_received(completion);
    }
  }
  (void)end_closed();
  environment_.report();
}

void O2ibLnd::on_connect_request(QueuePairId request, const Ipv4Endpoint& from,
                                 const Ipv4Endpoint& /*to*/, std::span<const std::byte> data) {
  handshakes_.on_request(request, from, data);
  (void)end_closed();
  environment_.report();
}

void O2ibLnd::on_established(QueuePairId id, std::span<const std::byte> accept_data) {
  Connection* const connection = connections_.find(id);
  if (connection == nullptr) return environment_.count(Id::kStray);
  handshakes_.on_established(*connection, accept_data);
  (void)end_closed();
  environment_.report();
}

void O2ibLnd::on_rejected(QueuePairId id, RejectKind kind, std::span<const std::byte> data) {
  Connection* const connection = connections_.find(id);
  if (connection == nullptr) return environment_.count(Id::kStray);
  handshakes_.on_rejected(*connection, kind, data);
  (void)end_closed();
  environment_.report();
}

void O2ibLnd::on_disconnected(QueuePairId id, Errc cause) {
  Connection* const connection = connections_.find(id);
  if (connection == nullptr) return environment_.count(Id::kStray);
  connection->disconnected = true;
  // For an established connection these two mean that a message was late here, and that we close.
  const bool ours = cause == Errc::kTimedOut || cause == Errc::kShutdown;
  connections_.close(*connection, connection->established && ours ? Errc::kIo : cause);
  (void)end_closed();
  environment_.report();
}

// The connection is disconnected and every completion is in: only now memory that the peer could
// reach is released.
void O2ibLnd::on_drained(QueuePairId id) {
  Connection* const connection = connections_.find(id);
  if (connection == nullptr) return environment_.count(Id::kStray);
  connection->disconnected = true;
  connections_.close(*connection, Errc::kReset);
  (void)end_closed();
  sends_.drain_all(*connection);
  receives_.drain_all(*connection);
  Lane* const lane = connection->lane;
  const Errc cause = connection->cause;
  give_back(*connection);
  environment_.report();
  if (lane != nullptr) environment_.config.lanes->report_gone(*lane, cause);
}

void O2ibLnd::give_back(Connection& connection) {
  Peer& peer = *connection.peer;
  connections_.give(connection);
  peers_.release_unused(peer);
  releases_due_ = releases_due_ || !peers_.releasing().empty();
}

void O2ibLnd::on_lane_note(const LaneNote& note) {
  Lane& lane = *note.lane;
  if (lane.home != environment_.config.lanes->shard()) {
    handshakes_.on_home_note(note);
  } else if (note.word != Lane::kGone) {
    handshakes_.on_lane_note(note);
  } else if (note.heard == lane.said) {
    end_stand_in(lane, note.cause);
  }  // else one more note follows for each word under way
  (void)end_closed();
  environment_.report();
}

void O2ibLnd::end_stand_in(Lane& lane, Errc cause) {
  Connection& connection = *connections_.at(lane.at_home);
  PLNET_CHECK(connection.away && connection.lane == &lane,
              "a lane has its record at home until it is given back");
  connection.disconnected = true;
  connections_.close(connection, cause);
  (void)end_closed();
  give_back(connection);
  environment_.config.lanes->give(lane);
}

// The queue pairs of the device end by events of their own.
void O2ibLnd::on_device(bool usable, Errc cause) {
  if (usable == device_usable_) return;
  device_usable_ = usable;
  environment_.core.on_interface(usable ? lnet::InterfaceState::kUp : lnet::InterfaceState::kFatal,
                                 cause);
}

void O2ibLnd::set_tunables(const Tunables& tunables) {
  for (const TunableInfo& info : tunable_table()) {
    if (changes_live(info.name)) environment_.tunables.*info.field = tunables.*info.field;
  }
  // `lnetctl net set` changes it for one interface. It applies to peers that connect from now on.
  environment_.tunables.conns_per_peer = tunables.conns_per_peer;
  environment_.timeout = lnd_timeout(environment_.tunables, environment_.config.lnet_lnd_timeout);
  environment_.driver.set_mapping(map_rules(environment_.tunables));
}

InterfaceFacts O2ibLnd::interface_facts() const {
  const Tunables& tunables = environment_.tunables;
  const unsigned credits = peer_credits(tunables);
  return {.peercredits_hiw = credits_high_water(tunables, kVersion2, credits),
          .map_on_demand = tunables.map_on_demand,
          .concurrent_sends = concurrent_sends(tunables, kVersion2),
          .fmr_pool_size = tunables.fmr_pool_size,
          .fmr_flush_trigger = tunables.fmr_flush_trigger,
          .fmr_cache = tunables.fmr_cache,
          .ntx = tunables.ntx,
          .conns_per_peer = connections_per_peer(tunables),
          .timeout = std::chrono::duration_cast<std::chrono::seconds>(environment_.timeout).count(),
          .tos = tunables.tos};
}

std::optional<PeerFacts> O2ibLnd::peer_facts(std::uint32_t slot, Instant now) const {
  const Peer* const peer = slot < peers_.slots() ? peers_.at(slot) : nullptr;
  if (peer == nullptr || peer->elsewhere) return std::nullopt;  // its home reports it
  unsigned open = 0;
  const auto count = [&open](const Connection&) {
    ++open;
    return false;
  };
  (void)peer->connections.any_of(count);
  (void)peer->away.any_of(count);
  return PeerFacts{.nid = peer->nid,
                   .connections = open,
                   .connecting = peer->connecting,
                   .accepting = peer->accepting,
                   .reconnecting = peer->reconnecting,
                   .waiting = !peer->waiting.empty(),
                   .version = peer->version,
                   .incarnation = peer->incarnation,
                   .silent = now - peer->last_alive};
}

std::optional<ConnectionFacts> O2ibLnd::connection_facts(std::uint32_t slot, Instant now) const {
  const Connection* const one = slot < connections_.slots() ? connections_.at(slot) : nullptr;
  if (one == nullptr || one->away) return std::nullopt;  // its own shard reports it
  return ConnectionFacts{.nid = one->peer->nid,
                         .state = one->state,
                         .by_us = one->active,
                         .parked = one->parked != nullptr,
                         .version = one->offer.version,
                         .incarnation = one->incarnation,
                         .queue_depth = one->offer.queue_depth,
                         .max_frags = one->offer.max_frags,
                         .credits = one->credits.credits(),
                         .owed = one->credits.owed(),
                         .reserved = one->credits.reserved(),
                         .sends_posted = one->credits.sends_posted(),
                         .held = one->held,
                         .age = now - one->begun,
                         .since_sent = now - one->last_send};
}

}  // namespace plnet::o2iblnd
