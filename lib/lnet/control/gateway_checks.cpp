// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/control/gateway_checks.hpp"

#include <algorithm>

namespace plnet::lnet {

namespace {

// How often gateways are gone through: the kernel's monitor does it as often.
constexpr Duration kLookInterval = std::chrono::seconds(1);
// How often a gateway is asked that nobody checks, until it has answered.
constexpr Duration kAskAgain = std::chrono::seconds(10);
// Networks in common with a gateway; for more of them room is made once.
constexpr std::size_t kTurnsUsual = 8;

// Who stops routing means it, and who was not asked yet has not failed.
bool is_failure(RouteCause cause) {
  return cause != RouteCause::kNone && cause != RouteCause::kNotRouting &&
         cause != RouteCause::kUnchecked;
}

// Of a gateway that is dead the one or the other: it changes from check to check.
bool is_failed_check(RouteCause cause) {
  return cause == RouteCause::kPingTimedOut || cause == RouteCause::kPingFailed;
}

// Something else keeps a route down that was down before.
bool is_news(RouteCause before, RouteCause now) {
  if (now == before) return false;
  return !is_failed_check(before) || (!is_failed_check(now) && now != RouteCause::kToldDown);
}

// Of a change that nothing else explains.
RouteCause why_up(const Gateway& gateway) {
  if (gateway.answered) return RouteCause::kAnswered;
  if ((gateway.news & kGatewayHeard) != 0) return RouteCause::kRevived;
  if ((gateway.news & kGatewayTold) != 0) return RouteCause::kToldUp;
  return (gateway.news & kGatewaySetting) != 0 ? RouteCause::kSettings : RouteCause::kAnswered;
}

// While discovery is off. That the NI is back says nothing of what is behind the gateway, which its
// last reply does. What a message that came through it has revived stays.
void follow_ni(Route& route) {
  if (!route.gateway_ni_up) {
    route.replied_alive.set(false);
    route.replied_cause = RouteCause::kToldDown;
  } else if (!route.replied_alive.get()) {
    route.replied_alive.set(route.last_reply == RouteCause::kNone);
    route.replied_cause = route.last_reply;
  }
}

// The primary NID first if it is there, then the others. One that is said to be up, if any is.
Nid who_is_asked(const PeerRecord& peer, Gateway::Turn& turn) {
  const PeerView& seen = peer.seen();
  const auto there = seen.on(*seen.net(turn.net));
  const auto count = static_cast<std::uint32_t>(there.size());
  const auto primary = std::ranges::find(there, peer.primary, &PeerNi::nid);
  const auto first = primary == there.end() ? std::uint32_t{0}
                                            : static_cast<std::uint32_t>(primary - there.begin());
  if (turn.asked >= count) {  // all have been asked: once more, by another one of ours
    turn.asked = 0;
    ++turn.by;
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t at = (turn.asked + i) % count;
    const PeerNi* const ni = there[(first + at) % count];
    if (ni->status.get() != kNiUp) continue;
    turn.asked = at;
    return ni->nid;
  }
  return there[(first + turn.asked) % count]->nid;
}

// Those that work first.
Nid who_asks(std::span<Ni* const> ours, Gateway::Turn& turn) {
  const auto well = [](const Ni* ni) { return !ni->fatal.get(); };
  const auto count = static_cast<std::uint32_t>(std::ranges::count_if(ours, well));
  if (count == 0) return ours.front()->nid;
  turn.by %= count;
  auto left = turn.by;
  for (const Ni* const ni : ours) {
    if (well(ni) && left-- == 0) return ni->nid;
  }
  return ours.front()->nid;
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

// lustre-release lnet/lnet/lib-move.c: lnet_handle_find_routed_path()
bool GatewayChecks::wants_check(const Gateway& gateway) const {
  if (checks_by_itself()) return true;
  const bool discovers = parameters_.discovery.get() != 0 && !gateway.peer->is(kPeerNoDiscovery);
  return !gateway.known && parameters_.routes() && discovers;
}

Duration GatewayChecks::interval() const {
  return checks_by_itself() ? std::chrono::seconds(parameters_.alive_router_check_interval_s.get())
                            : kAskAgain;
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
    route->last_reply = RouteCause::kNone;
    if (verdict.alive) continue;
    const bool here = has_ni_up(peer.seen(), route->local_net());
    route->replied_cause = !buffer.routes() ? RouteCause::kNotRouting
                           : here           ? RouteCause::kRemoteNetDown
                                            : RouteCause::kLocalNetDown;
    // The last is seen by us, not said by the gateway, and over when its NI is up again.
    if (route->replied_cause != RouteCause::kLocalNetDown) route->last_reply = route->replied_cause;
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
    gateway->answered = asked;
    gateway->known = true;
    return;
  }
  gateway->answered = false;
  const auto turn = std::ranges::find(gateway->turns, gateway->net, &Gateway::Turn::net);
  if (asked && turn != gateway->turns.end()) ++turn->asked;
  const bool late = outcome.error() == Errc::kTimedOut;
  if (asked) counters_.add(late ? GatewayCounter::kTimedOut : GatewayCounter::kFailed);
  gateway->why_dead = late ? RouteCause::kPingTimedOut : RouteCause::kPingFailed;
  for (PeerNi* const ni : peer.seen().nis)
    ni->status.set(kNiDown);
  for (Route* const route : gateway->routes) {
    note_ni(*route);
    route->replied_alive.set(false);
    route->replied_cause = route->last_reply = gateway->why_dead;
  }
}

// The NI by which the route was configured. True: it went up or down since.
bool GatewayChecks::note_ni(Route& route) {
  const PeerNi* const ni = directory_.find(route.spec.gateway);
  const bool up = ni != nullptr && ni->status.get() == kNiUp;
  return std::exchange(route.gateway_ni_up, up) != up;
}

void GatewayChecks::look_again(std::uint32_t news) {
  for (const auto& [peer, gateway] : gateways_) {
    gateway->dirty = true;
    gateway->news |= news;
  }
}

// --- Checks ---

// The network behind the one that was checked last whose time has come.
Gateway::Turn* GatewayChecks::next_turn(Gateway& gateway, const LocalView& local, Instant now) {
  turns_.clear();
  for (const PeerNetView& net : gateway.peer->seen().nets) {
    if (local.net(net.net) == nullptr) continue;
    const auto known = std::ranges::find(gateway.turns, net.net, &Gateway::Turn::net);
    turns_.push_back(known == gateway.turns.end() ? Gateway::Turn{.net = net.net, .next = now}
                                                  : *known);
    // The interval may have become shorter since.
    turns_.back().next = std::min(turns_.back().next, now + interval());
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
  const Nid target = who_is_asked(peer, *turn);
  const Nid from = who_asks(local.net(turn->net)->nis, *turn);
  gateway.net = turn->net;
  turn->next = now + interval();
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
        if (wants_check(*gateway)) begin_check(*gateway, local, now);
      } else if (discovery_.waits_for_turn(*gateway->peer)) {
        gateway->deadline = now + std::chrono::seconds(parameters_.router_ping_timeout_s.get());
      } else if (now >= gateway->deadline) {
        discovery_.give_up(*gateway->peer, std::unexpected(Errc::kTimedOut));
      }
    }
  }
  for (const auto& [peer, gateway] : gateways_) {
    if (look || gateway->dirty) refresh(*gateway, now);
  }
}

