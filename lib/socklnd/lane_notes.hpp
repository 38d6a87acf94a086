// SPDX-License-Identifier: BSD-3-Clause
// Notes about lanes from the other shards of the CPT. As the home of a peer the LND hears what has
// become of a connection on another shard; as the shard of a lane it makes the connection and
// closes it, as the home decides.
#pragma once

#include "lib/socklnd/connections.hpp"
#include "lib/socklnd/dialler.hpp"
#include "lib/socklnd/environment.hpp"
#include "lib/socklnd/peers.hpp"

namespace plnet::socklnd {

class LaneNotes {
 public:
  LaneNotes(Environment& environment, Connections& connections, Peers& peers, Dialler& dialler)
      : environment_(environment), connections_(connections), peers_(peers), dialler_(dialler) {}

  void on_note(const LaneNote& note);

 private:
  using State = Connection::State;

  // --- At the home ---
  void on_reply(Lane& lane);
  void on_closed(const LaneNote& note);

  // --- On the shard of the lane ---
  void dial(Lane& lane);
  void adopt(Lane& lane);
  void open(Lane& lane);
  void close(Lane& lane, Errc cause);
  // nullptr: no room, or the peer is being released.
  [[nodiscard]] Peer* peer_of(Lane& lane);
  void join(Lane& lane, Connection& connection);
  // The connection of the lane, if it is not being closed.
  [[nodiscard]] Connection* connection_of(Lane& lane, Errc cause);

  Environment& environment_;
  Connections& connections_;
  Peers& peers_;
  Dialler& dialler_;
};

}  // namespace plnet::socklnd
