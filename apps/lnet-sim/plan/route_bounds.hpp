// SPDX-License-Identifier: BSD-3-Clause
// For how long a route may be other than it should be, at most: what follows from how nodes look
// after their gateways (lib/lnet/control/gateway_checks.hpp).
//
// I: alive_router_check_interval, T: router_ping_timeout, K: gateways are gone through once a
// second. A check begins at the first look I after the one before it began, hence within I + K of
// anything, and ends by an answer or, at the first look after its T, without one: within T + K.
// All of it holds if T is longer than an LND holds on to a message that it cannot send: else pings
// time out that wait behind one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "apps/lnet-sim/plan/site_config.hpp"

namespace plnet::sim {

// What a bystander knows of a route.
enum class RouteTruth : std::uint8_t {
  kUnknown,     // not enough
  kUp,          // its gateway is there, forwards, and has the link that it needs
  kGone,        // its gateway is off or cannot be reached; nobody says so
  kLinkDown,    // its gateway says that its link on the other side is down
  kNotRouting,  // its gateway says that it does not forward: it drains, or is about to begin
};
inline constexpr std::size_t kRouteTruths = 5;

class RouteBounds {
 public:
  explicit RouteBounds(const GatewayPlan& plan)
      : interval_(std::chrono::seconds(plan.check_interval_s)),
        timeout_(std::chrono::seconds(plan.ping_timeout_s)) {}

  // The last check was answered just before, the next one is not: I + K, then T + K.
  [[nodiscard]] Duration gone() const { return interval_ + timeout_ + 2 * kLook + kTurns; }

  // The gateway pushes its news at once, but a push may be lost, and who takes none has to ask. The
  // next check tells, and if it is not answered in time the route is down as well: as above.
  [[nodiscard]] Duration told_down() const { return gone(); }

  // A check that began before, in vain, ends: T + K, unless the next one is due later. That one
  // begins at the look after: K. On its other network the gateway waits to be asked in the same
  // way, before it is up there and the answer here says so: I + K. If the route has flapped two
  // more have to say so: I + K each. Before all that a connection comes about again: TCP, and
  // socklnd, try after as long again as they have tried in vain, so that is `away` at most.
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
  // Turns of shards that come late, and the way of a message.
  static constexpr Duration kTurns = std::chrono::milliseconds(200);

  const Duration interval_;
  const Duration timeout_;
};

}  // namespace plnet::sim
