// SPDX-License-Identifier: BSD-3-Clause
// The verdict half of gateway checks: the state of routes that follows from that of their gateways.
#include <algorithm>

#include "lib/base/check.hpp"
#include "lib/lnet/control/gateway_checks.hpp"

namespace plnet::lnet {

namespace {

// The gateway is also up on that network of ours, so messages that must leave from there can use
// the route.
bool serves(const Route& route, NetId from) {
  return has_ni_up(route.gateway.load(std::memory_order_relaxed)->seen(), from);
}

// A deliberate stop of routing is no failure, nor is a gateway that was not asked yet.
bool is_failure(RouteCause cause) {
  return cause != RouteCause::kNone && cause != RouteCause::kNotRouting &&
         cause != RouteCause::kUnchecked;
}

// The cause of a dead gateway, which alternates between checks.
bool is_failed_check(RouteCause cause) {
  return cause == RouteCause::kPingTimedOut || cause == RouteCause::kPingFailed;
}

// A route that was down has another cause now.
bool is_news(RouteCause before, RouteCause now) {
  if (now == before) return false;
  return !is_failed_check(before) || (!is_failed_check(now) && now != RouteCause::kToldDown);
}

// The cause of a change without another explanation.
RouteCause why_up(const Gateway& gateway) {
  if (gateway.answered) return RouteCause::kAnswered;
  if ((gateway.news & kGatewayHeard) != 0) return RouteCause::kRevived;
  if ((gateway.news & kGatewayTold) != 0) return RouteCause::kToldUp;
  return (gateway.news & kGatewaySetting) != 0 ? RouteCause::kSettings : RouteCause::kAnswered;
}

// While discovery is off. The return of the NI says nothing about the networks behind the gateway,
// but its last reply does. A route that a message has revived stays up.
void follow_ni(Route& route) {
  if (!route.gateway_ni_up) {
    route.replied_alive.set(false);
    route.replied_cause = RouteCause::kToldDown;
  } else if (!route.replied_alive.get()) {
    route.replied_alive.set(route.last_reply == RouteCause::kNone);
    route.replied_cause = route.last_reply;
  }
}

}  // namespace

// Nothing is known of its other interfaces: all are down, as in the kernel.
void GatewayChecks::all_down(Gateway& gateway, RouteCause why) {
  PLNET_CHECK(why != RouteCause::kNone, "a gateway that goes down has a cause");
  gateway.doubted = Gateway::kNotDoubted;
  gateway.was_down = true;
  gateway.why_dead = why;
  judge_again(gateway);
  lost_ = true;
  gateway.peer->alive.set(false);
  for (PeerNi* const ni : gateway.peer->seen().nis)
    ni->status.set(kNiDown);
  mark_gateway_down(*gateway.peer, routes_.view());
  for (Route* const route : gateway.routes) {
    note_ni(*route);
    route->replied_alive.set(false);
    route->replied_cause = route->last_reply = why;
  }
}

// The state on one network does not change that on the others.
void GatewayChecks::net_down(Gateway& gateway, NetId net, RouteCause why) {
  PLNET_CHECK(why != RouteCause::kNone, "a network that goes down has a cause");
  if (has_ni_up(gateway.peer->seen(), net)) return;
  mark_gateway_down(*gateway.peer, routes_.view());
  if (Gateway::Turn* const turn = gateway.turn_of(net)) turn->why = why;
  for (Route* const route : gateway.routes) {
    if (route->local_net() != net) continue;
    note_ni(*route);
    route->replied_alive.set(false);
    route->replied_cause = route->last_reply = why;
  }
}

// The interface that was asked is silent. Another one decides soon what that means for the gateway,
// if there is one that may answer; not if this one was silent before, and there is no news.
void GatewayChecks::check_failed(Gateway& gateway, bool asked, RouteCause why, Instant now) {
  PLNET_CHECK(why != RouteCause::kNone, "a check that failed has a cause");
  gateway.why_dead = why;
  lost_ = true;
  bool is_news = true;
  if (asked) {
    if (Gateway::Turn* const turn = gateway.turn_of(gateway.net)) ++turn->asked;
    if (PeerNi* const ni = directory_.find(gateway.target)) {
      const bool was_up = ni->status.exchange(kNiDown) == kNiUp;
      is_news = was_up || !record_of(*ni).silent;
      record_of(*ni).silent = true;
      // Messages with a choice take another interface, and so do checks on its network.
      if (was_up && is_reachable(gateway))
        (void)ni->health.lower(parameters_.health_sensitivity.get());
      if (has_ni_up(gateway.peer->seen(), gateway.net)) recovery_.add(gateway.target, now);
    }
    net_down(gateway, gateway.net, why);
  }
  if (!gateway.peer->alive.get() || !is_reachable(gateway)) return all_down(gateway, why);
  if (!is_news) return;
  if (gateway.doubted == Gateway::kNotDoubted) gateway.doubted = now;
  next_end_ = now;
  for (Gateway::Turn& turn : gateway.turns) {
    if (!asked || turn.net != gateway.net || turn.why == RouteCause::kNone) turn.next = now;
  }
}

// An interface is not silent if a message has come from it since the check.
void GatewayChecks::clear_silence(Gateway& gateway) {
  for (PeerNi* const ni : gateway.peer->seen().nis) {
    if (ni->status.get() == kNiUp) record_of(*ni).silent = false;
  }
  for (Gateway::Turn& turn : gateway.turns) {
    if (has_ni_up(gateway.peer->seen(), turn.net)) turn.why = RouteCause::kNone;
  }
}

// The NI in the configuration of the route. True: it went up or down.
bool GatewayChecks::note_ni(Route& route) {
  const PeerNi* const ni = directory_.find(route.spec.gateway);
  const bool up = ni != nullptr && ni->status.get() == kNiUp;
  return std::exchange(route.gateway_ni_up, up) != up;
}

// --- Verdicts ---

void GatewayChecks::judge_again(Gateway& gateway) {
  gateway.dirty = true;
  some_dirty_ = true;
}

void GatewayChecks::refresh_all(Instant now, bool all) {
  some_dirty_ = false;
  for (const auto& [peer, gateway] : gateways_) {
    if (all || gateway->dirty) refresh(*gateway, now);
    some_dirty_ = some_dirty_ || gateway->dirty;
  }
}

void GatewayChecks::refresh(Gateway& gateway, Instant now) {
  // A merge is under way, and the views have only a part of the data.
  if (gateway.peer->has(kPeerDataPresent)) return;
  gateway.dirty = false;
  clear_silence(gateway);
  const GatewayEvidence evidence{
      .alive = gateway.peer->alive.get(),
      .discovery_disabled = discovery_is_off(*gateway.peer, parameters_),
      .avoid_asym_router_failure = parameters_.avoid_asym_router_failure.get() != 0};
  for (Route* const route : gateway.routes) {
    RouteCause cause = judge(*route, gateway, evidence);
    count_flaps(*route, cause, gateway.answered, now);
    note_steady(*route, cause == RouteCause::kNone && !route->flaps.held());
    const bool held_back = is_held_back(*route);
    route->held_back.set(held_back);
    if (cause == RouteCause::kNone && held_back) cause = RouteCause::kHeldBack;
    const bool up = cause == RouteCause::kNone;
    if (route->alive.exchange(up) && !up) lost_ = true;
    record(*route, up, up ? why_up(gateway) : cause, now);
  }
  gateway.answered = false;
  gateway.news = 0;
}

// kNone: nothing is known that keeps the route from use.
RouteCause GatewayChecks::judge(Route& route, const Gateway& gateway,
                                const GatewayEvidence& evidence) {
  if (evidence.discovery_disabled && note_ni(route)) follow_ni(route);
  const RouteCause cause = why_route_down(route, evidence);
  if (cause == RouteCause::kPingFailed && !evidence.alive) return gateway.why_dead;
  if (cause != RouteCause::kLocalNetDown) return cause;
  const Gateway::Turn* const turn = gateway.turn_of(route.local_net());
  if (turn != nullptr && turn->why != RouteCause::kNone) return turn->why;
  const bool told = (gateway.news & kGatewayTold) != 0 ||
                    (!route.told_up && route.told_cause == RouteCause::kToldDown);
  return told ? RouteCause::kToldDown : cause;
}

// Without regular checks no answers would end it.
void GatewayChecks::count_flaps(Route& route, RouteCause cause, bool answered, Instant now) {
  RouteFlaps& flaps = route.flaps;
  if (is_failure(cause)) {
    if (flaps.fail(now) && checks_by_itself()) counters_.add(GatewayCounter::kHeldBack);
  } else {
    flaps.recover();
    if (cause == RouteCause::kNone && answered) flaps.answer();
  }
  if (!checks_by_itself()) flaps.forget();
}

// Other routes to the same network that have flapped yield to it, or no longer.
void GatewayChecks::note_steady(Route& route, bool steady) {
  if (std::exchange(route.steady, steady) == steady) return;
  const RemoteNet* const net = routes_.view().net(route.spec.net);
  if (net == nullptr) return;
  for (const Route* const other : net->routes) {
    if (other == &route || !other->flaps.held()) continue;
    if (Gateway* const gateway = find(*other->gateway.load(std::memory_order_relaxed)))
      judge_again(*gateway);
  }
}

// The best existing route is used: a bad path is better than none.
bool GatewayChecks::is_held_back(const Route& route) const {
  if (!route.flaps.held()) return false;
  const RemoteNet* const net = routes_.view().net(route.spec.net);
  return net != nullptr && std::ranges::any_of(net->routes, [&route](const Route* other) {
           return other->steady && serves(*other, route.local_net());
         });
}

// Also for a route that stays down with another cause.
void GatewayChecks::record(Route& route, bool up, RouteCause cause, Instant now) {
  PLNET_CHECK(up || cause != RouteCause::kNone, "a route that is down has a cause");
  if (up == route.told_up && (up || !is_news(route.told_cause, cause))) return;
  if (up != route.told_up)
    counters_.add(up ? GatewayCounter::kRoutesUp : GatewayCounter::kRoutesDown);
  route.told_up = up;
  route.told_cause = cause;
  route.history.record({now, up, cause});
  if (news_.size() == kNewsMax) return counters_.add(GatewayCounter::kUntold);
  news_.push_back({route.spec.net, route.spec.gateway, route.history.back(0)});
  has_news_.set(true);
}

}  // namespace plnet::lnet
