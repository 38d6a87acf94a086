// SPDX-License-Identifier: BSD-3-Clause
// The state of one gateway's checks, and the choice of the interface to ask next. Used by the
// coordinator.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "lib/base/clock.hpp"
#include "lib/lnet/names/nid.hpp"
#include "lib/lnet/paths/route_history.hpp"
#include "lib/lnet/paths/route_table.hpp"
#include "lib/lnet/peers/peer_records.hpp"

namespace plnet::lnet {

// The state of one gateway; reports read it.
struct Gateway {
  static constexpr Instant kNotDoubted = Instant::max();

  // The state on one network that this node shares with the gateway.
  struct Turn {
    NetId net = 0;
    Instant next{};
    // The index of the gateway's interface that is asked, and of ours that asks: unchanged while
    // there are answers, else the next ones.
    std::uint32_t asked = 0;
    std::uint32_t by = 0;
    RouteCause why =
        RouteCause::kNone;  // its last check failed, and no interface there is up since
  };

  PeerRecord* peer = nullptr;
  std::uint64_t order = 0;  // in which gateways were added
  bool checking = false;
  bool known = false;      // has answered once
  bool was_down = false;   // as a whole, and has not answered since
  bool answered = false;   // a check, and its routes were not judged since
  bool dirty = true;       // its routes must be judged again
  std::uint32_t news = 0;  // the reason (GatewayNews)
  NetId net = 0;           // of the last check (lp_disc_net_id)
  Nid target;              // the interface that was asked
  Instant deadline{};      // of the check under way
  Instant checked{};       // end of the last check
  // One of its interfaces is silent, and another one is being asked.
  Instant doubted = kNotDoubted;
  RouteCause why_dead = RouteCause::kUnchecked;
  std::vector<Turn> turns;
  std::vector<Route*> routes;

  [[nodiscard]] Turn* turn_of(NetId wanted) {
    const auto found = std::ranges::find(turns, wanted, &Turn::net);
    return found == turns.end() ? nullptr : &*found;
  }
  [[nodiscard]] const Turn* turn_of(NetId wanted) const {
    const auto found = std::ranges::find(turns, wanted, &Turn::net);
    return found == turns.end() ? nullptr : &*found;
  }
};

// The interface that a check asks: the primary NID first if it is on that network, then the others;
// one that counts as up, if any does. The peer has interfaces there.
[[nodiscard]] Nid target_of_check(const PeerRecord& peer, Gateway::Turn& turn);
// The interface of ours that asks: working ones first.
[[nodiscard]] Nid source_of_check(std::span<Ni* const> ours, Gateway::Turn& turn);
// A check of the interface had no answer, and no message has come from it since.
[[nodiscard]] bool is_silent(const PeerNi& ni);
// Some interface on a network that is checked counts as up.
[[nodiscard]] bool is_reachable(const Gateway& gateway);

// A change of a route, for the log.
struct RouteNews {
  NetId net = 0;
  Nid gateway;
  RouteTransition transition;
};

}  // namespace plnet::lnet
