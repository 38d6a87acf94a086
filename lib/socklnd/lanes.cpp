// SPDX-License-Identifier: BSD-3-Clause
#include "lib/socklnd/lanes.hpp"

#include <array>
#include <bit>

#include "lib/base/check.hpp"

namespace plnet::socklnd {

using lnet::ShardId;
using State = Connection::State;

// Each shard has as many connections of a type as any other, or one fewer; the home has the first.
// Among shards with equally few, the one on which fewer of our lanes lie.
std::optional<ShardId> Lanes::shard_for(Peer& peer, ConnectionType type) const {
  const bool bulk = type == ConnectionType::kBulkIn || type == ConnectionType::kBulkOut;
  if (environment_.config.lanes == nullptr || !bulk || peer.is_userspace()) return std::nullopt;
  const LaneEnd& lanes = *environment_.config.lanes;
  std::array<std::uint16_t, lnet::kShardsMax> count{};
  peer.connections.for_each([&](const Connection& connection) {
    if (connection.type != type || connection.state == State::kClosing) return;
    const ShardId shard = connection.away ? connection.lane->shard : lanes.shard();
    PLNET_CHECK(shard < lnet::kShardsMax, "a connection lies on a shard");
    ++count[shard];
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

Connection* Lanes::make_stand_in(Peer& peer, ConnectionType type) {
  const auto shard = shard_for(peer, type);
  if (!shard || connections_.free_count() == 0) return nullptr;
  Lane* const lane = environment_.config.lanes->take(*shard);
  if (lane == nullptr) {
    environment_.count(SockLndCounters::Id::kLanesFull);
    return nullptr;
  }
  return &connections_.make_stand_in(peer, type, *lane);
}

bool Lanes::dial(Peer& peer, ConnectionType type) {
  PLNET_CHECK(peer.attempt == nullptr, "a peer has one attempt at a time");
  Connection* const connection = make_stand_in(peer, type);
  if (connection == nullptr) return false;
  connection->by_us = true;
  connection->protocol = peer.protocol.value_or(environment_.usual_protocol(peer));
  connection->lane->arrival = {.stream = {},
                               .hello = {.protocol = connection->protocol},
                               .local = environment_.config.nid,
                               .peer = peer.id,
                               .type = type};
  peer.attempt = connection;
  environment_.config.lanes->say(*connection->lane, LaneWord::kDial);
  return true;
}

bool Lanes::hand_over(Peer& peer, const Arrival& arrival) {
  Connection* const connection = make_stand_in(peer, arrival.type);
  if (connection == nullptr) return false;
  connection->protocol = arrival.hello.protocol;
  connection->lane->arrival = arrival;
  environment_.count(SockLndCounters::Id::kOpenedByPeer);
  environment_.config.lanes->say(*connection->lane, LaneWord::kTake);
  connections_.open(*connection, arrival.swapped);
  return true;
}

void Lanes::announce(Peer& peer) {
  peer.lanes_changed = false;
  if (!peer.bound) return;
  PLNET_CHECK(environment_.config.lanes != nullptr, "only shards with neighbours have lanes");
  const std::uint64_t here = std::uint64_t{1} << environment_.config.lanes->shard();
  std::uint64_t up = 0;
  peer.connections.for_each([&](const Connection& connection) {
    if (connection.state != State::kOpen || connection.type != ConnectionType::kBulkOut) return;
    if (!connection.is_lane()) {
      up |= connection.away ? std::uint64_t{1} << connection.lane->shard : here;
    }
  });
  if (up == here) up = 0;
  for (std::uint64_t rest = up ^ peer.lanes_told; rest != 0; rest &= rest - 1) {
    const auto shard = static_cast<ShardId>(std::countr_zero(rest));
    environment_.core.on_lane(*peer.link, lnet::lane_of_shard(shard), (up >> shard & 1U) != 0,
                              true);
  }
  peer.lanes_told = up;
}

}  // namespace plnet::socklnd