Instant GatewayChecks::next_deadline() const {
  if (gateways_.empty()) return Instant::max();
  return next_look_;
}

// --- What follows ---

void GatewayChecks::refresh(Gateway& gateway, Instant now) {
  // In the middle of merging: half of what it says would be taken for all.
  if (gateway.peer->has(kPeerDataPresent)) return;
  gateway.dirty = false;
  const GatewayEvidence evidence{
      .alive = gateway.peer->alive.get(),
      .discovery_disabled = discovery_is_off(*gateway.peer, parameters_),
      .avoid_asym_router_failure = parameters_.avoid_asym_router_failure.get() != 0};
  for (Route* const route : gateway.routes) {
    RouteCause cause = judge(*route, gateway, evidence);
    count_flaps(*route, cause, gateway.answered, now);
    if (cause == RouteCause::kNone && route->flaps.held()) cause = RouteCause::kHeldBack;
    const bool up = cause == RouteCause::kNone;
    route->alive.set(up);
    record(*route, up, up ? why_up(gateway) : cause, now);
  }
  gateway.answered = false;
  gateway.news = 0;
}

// kNone: nothing that is known of it keeps it from being used.
RouteCause GatewayChecks::judge(Route& route, const Gateway& gateway,
                                const GatewayEvidence& evidence) {
  if (evidence.discovery_disabled && note_ni(route)) follow_ni(route);
  const RouteCause cause = why_route_down(route, evidence);
  if (cause == RouteCause::kPingFailed && !evidence.alive) return gateway.why_dead;
  if (cause != RouteCause::kLocalNetDown) return cause;
  const bool told = (gateway.news & kGatewayTold) != 0 ||
                    (!route.told_up && route.told_cause == RouteCause::kToldDown);
  return told ? RouteCause::kToldDown : cause;
}

// While nobody asks by itself nobody's answers would end it.
void GatewayChecks::count_flaps(Route& route, RouteCause cause, bool answered, Instant now) {
  RouteFlaps& flaps = route.flaps;
  if (is_failure(cause)) {
    if (flaps.fail(now) && checks_by_itself()) counters_.add(GatewayCounter::kHeldBack);
  } else {
    flaps.recover();
    if (cause == RouteCause::kNone && answered) flaps.answer();
  }
  if (!checks_by_itself()) flaps.forget();
  route.held_back.set(flaps.held());
}

// Also of one that stays down, for another reason.
void GatewayChecks::record(Route& route, bool up, RouteCause cause, Instant now) {
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
