// SPDX-License-Identifier: BSD-3-Clause
// Connections on other shards than their peer's home. The home has a stand-in for each, without a
// queue pair: it is counted, raced, judged and closed like any other connection.
#include <algorithm>
#include <array>
#include <bit>

#include "lib/base/check.hpp"
#include "lib/o2iblnd/handshakes.hpp"

namespace plnet::o2iblnd {

using lnet::ShardId;
using State = Connection::State;

// --- At home ---

// Connections are spread evenly over the shards; the home has the first. Among shards with equally
// few, the shard with the fewest of our lanes is chosen.
std::optional<ShardId> Handshakes::shard_for(const Peer& peer) {
  if (environment_.config.lanes == nullptr) return std::nullopt;
  const LaneEnd& lanes = *environment_.config.lanes;
  std::array<std::uint16_t, lnet::kShardsMax> count{};
  connections_.for_each_of(peer, [&](const Connection& connection) {
    if (!connection.is_lane()) ++count[connection.away ? connection.lane->shard : lanes.shard()];
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

bool Handshakes::has_local(const Peer& peer) {
  bool any = false;
  connections_.for_each_of(
      peer, [&any](const Connection& connection) { any = any || connection.lane == nullptr; });
  return any;
}

Connection* Handshakes::stand_in(Peer& peer, bool active, const Offer& offer) {
  const auto shard = shard_for(peer);
  if (!shard || !connections_.has_room()) return nullptr;
  Lane* const lane = environment_.config.lanes->take(*shard);
  if (lane == nullptr) {
    environment_.count(Id::kLanesFull);
    return nullptr;
  }
  lane->local = environment_.config.nid;
  lane->own_incarnation = environment_.config.incarnation;
  lane->peer = peer.nid;
  lane->offer = offer;
  return connections_.take(peer, *lane, active);
}

// False: the request is to be accepted on this shard.
bool Handshakes::accept_away(QueuePairId request, Peer& peer, const Message& message,
                             const Offer& offer) {
  Connection* const connection = stand_in(peer, false, offer);
  if (connection == nullptr) return false;
  Lane& lane = *connection->lane;
  const auto handed = environment_.driver.give_away(request);
  if (!handed) {  // the request is gone, or stays and can be accepted here
    connections_.give(*connection);
    environment_.config.lanes->give(lane);
    return false;
  }
  begin_accepting(peer, message);
  connection->incarnation = lane.incarnation = message.source_stamp;
  lane.request = *handed;
  environment_.config.lanes->say(lane, LaneWord::kTake);
  return true;
}

void Handshakes::on_lane_note(const LaneNote& note) {
  const Lane& lane = *note.lane;
  Connection& connection = *connections_.at(lane.at_home);
  PLNET_CHECK(connection.away && connection.lane == &lane,
              "a lane has its record at home until it is given back");
  switch (note.word) {
    case LaneWord::kEstablished:
    case LaneWord::kRejected:
      connection.disconnected = note.word == LaneWord::kRejected;
      if (connection.active && lane.asked.queue_depth < connection.offer.queue_depth)
        connection.peer->queue_depth = lane.asked.queue_depth;
      connection.offer = lane.asked;
      if (lane.rejected) return on_rejected(connection, lane.reject_kind, lane.answer());
      return on_established(connection, lane.answer());
    default: connection.disconnected = true; return connections_.close(connection, note.cause);
  }
}

// A peer with connections on this shard alone has only lane 0.
void Handshakes::announce(Peer& peer) {
  PLNET_CHECK(environment_.config.lanes != nullptr,
              "only connections of several shards are announced");
  if (peer.link == nullptr || peer.releasing || peer.elsewhere) return;
  const std::uint64_t here = std::uint64_t{1} << environment_.config.lanes->shard();
  std::uint64_t up = peer.connections.empty() ? 0 : here;
  peer.away.for_each([&up](const Connection& each) { up |= std::uint64_t{1} << each.lane->shard; });
  if (up == here) up = 0;
  for (std::uint64_t rest = up ^ peer.lanes_told; rest != 0; rest &= rest - 1) {
    const auto shard = static_cast<ShardId>(std::countr_zero(rest));
    const bool is_up = (up >> shard & 1U) != 0;
    environment_.core.on_lane(*peer.link, lnet::lane_of_shard(shard), is_up, true);
  }
  peer.lanes_told = up;
}

// --- On the shard of the connection ---

// Null: no room, the peer is being released, or the LND shuts down.
Peer* Handshakes::peer_of(const Lane& lane) {
  if (environment_.shutting_down || !connections_.has_room()) return nullptr;
  Peer* const peer = peers_.find_or_make(lane.peer);
  if (peer == nullptr || peer->releasing) return nullptr;
  peer->elsewhere = true;
  return peer;
}

void Handshakes::give_lane(Lane& lane, Connection& connection) {
  PLNET_CHECK(connection.lane == nullptr && !connection.away, "a lane has one connection");
  connection.lane = &lane;
  lane.at_lane = connections_.slot_of(connection);
  lane.asked = connection.offer;
}

void Handshakes::dial_for(Lane& lane) {
  LaneEnd& lanes = *environment_.config.lanes;
  Peer* const peer = peer_of(lane);
  if (peer == nullptr) return lanes.report_gone(lane, Errc::kNoMemory);
  const auto connection = dial(*peer, lane.offer, lane.incarnation);
  if (connection) return give_lane(lane, **connection);
  peers_.release_unused(*peer);
  lanes.report_gone(lane, connection.error());
}

void Handshakes::accept_for(Lane& lane) {
  LaneEnd& lanes = *environment_.config.lanes;
  Peer* const peer = peer_of(lane);
  const auto request = environment_.driver.take_over(lane.request);
  // The peer's request, as its home has accepted it.
  Message& message = message_;
  message = {
      .kind = Kind::kConnectRequest,
      .version = lane.offer.version,
      .source_nid = lnet::to_nid64(lane.peer).value,
      .source_stamp = lane.incarnation,
      .destination_nid = environment_.self.nid,
      .destination_stamp = environment_.self.incarnation,
      .parameters = {.queue_depth = lane.offer.queue_depth, .max_frags = lane.offer.max_frags}};
  Offer offer = lane.offer;
  if (request && (peer == nullptr || !prepare(*request, offer))) {
    reject(*request, RejectReason::kNoResources, message, lane.request.from);
  } else if (request) {
    Connection* const connection = connections_.take(*peer, *request, false, offer);
    PLNET_CHECK(connection != nullptr, "there is room for it");
    give_lane(lane, *connection);
    return answer(*connection, message);
  }
  if (peer != nullptr) peers_.release_unused(*peer);
  lanes.report_gone(lane, request ? Errc::kNoMemory : request.error());
}

void Handshakes::on_home_note(const LaneNote& note) {
  Lane& lane = *note.lane;
  PLNET_CHECK(lane.shard == environment_.config.lanes->shard(),
              "the home sends its notes to the shard of the lane");
  if (note.word == LaneWord::kDial) return dial_for(lane);
  if (note.word == LaneWord::kTake) return accept_for(lane);
  if (lane.over) return environment_.config.lanes->report(lane, Lane::kGone, note.cause);
  Connection& connection = *connections_.at(lane.at_lane);
  PLNET_CHECK(connection.lane == &lane && !connection.away,
              "a lane has its connection until it is over");
  if (connection.state == State::kClosing) return;
  if (note.word == LaneWord::kClose) return connections_.close(connection, note.cause);
  Peer& peer = *connection.peer;
  PLNET_CHECK(note.word == LaneWord::kOpen && !connection.established,
              "the home opens a connection once");
  connection.offer = lane.offer;
  connection.incarnation = lane.incarnation;
  connection.established = true;
  connection.state = State::kEstablished;
  peer.last_alive = environment_.now;
  peer.connections.push_back(connection);
  open(connection);
}

}  // namespace plnet::o2iblnd
