// SPDX-License-Identifier: BSD-3-Clause
// What is known of one gateway, and whom of its interfaces to ask next. The coordinator's.
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

// Of one gateway, as others may look at it.
struct Gateway {
  static constexpr Instant kNotDoubted = Instant::max();

  // What is between us and it on one network.
  struct Turn {
    NetId net = 0;
    Instant next{};
    // Which of its interfaces there is asked, and by which of ours: as long as there are answers
    // the same, else others.
    std::uint32_t asked = 0;
    std::uint32_t by = 0;
    RouteCause why = RouteCause::kNone;  // its last check failed, and none of it is up since
  };

  PeerRecord* peer = nullptr;
  std::uint64_t order = 0;  // of coming
  bool checking = false;
  bool known = false;      // has answered at least once
  bool was_down = false;   // as a whole, and has not answered since
  bool answered = false;   // a check of ours, and its routes were not judged since
  bool dirty = true;       // something that its routes depend on has changed
  std::uint32_t news = 0;  // what (GatewayNews)
  NetId net = 0;           // checked last (lp_disc_net_id)
  Nid target;              // the interface that was asked
  Instant deadline{};      // of the check under way
  Instant checked{};       // when the last one ended
  // One of its interfaces has become silent, and another one is asked what is the matter.
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

// Whom a check asks: the primary NID first if it is on that network, then the others; one that is
// said to be up, if any is. The peer has some there.
[[nodiscard]] Nid who_is_asked(const PeerRecord& peer, Gateway::Turn& turn);
// And by which of ours: those that work first.
[[nodiscard]] Nid who_asks(std::span<Ni* const> ours, Gateway::Turn& turn);
// A check of it had no answer, and nothing has come from it since.
[[nodiscard]] bool is_silent(const PeerNi& ni);
// Some interface on a network that it is asked on is up, as far as is known.
[[nodiscard]] bool has_way(const Gateway& gateway);

// A change of a route, for the log.
struct RouteNews {
  NetId net = 0;
  Nid gateway;
  RouteTransition transition;
};

}  // namespace plnet::lnet
