// SPDX-License-Identifier: BSD-3-Clause
// The longest time for which a route may be in the wrong state: it follows from the nodes' checks
// of their gateways (lib/lnet/control/gateway_checks.hpp).
//
// I: alive_router_check_interval, T: router_ping_timeout, K: gateways are visited once a second. A
// check begins at the first visit I after the previous check began, hence within I + K of any
// event. It ends with an answer or, at the first visit after T, without one: within T + K. This
// requires that T is longer than an LND holds a message that it cannot send: otherwise pings time
// out that wait behind one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "apps/lnet-sim/plan/site_config.hpp"

namespace plnet::sim {

// The correct state of a route, as the simulator knows it.
enum class RouteTruth : std::uint8_t {
  kUnknown,     // undecidable
  kUp,          // the gateway runs, forwards, and has the necessary link
  kGone,        // the gateway is off or unreachable; no message reports it
  kLinkDown,    // the gateway reports that its link on the other side is down
  kNotRouting,  // the gateway reports that it does not forward: it drains, or is about to begin
};
inline constexpr std::size_t kRouteTruths = 5;

class RouteBounds {
 public:
  explicit RouteBounds(const GatewayPlan& plan)
      : interval_(std::chrono::seconds(plan.check_interval_s)),
        timeout_(std::chrono::seconds(plan.ping_timeout_s)) {}

  // The last check was answered just before, the next one is not: I + K, then T + K.
  [[nodiscard]] Duration gone() const { return interval_ + timeout_ + 2 * kLook + kTurns; }

  // The gateway pushes its news at once, but a push may be lost, and a node that does not accept
  // pushes has to ping. The next check reports the state, and without an answer in time the route
  // is down as well: as above.
  [[nodiscard]] Duration told_down() const { return gone(); }

  // An earlier, unsuccessful check ends: T + K, unless the next one is due later. That one begins
  // at the following visit: K. On its other network the gateway waits for checks in the same way,
  // before it is up there and its answers here say so: I + K. If the route has flapped, two more
  // answers are needed: I + K each. Before all that a connection must be established: TCP and
  // socklnd retry after as long again as they have tried in vain, so that takes `away` at most.
  [[nodiscard]] Duration up(Duration away) const {
    return std::max(timeout_ + kLook, interval_) + kLook + 3 * (interval_ + kLook) + away + kTurns;
  }

  [[nodiscard]] Duration of(RouteTruth truth, Duration away) const {
    switch (truth) {
      case RouteTruth::kUp: return up(away);
      case RouteTruth::kGone: return gone();
      case RouteTruth::kLinkDown:
      case RouteTruth::kNotRouting: return told_down();
      case RouteTruth::kUnknown: break;
    }
    return Duration::max();
  }

 private:
  static constexpr Duration kLook = std::chrono::seconds(1);
  // Late turns of shards, and the travel of a message.
  static constexpr Duration kTurns = std::chrono::milliseconds(200);

  const Duration interval_;
  const Duration timeout_;
};

}  // namespace plnet::sim
