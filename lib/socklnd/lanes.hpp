// SPDX-License-Identifier: BSD-3-Clause
// At the home of a peer: the choice of the shards on which its connections lie, and the lanes that
// the core may use. A stand-in represents each connection on another shard: it has no stream, and
// is counted, refused and closed like any other connection.
#pragma once

#include <optional>

#include "lib/socklnd/connections.hpp"
#include "lib/socklnd/environment.hpp"

namespace plnet::socklnd {

class Lanes {
 public:
  Lanes(Environment& environment, Connections& connections)
      : environment_(environment), connections_(connections) {}

  // Lets another shard connect. False: the connection is to lie on this shard.
  [[nodiscard]] bool dial(Peer& peer, ConnectionType type);
  // Gives an accepted connection to another shard. False: it is to lie on this shard.
  [[nodiscard]] bool hand_over(Peer& peer, const Arrival& arrival);
  // Tells the core the lanes on which messages can leave; a home without other shards is lane 0.
  void announce(Peer& peer);

 private:
  // Nothing: this shard.
  [[nodiscard]] std::optional<lnet::ShardId> shard_for(Peer& peer, ConnectionType type) const;
  // nullptr: the connection is to lie on this shard.
  [[nodiscard]] Connection* make_stand_in(Peer& peer, ConnectionType type);

  Environment& environment_;
  Connections& connections_;
};

}  // namespace plnet::socklnd
