// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/control/gateway_checks.hpp"

#include <algorithm>

#include "lib/base/check.hpp"

namespace plnet::lnet {

namespace {

// The interval of looks at gateways, as in the kernel's monitor.
constexpr Duration kLookInterval = std::chrono::seconds(1);
// The interval of pings to an unchecked gateway until it answers.
constexpr Duration kAskAgain = std::chrono::seconds(10);
// The time for which a gateway keeps its state after one of its interfaces became silent, while
// another one is asked. An answer takes a round trip. Without an answer in time, or if no other can
// be asked, all of the gateway is down until it answers, as in the kernel.
constexpr Duration kDoubt = std::chrono::seconds(1);
// Networks in common with a gateway; more of them allocate once.
constexpr std::size_t kTurnsUsual = 8;

}  // namespace

GatewayChecks::GatewayChecks(const Parts& parts)
    : directory_(parts.directory),
      discovery_(parts.discovery),
      routes_(parts.routes),
      recovery_(parts.recovery),
      parameters_(parts.parameters) {}

Gateway* GatewayChecks::find(const Peer& peer) {
  const auto at = gateways_.find(&peer);
  return at == gateways_.end() ? nullptr : at->second.get();
}

bool GatewayChecks::checks_by_itself() const {
  return parameters_.alive_router_check_interval_s.get() > 0;
}

// lustre-release lnet/lnet/lib-move.c: lnet_handle_find_routed_path()
bool GatewayChecks::needs_check(const Gateway& gateway) const {
  if (checks_by_itself()) return true;
  const bool discovers = parameters_.discovery.get() != 0 && !gateway.peer->is(kPeerNoDiscovery);
  return !gateway.known && parameters_.routes() && discovers;
}

Duration GatewayChecks::interval() const {
  return checks_by_itself() ? std::chrono::seconds(parameters_.alive_router_check_interval_s.get())
                            : kAskAgain;
}

// --- Gateways ---

void GatewayChecks::gateway_added(PeerRecord& peer, Instant now) {
  PLNET_CHECK(peer.gateway_refs > 0 && !peer.dead, "a gateway is a living peer with a route");
  auto& place = gateways_[&peer];
  if (place == nullptr) {
    place = std::make_unique<Gateway>();
    // Checks run while messages flow, so the memory for them is allocated now.
    place->turns.reserve(kTurnsUsual);
    turns_.reserve(kTurnsUsual);
    news_.reserve(kNewsMax);
    counters_.add(GatewayCounter::kGateways);
    discovery_.gateways_are(gateways_.size());
  }
  Gateway& gateway = *place;
  gateway.peer = &peer;
  if (gateway.order == 0) gateway.order = ++last_order_;
  for (Gateway::Turn& turn : gateway.turns)
    turn.next = now;
  judge_again(gateway);
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
  discovery_.gateways_are(gateways_.size());
  PLNET_CHECK(counters_.get(GatewayCounter::kGateways) == gateways_.size(), "gateways are counted");
  peer.drop_state(kPeerRouterDiscovery | kPeerRouterDiscovered);
}

void GatewayChecks::routes_published() {
  for (const auto& [peer, gateway] : gateways_)
    gateway->routes.clear();
  for (const auto& route : routes_.routes()) {
    if (Gateway* const gateway = find(*route->gateway.load(std::memory_order_relaxed))) {
      gateway->routes.push_back(route.get());
      judge_again(*gateway);
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

// --- News ---

// The views of the peer are not updated yet: its routes are judged after that.
void GatewayChecks::on_ping_reply(Peer& peer, const PingView& buffer) {
  Gateway* const gateway = find(peer);
  if (gateway == nullptr) return;
  judge_again(*gateway);
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
    // kLocalNetDown is our own observation, not the gateway's report, and ends when our NI is up.
    if (route->replied_cause != RouteCause::kLocalNetDown) route->last_reply = route->replied_cause;
  }
}

void GatewayChecks::discovered(Peer& peer, Result<void> outcome, Instant now) {
  Gateway* const gateway = find(peer);
  if (gateway == nullptr) return;
  PeerRecord& record = *gateway->peer;
  PLNET_CHECK(gateway->peer == &peer, "a gateway is the peer that was discovered");
  const bool asked = std::exchange(gateway->checking, false);
  record.drop_state(kPeerRouterDiscovery);
  record.add_state(kPeerRouterDiscovered);
  gateway->checked = now;
  judge_again(*gateway);
  // Data that the gateway sent by itself also end a check.
  const bool answered = asked && outcome && discovery_.was_asked(record);
  gateway->answered = answered;
  if (!outcome) {
    const bool late = outcome.error() == Errc::kTimedOut;
    if (asked) counters_.add(late ? GatewayCounter::kTimedOut : GatewayCounter::kFailed);
    return check_failed(*gateway, asked && discovery_.was_asked(record),
                        late ? RouteCause::kPingTimedOut : RouteCause::kPingFailed, now);
  }
  if (answered) counters_.add(GatewayCounter::kAnswered);
  gateway->known = true;
  gateway->doubted = Gateway::kNotDoubted;
  if (PeerNi* const ni = answered ? directory_.find(gateway->target) : nullptr;
      ni != nullptr && std::exchange(record_of(*ni).silent, false)) {
    ni->status.set(kNiUp);
  }
  peer.alive.set(true);
  // An interface that was silent goes up by its own messages only, not by the gateway's report,
  // even where checks ask another one.
  for (const PeerNi* const ni : peer.seen().nis) {
    if (is_silent(*ni) && has_ni_up(peer.seen(), ni->net)) recovery_.keep(ni->nid, now);
  }
  if (!std::exchange(gateway->was_down, false)) return;
  for (Gateway::Turn& turn : gateway->turns) {
    if (turn.net != gateway->net && turn.why != RouteCause::kNone) turn.next = now;
  }
}

void GatewayChecks::look_again(std::uint32_t news) {
  if ((news & kGatewayTold) != 0) lost_ = true;  // maybe found, which does no harm
  for (const auto& [peer, gateway] : gateways_) {
    judge_again(*gateway);
    gateway->news |= news;
  }
}

// --- Checks ---

// The next due network after the one that was checked last.
Gateway::Turn* GatewayChecks::next_turn(Gateway& gateway, const LocalView& local, Instant now) {
  turns_.clear();
  for (const PeerNetView& net : gateway.peer->seen().nets) {
    if (local.net(net.net) == nullptr) continue;
    const Gateway::Turn* const known = gateway.turn_of(net.net);
    turns_.push_back(known == nullptr ? Gateway::Turn{.net = net.net, .next = now} : *known);
    // The interval may have become shorter.
    turns_.back().next = std::min(turns_.back().next, now + interval());
  }
  gateway.turns.assign(turns_.begin(), turns_.end());
  const Gateway::Turn* const last = gateway.turn_of(gateway.net);
  // During a doubt an interface is needed that may answer.
  const bool doubted = gateway.doubted != Gateway::kNotDoubted;
  const bool is_better =
      doubted && std::ranges::any_of(gateway.turns, [now](const Gateway::Turn& turn) {
        return turn.why == RouteCause::kNone && turn.next <= now;
      });
  const auto count = gateway.turns.size();
  const auto from =
      last == nullptr ? std::size_t{0} : static_cast<std::size_t>(last - gateway.turns.data()) + 1;
  for (std::size_t i = 0; i < count; ++i) {
    Gateway::Turn& turn = gateway.turns[(from + i) % count];
    if (turn.next <= now && (!is_better || turn.why == RouteCause::kNone)) return &turn;
  }
  return nullptr;
}

Duration GatewayChecks::patience() const {
  return std::chrono::seconds(parameters_.router_ping_timeout_s.get());
}

// The LND still tries to reach an interface that was silent before: another ping would only wait
// behind that, in a slot of its own. The other interfaces have their turn meanwhile.
bool GatewayChecks::is_still_tried(const Gateway& gateway, const Gateway::Turn& turn,
                                   const Nid& target) const {
  return turn.why != RouteCause::kNone && discovery_.has_left_check(*gateway.peer, target);
}

void GatewayChecks::begin_check(Gateway& gateway, const LocalView& local, Instant now) {
  PLNET_CHECK(!gateway.checking, "a gateway has one check at a time");
  Gateway::Turn* turn = next_turn(gateway, local, now);
  if (gateway.turns.empty()) counters_.add(GatewayCounter::kNoNetwork);
  PeerRecord& peer = *gateway.peer;
  for (; turn != nullptr; turn = next_turn(gateway, local, now)) {
    gateway.target = target_of_check(peer, *turn);
    if (!is_still_tried(gateway, *turn, gateway.target)) break;
    turn->next = now + kLookInterval;
  }
  if (turn == nullptr) return;
  PLNET_CHECK(local.net(turn->net) != nullptr, "a check leaves by a network of this node");
  const Nid from = source_of_check(local.net(turn->net)->nis, *turn);
  gateway.net = turn->net;
  turn->next = now + interval();
  gateway.checking = true;
  gateway.deadline = now + patience();
  counters_.add(GatewayCounter::kChecks);
  peer.add_state(kPeerRouterDiscovery);
  discovery_.check(peer, from, gateway.target);
}

// A network that was silent before is asked only while no other network is due: its silence is no
// news, and a late answer counts as well.
bool GatewayChecks::has_better_turn(Gateway& gateway, Instant now) {
  const Gateway::Turn* const asked = gateway.turn_of(gateway.net);
  if (asked == nullptr || asked->why == RouteCause::kNone) return false;
  return std::ranges::any_of(gateway.turns, [now](const Gateway::Turn& turn) {
    return turn.why == RouteCause::kNone && turn.next <= now;
  });
}

void GatewayChecks::check(Gateway& gateway, const LocalView& local, Instant now, bool look) {
  const auto is_doubted = [&gateway] { return gateway.doubted != Gateway::kNotDoubted; };
  PLNET_CHECK(gateway.peer != nullptr && !gateway.peer->dead, "a gateway is a living peer");
  if (gateway.checking) {
    const bool may_change = look || is_doubted();
    if (discovery_.waits_for_turn(*gateway.peer)) {
      if (look || now >= gateway.deadline) gateway.deadline = now + patience();
    } else if (now >= gateway.deadline || (may_change && has_better_turn(gateway, now))) {
      discovery_.give_up(*gateway.peer, std::unexpected(Errc::kTimedOut));
    }
  }
  // It answers, and only has to receive our push.
  if (gateway.checking && discovery_.has_answered(*gateway.peer))
    gateway.doubted = Gateway::kNotDoubted;
  const bool doubted = is_doubted();
  if (!gateway.checking && (look || doubted) && needs_check(gateway))
    begin_check(gateway, local, now);
  if (doubted && now - gateway.doubted >= kDoubt) all_down(gateway, gateway.why_dead);
  if (gateway.checking) next_end_ = std::min(next_end_, gateway.deadline);
  if (is_doubted()) next_end_ = std::min(next_end_, gateway.doubted + kDoubt);
}

void GatewayChecks::step(const LocalView& local, Instant now) {
  const bool look = now >= next_look_;
  if (look) next_look_ = now + kLookInterval;
  if (look || now >= next_end_) {
    next_end_ = Instant::max();
    for (const auto& [peer, gateway] : gateways_)
      check(*gateway, local, now, look);
  }
  if (look || some_dirty_) refresh_all(now, look);
  // A route may have been judged before the one that it yields to.
  if (some_dirty_) refresh_all(now, false);
}

Instant GatewayChecks::next_deadline() const {
  if (gateways_.empty()) return Instant::max();
  return std::min(next_look_, next_end_);
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
