// SPDX-License-Identifier: BSD-3-Clause
// NOOP frames to send: acknowledgements of zero-copy messages of the peer, and keepalives.
#pragma once

#include <cstdint>

#include "lib/socklnd/connections.hpp"
#include "lib/socklnd/environment.hpp"

namespace plnet::socklnd {

class Noops {
 public:
  Noops(Environment& environment, Connections& connections)
      : environment_(environment), connections_(connections) {}

  // Acknowledges the message that has arrived on `from`. Reading pauses on a connection on which
  // too many NOOPs wait.
  void acknowledge(Connection& from, std::uint64_t cookie);
  // NOOPs were sent. True: reading goes on, and bytes that are here already may be looked at.
  [[nodiscard]] bool resume_if_room(Connection& connection);
  // Sends a keepalive to a peer that has been silent for long enough.
  void keep_alive(Peer& peer, Instant now);

 private:
  static constexpr Duration kKeepaliveAgain = std::chrono::seconds(10);

  Environment& environment_;
  Connections& connections_;
};

}  // namespace plnet::socklnd
