// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/control/gateway_checks.hpp"

#include <algorithm>

namespace plnet::lnet {

namespace {

// How often gateways are gone through: the kernel's monitor does it as often.
constexpr Duration kLookInterval = std::chrono::seconds(1);
// Networks in common with a gateway; for more of them room is made once.
constexpr std::size_t kTurnsUsual = 8;

bool discovery_off(const Gateway& gateway, const Parameters& parameters) {
  return discovery_is_off(*gateway.peer, parameters);
}

}  // namespace

GatewayChecks::GatewayChecks(const Parts& parts)
    : directory_(parts.directory),
      discovery_(parts.discovery),
      routes_(parts.routes),
      parameters_(parts.parameters) {}

Gateway* GatewayChecks::find(const Peer& peer) {
  const auto at = gateways_.find(&peer);
  return at == gateways_.end() ? nullptr : at->second.get();
}

bool GatewayChecks::checks_by_itself() const {
  return parameters_.alive_router_check_interval_s.get() > 0;
}

// --- Which there are ---

void GatewayChecks::gateway_added(PeerRecord& peer, Instant now) {
  auto& place = gateways_[&peer];
  if (place == nullptr) {
    place = std::make_unique<Gateway>();
    // Checks go on while messages do: what they need there is from now on.
    place->turns.reserve(kTurnsUsual);
    turns_.reserve(kTurnsUsual);
    news_.reserve(kNewsMax);
    counters_.add(GatewayCounter::kGateways);
  }
  Gateway& gateway = *place;
  gateway.peer = &peer;
  if (gateway.order == 0) gateway.order = ++last_order_;
  for (Gateway::Turn& turn : gateway.turns)
    turn.next = now;
  gateway.dirty = true;
  next_look_ = now;
  // lustre-release lnet/lnet/router.c: lnet_peers_start_down()
  if (parameters_.check_routers_before_use.get() == 0 || peer.is(kPeerRouterDiscovered)) return;
  peer.alive.set(false);
  gateway.why_dead = RouteCause::kUnchecked;
  for (PeerNi* const ni : peer.seen().nis)
    ni->status.set(kNiDown);
}

void GatewayChecks::gateway_removed(PeerRecord& peer) {
  if (gateways_.erase(&peer) == 0) return;
  counters_.subtract(GatewayCounter::kGateways);
  peer.drop_state(kPeerRouterDiscovery | kPeerRouterDiscovered);
  peer.held_back.set(false);
}

void GatewayChecks::routes_published() {
  for (const auto& [peer, gateway] : gateways_)
    gateway->routes.clear();
  for (const auto& route : routes_.routes()) {
    if (Gateway* const gateway = find(*route->gateway.load(std::memory_order_relaxed))) {
      gateway->routes.push_back(route.get());
      gateway->dirty = true;
    }
  }
}

// A check of the gateway follows at once, on each of its networks.
void GatewayChecks::route_added(Route& route, Instant now) {
  const bool up = route.alive.get();
  route.history.record({now, up, up ? RouteCause::kAdded : RouteCause::kUnchecked});
  if (Gateway* const gateway = find(*route.gateway.load(std::memory_order_relaxed))) {
    for (Gateway::Turn& turn : gateway->turns)
      turn.next = now;
  }
  next_look_ = now;
}

// --- What is heard ---

// The views of the peer do not have it yet: routes are judged when they do.
void GatewayChecks::heard(Peer& peer, const PingView& buffer) {
  Gateway* const gateway = find(peer);
  if (gateway == nullptr) return;
  gateway->dirty = true;
  for (Route* const route : gateway->routes) {
    const ReplyVerdict verdict =
        judge_reply(*route, buffer, parameters_.avoid_asym_router_failure.get() != 0);
    note_ni(*route);
    route->replied_alive.set(verdict.alive);
    route->single_hop.set(verdict.single_hop);
    if (verdict.alive) continue;
    const bool here = has_ni_up(peer.seen(), route->local_net());
    route->replied_cause = !buffer.routes() ? RouteCause::kNotRouting
                           : here           ? RouteCause::kRemoteNetDown
                                            : RouteCause::kLocalNetDown;
  }
}

void GatewayChecks::discovered(Peer& peer, Result<void> outcome, Instant now) {
  Gateway* const gateway = find(peer);
  if (gateway == nullptr) return;
  PeerRecord& record = *gateway->peer;
  const bool asked = std::exchange(gateway->checking, false);
  record.drop_state(kPeerRouterDiscovery);
  record.add_state(kPeerRouterDiscovered);
  peer.alive.set(outcome.has_value());
  gateway->checked = now;
  gateway->dirty = true;
  if (outcome) {
    if (asked) counters_.add(GatewayCounter::kAnswered);
    if (!asked || gateway->answers_wanted == 0) return;
    --gateway->answers_wanted;
    if (gateway->answers_wanted > 0) return;
    gateway->failure_count = 0;
    return hold_back(*gateway, false);
  }
  const bool late = outcome.error() == Errc::kTimedOut;
  if (asked) counters_.add(late ? GatewayCounter::kTimedOut : GatewayCounter::kFailed);
  gateway->why_dead = late ? RouteCause::kPingTimedOut : RouteCause::kPingFailed;
  if (gateway->answers_wanted > 0) gateway->answers_wanted = Gateway::kAnswersInARow;
  for (PeerNi* const ni : peer.seen().nis)
    ni->status.set(kNiDown);
  for (Route* const route : gateway->routes) {
    note_ni(*route);
    route->replied_alive.set(false);
    route->replied_cause = gateway->why_dead;
  }
}

// The NI by which the route was configured. True: it went up or down since.
bool GatewayChecks::note_ni(Route& route) {
  const PeerNi* const ni = directory_.find(route.spec.gateway);
  const bool up = ni != nullptr && ni->status.get() == kNiUp;
  return std::exchange(route.gateway_ni_up, up) != up;
}

void GatewayChecks::look_again() {
  told_ = true;
  for (const auto& [peer, gateway] : gateways_)
    gateway->dirty = true;
}

// --- Checks ---

// The network behind the one that was checked last whose time has come.
Gateway::Turn* GatewayChecks::next_turn(Gateway& gateway, const LocalView& local, Instant now) {
  turns_.clear();
  for (const PeerNetView& net : gateway.peer->seen().nets) {
    if (local.net(net.net) == nullptr) continue;
    const auto known = std::ranges::find(gateway.turns, net.net, &Gateway::Turn::net);
    turns_.push_back({net.net, known == gateway.turns.end() ? now : known->next});
  }
  gateway.turns.assign(turns_.begin(), turns_.end());
  const auto last = std::ranges::find(gateway.turns, gateway.net, &Gateway::Turn::net);
  const auto count = gateway.turns.size();
  const auto from = last == gateway.turns.end()
                        ? std::size_t{0}
                        : static_cast<std::size_t>(last - gateway.turns.begin()) + 1;
  for (std::size_t i = 0; i < count; ++i) {
    Gateway::Turn& turn = gateway.turns[(from + i) % count];
    if (turn.next <= now) return &turn;
  }
  return nullptr;
}

void GatewayChecks::begin_check(Gateway& gateway, const LocalView& local, Instant now) {
  Gateway::Turn* const turn = next_turn(gateway, local, now);
  if (gateway.turns.empty()) counters_.add(GatewayCounter::kNoNetwork);
  if (turn == nullptr) return;
  PeerRecord& peer = *gateway.peer;
  Nid target = Nid::any();
  const PeerView& seen = peer.seen();
  for (const PeerNi* const ni : seen.on(*seen.net(turn->net))) {
    if (target.is_any() || ni->nid == peer.primary) target = ni->nid;
  }
  const auto& ours = local.net(turn->net)->nis;
  const auto well = std::ranges::find_if(ours, [](const Ni* ni) { return !ni->fatal.get(); });
  const Nid from = (well == ours.end() ? ours.front() : *well)->nid;
  gateway.net = turn->net;
  turn->next = now + std::chrono::seconds(parameters_.alive_router_check_interval_s.get());
  gateway.checking = true;
  gateway.deadline = now + std::chrono::seconds(parameters_.router_ping_timeout_s.get());
  counters_.add(GatewayCounter::kChecks);
  peer.add_state(kPeerRouterDiscovery);
  discovery_.check(peer, from, target);
}

void GatewayChecks::step(const LocalView& local, Instant now) {
  const bool look = now >= next_look_;
  if (look) {
    next_look_ = now + kLookInterval;
    for (const auto& [peer, gateway] : gateways_) {
      if (!gateway->checking) {
        if (checks_by_itself()) begin_check(*gateway, local, now);
      } else if (discovery_.waits_for_turn(*gateway->peer)) {
        gateway->deadline = now + std::chrono::seconds(parameters_.router_ping_timeout_s.get());
      } else if (now >= gateway->deadline) {
        discovery_.give_up(*gateway->peer, std::unexpected(Errc::kTimedOut));
      }
    }
  }
  const bool told = std::exchange(told_, false);
  for (const auto& [peer, gateway] : gateways_) {
    if (!look && !gateway->dirty) continue;
    refresh(*gateway, now, told ? RouteCause::kRevived : RouteCause::kAnswered,
            told ? RouteCause::kToldDown : RouteCause::kLocalNetDown);
  }
}

Instant GatewayChecks::next_deadline() const {
  if (gateways_.empty()) return Instant::max();
  return next_look_;
}

// --- What follows ---

// `risen`, `fallen`: what a change means that nothing else explains.
void GatewayChecks::refresh(Gateway& gateway, Instant now, RouteCause risen, RouteCause fallen) {
  // In the middle of merging: half of what it says would be taken for all.
  if (gateway.peer->has(kPeerDataPresent)) return;
  gateway.dirty = false;
  const GatewayEvidence evidence{
      .alive = gateway.peer->alive.get(),
      .discovery_disabled = discovery_off(gateway, parameters_),
      .avoid_asym_router_failure = parameters_.avoid_asym_router_failure.get() != 0};
  bool some_failed = false;
  for (Route* const route : gateway.routes) {
    if (evidence.discovery_disabled && note_ni(*route)) {
      route->replied_alive.set(route->gateway_ni_up);
      route->replied_cause = RouteCause::kToldDown;
    }
    RouteCause cause = why_route_down(*route, evidence);
    if (cause == RouteCause::kPingFailed && !evidence.alive) cause = gateway.why_dead;
    if (cause == RouteCause::kLocalNetDown && route->told_up) cause = fallen;
    // Who stops routing means it.
    some_failed = some_failed || (cause != RouteCause::kNone && cause != RouteCause::kNotRouting &&
                                  cause != RouteCause::kUnchecked);
    if (cause == RouteCause::kNone && gateway.answers_wanted > 0) cause = RouteCause::kHeldBack;
    const bool up = cause == RouteCause::kNone;
    route->alive.set(up);
    if (up != route->told_up) record(*route, up, up ? risen : cause, now);
  }
  if (some_failed && !gateway.failing) count_failure(gateway, now);
  gateway.failing = some_failed;
}

void GatewayChecks::record(Route& route, bool up, RouteCause cause, Instant now) {
  route.told_up = up;
  route.history.record({now, up, cause});
  counters_.add(up ? GatewayCounter::kRoutesUp : GatewayCounter::kRoutesDown);
  if (news_.size() == kNewsMax) return counters_.add(GatewayCounter::kUntold);
  news_.push_back({route.spec.net, route.spec.gateway, route.history.back(0)});
  has_news_.set(true);
}

void GatewayChecks::count_failure(Gateway& gateway, Instant now) {
  gateway.failures[gateway.failure_count++ % Gateway::kFlaps] = now;
  if (!checks_by_itself()) return;  // nothing would end it
  if (gateway.failure_count < Gateway::kFlaps || gateway.answers_wanted > 0) return;
  const Instant oldest = gateway.failures[gateway.failure_count % Gateway::kFlaps];
  if (now - oldest > Gateway::kFlapWindow) return;
  counters_.add(GatewayCounter::kHeldBack);
  gateway.answers_wanted = Gateway::kAnswersInARow;
  hold_back(gateway, true);
}

void GatewayChecks::hold_back(Gateway& gateway, bool held) {
  gateway.peer->held_back.set(held);
  gateway.dirty = true;
}

bool GatewayChecks::all_known() const {
  return std::ranges::all_of(
      gateways_, [](const auto& each) { return each.second->peer->is(kPeerRouterDiscovered); });
}

std::vector<const Gateway*> GatewayChecks::gateways() const {
  std::vector<const Gateway*> all;
  all.reserve(gateways_.size());
  for (const auto& [peer, gateway] : gateways_)
    all.push_back(gateway.get());
  std::ranges::sort(all, {}, &Gateway::order);
  return all;
}

}  // namespace plnet::lnet
