// SPDX-License-Identifier: BSD-3-Clause
// Connections on other shards than their peer's home. At home one stands for each, without a
// stream: it counts, races, is refused and closed like any other.
#include <array>
#include <bit>

#include "lib/socklnd/lnd.hpp"

namespace plnet::socklnd {

using namespace lnet;

void SockLnd::hear(const LaneNote& note) {
  Lane& lane = *note.lane;
  switch (note.word) {
    case LaneWord::kDial: return dial_for(lane);
    case LaneWord::kTake: return take_for(lane);
    case LaneWord::kOpen:
    case LaneWord::kClose: return told(lane, note.word, note.cause);
    case LaneWord::kReply: {
      Connection& connection = connections_.at(lane.at_home);
      if (connection.state == State::kDialing) judge_reply(connection, lane.reply);
      return;
    }
    case LaneWord::kClosed: return lane_closed(note);
  }
}

// --- At home ---

// Each shard has as many of a type as any other, or one fewer; the home has the first. Among shards
// that have equally few, that on which fewer of our lanes lie. Nothing: here.
std::optional<ShardId> SockLnd::shard_for(Peer& peer, ConnectionType type) const {
  const bool bulk = type == ConnectionType::kBulkIn || type == ConnectionType::kBulkOut;
  if (config_.lanes == nullptr || !bulk || peer.is_userspace()) return std::nullopt;
  const LaneEnd& lanes = *config_.lanes;
  std::array<std::uint16_t, kShardsMax> count{};
  peer.connections.for_each([&](const Connection& connection) {
    if (connection.type != type || connection.state == State::kClosing) return;
    ++count[connection.away ? connection.lane->shard : lanes.shard()];
  });
  ShardId best = lanes.shard();
  for (const ShardId other : lanes.others()) {
    const bool idler = best != lanes.shard() && count[other] == count[best] &&
                       lanes.lent_to(other) < lanes.lent_to(best);
    if (count[other] < count[best] || idler) best = other;
  }
  if (best == lanes.shard()) return std::nullopt;
  return best;
}

// Null: the connection shall be here.
Connection* SockLnd::stand_in(Peer& peer, ConnectionType type) {
  const auto shard = shard_for(peer, type);
  if (!shard || connections_.free_count() == 0) return nullptr;
  Lane* const lane = config_.lanes->take(*shard);
  if (lane == nullptr) {
    counters_.add(Id::kLanesFull);
    return nullptr;
  }
  Connection& connection = *connections_.take();
  begin(connection, peer, type);
  connection.away = true;
  connection.lane = lane;
  lane->incarnation = config_.incarnation;
  lane->at_home = connections_.index_of(&connection);
  return &connection;
}

bool SockLnd::dial_away(Peer& peer, ConnectionType type) {
  Connection* const connection = stand_in(peer, type);
  if (connection == nullptr) return false;
  connection->by_us = true;
  connection->protocol = peer.protocol.value_or(usual_protocol(peer));
  connection->lane->arrival = {.stream = {},
                               .hello = {.protocol = connection->protocol},
                               .local = config_.nid,
                               .peer = peer.id,
                               .type = type};
  peer.attempt = connection;
  config_.lanes->say(*connection->lane, LaneWord::kDial);
  return true;
}

bool SockLnd::take_away(Peer& peer, const Arrival& arrival) {
  Connection* const connection = stand_in(peer, arrival.type);
  if (connection == nullptr) return false;
  connection->protocol = arrival.hello.protocol;
  connection->lane->arrival = arrival;
  counters_.add(Id::kOpenedByPeer);
  config_.lanes->say(*connection->lane, LaneWord::kTake);
  open(*connection, arrival.swapped);
  return true;
}

// Its siblings stay if it never came to anything there.
void SockLnd::lane_closed(const LaneNote& note) {
  Lane& lane = *note.lane;
  if (note.heard < lane.said) return;  // another one comes when the rest has been heard
  Connection& connection = connections_.at(lane.at_home);
  if (connection.state == State::kOpen && !lane.was_open) {
    leave_open(connection, note.cause);
    connection.state = State::kClosing;
  }
  mourn(connection, note.cause);
  bury(connection);
  config_.lanes->give(lane);
}

// Where messages can go out; one place alone is lane 0.
void SockLnd::announce(Peer& peer) {
  peer.lanes_changed = false;
  if (!peer.bound) return;
  const std::uint64_t here = std::uint64_t{1} << config_.lanes->shard();
  std::uint64_t up = 0;
  peer.connections.for_each([&](const Connection& connection) {
    if (connection.state != State::kOpen || connection.type != ConnectionType::kBulkOut) return;
    if (!is_lane(connection)) {
      up |= connection.away ? std::uint64_t{1} << connection.lane->shard : here;
    }
  });
  if (up == here) up = 0;
  for (std::uint64_t rest = up ^ peer.lanes_told; rest != 0; rest &= rest - 1) {
    const auto shard = static_cast<ShardId>(std::countr_zero(rest));
    core_.on_lane(*peer.link, lane_of_shard(shard), (up >> shard & 1U) != 0, true);
  }
  peer.lanes_told = up;
}

// --- Where it lies ---

// nullptr: no room, or not now.
Peer* SockLnd::peer_of(Lane& lane) {
  if (shutting_down_) return nullptr;
  Peer* const known = peers_by_id_.find(lane.arrival.peer);
  Peer* const peer = known != nullptr ? known : new_peer(lane.arrival.peer);
  if (peer == nullptr) {
    counters_.add(Id::kRefusedNoRoom);
    return nullptr;
  }
  peer->elsewhere = true;
  return peer->releasing ? nullptr : peer;
}

void SockLnd::give_lane(Lane& lane, Connection& connection) {
  connection.lane = &lane;
  lane.at_lane = connections_.index_of(&connection);
}

void SockLnd::dial_for(Lane& lane) {
  Peer* const peer = peer_of(lane);
  if (peer == nullptr) return config_.lanes->report_gone(lane, Errc::kNoSpace);
  look_at(*peer);
  const auto connection = dial(*peer, lane.arrival.type, lane.arrival.hello.protocol);
  if (!connection) return config_.lanes->report_gone(lane, connection.error());
  give_lane(lane, **connection);
}

void SockLnd::take_for(Lane& lane) {
  const Arrival& arrival = lane.arrival;
  Peer* const peer = peer_of(lane);
  if (peer == nullptr) {
    streams_.driver().discard(arrival.stream);
    return config_.lanes->report_gone(lane, Errc::kNoSpace);
  }
  look_at(*peer);
  Connection* const connection = adopt(*peer, arrival);
  if (connection == nullptr) return config_.lanes->report_gone(lane, Errc::kNoSpace);
  give_lane(lane, *connection);
  answer(*connection, static_cast<std::int32_t>(arrival.type));
  lane.was_open = true;
  open(*connection, arrival.swapped);
}

void SockLnd::told(Lane& lane, LaneWord word, Errc cause) {
  if (lane.over) return config_.lanes->report(lane, LaneWord::kClosed, cause);
  Connection& connection = connections_.at(lane.at_lane);
  if (connection.state == State::kClosing) return;
  if (word == LaneWord::kOpen) {
    lane.was_open = true;
    connection.protocol = connection.reader.hello().protocol;
    open(connection, connection.reader.swapped());
    return streams_.driver().resume_reading(connection.stream);
  }
  connection.ours = cause == Errc::kShutdown;
  if (connection.state == State::kJudged) {  // found wanting, which the home has counted
    connection.state = State::kClosing;
    return end_stream(connection, cause);
  }
  close_connection(connection, connection.ours ? Id::kClosedReleased : Id::kClosedSibling, cause,
                   false);
}

}  // namespace plnet::socklnd
