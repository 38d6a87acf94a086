// SPDX-License-Identifier: BSD-3-Clause
// Connections that peers have made: accepted or refused at the home of the peer.
// lustre-release lnet/klnds/socklnd/socklnd.c: ksocknal_create_conn(), the passive part.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "lib/socklnd/connections.hpp"
#include "lib/socklnd/environment.hpp"
#include "lib/socklnd/lanes.hpp"
#include "lib/socklnd/peers.hpp"

namespace plnet::socklnd {

class Arrivals {
 public:
  Arrivals(Environment& environment, Connections& connections, Peers& peers, Lanes& lanes)
      : environment_(environment), connections_(connections), peers_(peers), lanes_(lanes) {}

  // Opens the connection, refuses it with a HELLO, or discards its stream.
  void accept(const Arrival& arrival);

 private:
  using Id = SockLndCounters::Id;
  using State = Connection::State;

  // One address may have one in so many connections, at least so many or a full set.
  static constexpr std::size_t kAddressConnectionsPart = 8;
  static constexpr std::size_t kAddressConnectionsLeast = 64;
  // The connections that one arrival looks at for an unused one, and the least age of that one.
  static constexpr std::size_t kUnusedLooks = 64;
  static constexpr Duration kUnusedAfter = std::chrono::seconds(60);

  [[nodiscard]] bool has_share(const lnet::Nid& nid) const;
  void close_unused();
  [[nodiscard]] bool is_unused(const Connection& connection) const;
  // nullptr: the LND shuts down, or has no room.
  [[nodiscard]] Peer* peer_of(const Arrival& arrival);
  [[nodiscard]] std::optional<Id> refusal(Peer& peer, const Arrival& arrival);
  void discard(const Arrival& arrival, Id why);

  Environment& environment_;
  Connections& connections_;
  Peers& peers_;
  Lanes& lanes_;
  std::uint32_t next_slot_ = 0;  // where the search for an unused connection goes on
};

}  // namespace plnet::socklnd
