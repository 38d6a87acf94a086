// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-sim/watch/route_watch.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "lib/lnet/names/nid_text.hpp"

namespace plnet::sim {

using namespace lnet;

namespace {

constexpr Instant kNever = Instant::max();
// A net's fault with a longer delay may cost a check its answer.
constexpr Duration kLongDelay = std::chrono::milliseconds(500);

const Route* find(const Host& host, const RouteSetup& wanted) {
  for (const auto& route : host.node().coordinator().routes().routes()) {
    if (route->spec.net == wanted.net && route->spec.gateway == wanted.gateway) return route.get();
  }
  return nullptr;
}

enum class Wanted : std::uint8_t { kAny, kUp, kDown };

Wanted wanted_of(RouteTruth truth) {
  if (truth == RouteTruth::kUnknown) return Wanted::kAny;
  return truth == RouteTruth::kUp ? Wanted::kUp : Wanted::kDown;
}

bool has_faults(const SiteConfig& config) {
  return std::ranges::any_of(config.nets, [](const NetPlan& net) { return net.faults.count > 0; });
}

// Losses and delays there are not visible, or only late.
bool is_obscure(const SiteConfig& config) {
  return std::ranges::any_of(config.nets, [&](const NetPlan& net) {
    const auto rules = net.faults.view();
    if (traits_of(net.kind).loses_silently &&
        (!rules.empty() || config.weather == Weather::kHostile))
      return true;
    return std::ranges::any_of(rules, [](const auto& rule) { return rule.delay > kLongDelay; });
  });
}

double seconds_of(Duration span) {
  return std::chrono::duration<double>(span).count();
}

}  // namespace

RouteWatch::RouteWatch(World& world, const Cuts& cuts)
    : world_(world),
      cuts_(cuts),
      bounds_(world.config.gateways),
      breaks_(world.config.weather == Weather::kHostile || has_faults(world.config)),
      obscure_(is_obscure(world.config)),
      hosts_(world.config.nodes) {}

// --- The correct state ---

bool RouteWatch::meet(const Host& a, const Host& b) const {
  return a.state() == Host::State::kUp && b.state() == Host::State::kUp &&
         !cuts_.is_cut(a.id(), b.id()) && !cuts_.is_cut(b.id(), a.id()) &&
         !cuts_.is_slow(a.id(), b.id());
}

// The time since when a node on that network has checked the gateway, without which the gateway
// does not know whether its network is alive. The node that has met it for the longest time counts.
// kNever: none.
Instant RouteWatch::asked_since(const Host& gateway, NetId net) {
  const auto [at, is_new] = asked_.try_emplace({gateway.number(), net}, kNever);
  if (is_new) at->second = longest_asked(gateway, net);
  return at->second;
}

Instant RouteWatch::longest_asked(const Host& gateway, NetId net) const {
  Instant since = kNever;
  for (const OfHost& of : hosts_) {
    for (const Watched& each : of.routes) {
      if (!each.meets || each.route.gateway.net() != net || !gateway.has(each.route.gateway))
        continue;
      since = std::min(since, std::max(each.met_since, of.disturbed));
      if (since <= first_look_) return since;
    }
  }
  return since;
}

RouteTruth RouteWatch::far_side(const Host& gateway, const RouteSetup& route) {
  bool is_on = false;
  bool has_link = false;
  for (const Nid& nid : gateway.nids()) {
    if (nid.net() != route.net) continue;
    is_on = true;
    has_link = has_link || (gateway.has_link(nid) && !gateway.is_link_held(nid));
  }
  if (!is_on) return route.hops == 1 ? RouteTruth::kUnknown : RouteTruth::kUp;
  if (!has_link) return RouteTruth::kLinkDown;
  return asked_since(gateway, route.net) != kNever ? RouteTruth::kUp : RouteTruth::kUnknown;
}

// A node that cannot hear its gateway gets no answer and no other sign of life from it. If only the
// gateway cannot hear the node, its messages may or may not be signs of life: undecided.
RouteTruth RouteWatch::truth_of(const Host& host, const Watched& watched) {
  const Host& gateway = *world_.hosts[Layout::node_of(watched.route.gateway)];
  if (gateway.state() != Host::State::kUp) return RouteTruth::kGone;
  if (!gateway.has_link(watched.route.gateway)) return RouteTruth::kGone;
  if (!watched.meets) {
    const bool there = !cuts_.is_cut(host.id(), gateway.id());
    const bool back = !cuts_.is_cut(gateway.id(), host.id());
    // Messages that were under way when a slow link was cut arrive late.
    const bool unheard = !back && (!there || !cuts_.is_slow(host.id(), gateway.id()));
    return unheard ? RouteTruth::kGone : RouteTruth::kUnknown;
  }
  if (!gateway.is_forwarding()) return RouteTruth::kNotRouting;
  return far_side(gateway, watched.route);
}

// --- Disturbances ---

// A check may fail for an invisible reason, and then any state of a route is acceptable. Only a
// gateway that is gone never answers: that state is never in doubt.
bool RouteWatch::all_in_doubt() const {
  return world_.troubles > 0 || (obscure_ && !world_.stopping);
}

// While connections break randomly, each break restarts the checks between a node and its gateways.
void RouteWatch::note_lost_connections(Instant now) {
  if (!breaks_) return;
  for (const auto& host : world_.hosts) {
    OfHost& of = hosts_[host->number()];
    const std::uint64_t lost = host->connections_lost();
    if (std::exchange(of.connections_lost, lost) != lost) of.disturbed = now;
  }
}

// On some networks a check shares a connection with other messages. While one of them waits for a
// router's buffer, or for its sender's share of them, the check waits behind it and may be late.
bool RouteWatch::is_one_connection(NetId net) const {
  for (unsigned i = 0; i < world_.config.nets.size(); ++i) {
    if (world_.layout.net_id(i) != net) continue;
    return traits_of(world_.config.nets[i].kind).one_connection;
  }
  return false;
}

void RouteWatch::note_held_up(Instant now) {
  for (const auto& host : world_.hosts) {
    if (!host->is_router() || host->state() != Host::State::kUp) continue;
    OfHost& of = hosts_[host->number()];
    const std::uint64_t held_up = host->held_up();
    if (std::exchange(of.held_up, held_up) != held_up || host->holds_up_anybody())
      of.last_held_up = now;
  }
}

void RouteWatch::disturbed(std::uint32_t a, std::uint32_t b, Instant now) {
  for (const auto& [node, other] : {std::pair{a, b}, std::pair{b, a}}) {
    for (Watched& watched : hosts_[node].routes) {
      if (Layout::node_of(watched.route.gateway) != other) continue;
      watched.disturbed = watched.met_since = now;
    }
  }
}

void RouteWatch::note_who_meets(Instant now) {
  for (const auto& host : world_.hosts) {
    OfHost& of = hosts_[host->number()];
    if (host->state() != Host::State::kUp) {
      // A node that lost power forgets everything and comes back as another incarnation. Its
      // neighbours do not know that: they may have tried in vain while it was off, or wait for
      // credits of a queue pair that only they have.
      of.cookie = 0;
      of.routes.clear();
      of.off_since = std::min(of.off_since, now);
      continue;
    }
    if (of.cookie != host->cookie()) {
      of.cookie = host->cookie();
      of.routes.clear();
      for (const RouteSetup& route : host->routes())
        of.routes.push_back({.route = route,
                             .since = now,
                             .one_connection = is_one_connection(route.gateway.net()) ||
                                               is_one_connection(route.net),
                             .met_since = now,
                             .away_since = of.off_since});
      of.off_since = kNever;
    }
    for (Watched& watched : of.routes) {
      const Host& gateway = *world_.hosts[Layout::node_of(watched.route.gateway)];
      // A gateway whose link is up but held does not report over it yet.
      const bool meets = meet(*host, gateway) && !gateway.is_link_held(watched.route.gateway);
      if (!std::exchange(watched.meets, meets) && meets) watched.met_since = now;
    }
  }
}

// The last event that may have cost the route a check, or the gateway a message from the network
// beyond.
Instant RouteWatch::undisturbed_since(const Host& host, const Watched& watched) {
  const Host& gateway = *world_.hosts[Layout::node_of(watched.route.gateway)];
  const OfHost& of_gateway = hosts_[gateway.number()];
  Instant since = std::max(
      {watched.disturbed, hosts_[host.number()].disturbed, of_gateway.disturbed, in_doubt_});
  if (watched.one_connection) since = std::max(since, of_gateway.last_held_up);
  if (watched.truth != RouteTruth::kUp) return since;
  const Instant asked = asked_since(gateway, watched.route.net);
  return asked == kNever ? since : std::max(since, asked);
}

// Includes nodes on the other side: a gateway's network is up when a node there has checked it.
Duration RouteWatch::away_longest(std::uint32_t gateway, Instant now) {
  const auto [at, is_new] = away_.try_emplace(gateway, Duration{});
  if (is_new) at->second = longest_away(gateway, now);
  return at->second;
}

Duration RouteWatch::longest_away(std::uint32_t gateway, Instant now) const {
  Duration longest{};
  for (const OfHost& of : hosts_) {
    for (const Watched& each : of.routes) {
      if (each.away_since == kNever || Layout::node_of(each.route.gateway) != gateway) continue;
      longest =
          std::max(longest, each.was_away > Duration{} ? each.was_away : now - each.away_since);
    }
  }
  return longest;
}

// --- The state of routes ---

void RouteWatch::begin_anew(Watched& watched, Instant since, Instant now) {
  watched.since = since;
  watched.outlasted = false;
  if (watched.truth != RouteTruth::kUp) return;
  // A route that was wrong before was unusable for as long, whatever the reason.
  const Duration wrong = watched.wrong_since == kNever ? Duration{} : now - watched.wrong_since;
  watched.away = std::max(away_longest(Layout::node_of(watched.route.gateway), now), wrong);
}

// The time for detection begins. Another reason for a route to be down changes nothing: since the
// first reason no check has had an answer that would keep the route up. But a gateway that was gone
// is heard before it has reported its other problem.
void RouteWatch::note_truth(Watched& watched, RouteTruth truth, Instant now) {
  const bool no_way =
      truth == RouteTruth::kGone || truth == RouteTruth::kLinkDown || !watched.meets;
  if (no_way && watched.away_since == kNever) watched.away_since = now;
  if (watched.away_since != kNever)
    watched.was_away = no_way ? Duration{} : std::max(watched.was_away, now - watched.away_since);
  watched.recovers = watched.recovers || no_way || wanted_of(truth) == Wanted::kDown;
  if (truth == watched.truth) return;
  const bool other =
      wanted_of(truth) != wanted_of(watched.truth) || watched.truth == RouteTruth::kGone;
  watched.truth = truth;
  if (!other) return;
  watched.wrong_since = kNever;
  begin_anew(watched, now, now);
}

void RouteWatch::look_at(const Host& host, Watched& watched, Instant now) {
  const RouteTruth truth = truth_of(host, watched);
  note_truth(watched, truth, now);
  // A running gateway revives its routes by any of its messages, until an answer has reported the
  // problem: disturbances of that answer matter then, too. A gateway that is gone does neither.
  if (truth != RouteTruth::kUnknown && truth != RouteTruth::kGone) {
    const Instant since = undisturbed_since(host, watched);
    if (since > watched.since) begin_anew(watched, since, now);
  }
  const Route* const route = find(host, watched.route);
  const bool up = route != nullptr && route->alive.get();
  const Wanted wanted = wanted_of(truth);
  if (wanted == Wanted::kAny) return;
  const Duration bound = bounds_.of(truth, watched.away);
  const bool late = now - watched.since > bound;
  settled_ = settled_ && late;
  patience_ = std::max(patience_, watched.since + bound - now);
  if (late && !std::exchange(watched.outlasted, true)) {
    if (truth != RouteTruth::kUp || watched.recovers) ++outlasted_[at(truth)];
    watched.recovers = watched.recovers && truth != RouteTruth::kUp;
  }
  if (up != (wanted == Wanted::kUp)) {
    if (watched.wrong_since == kNever) watched.wrong_since = now;
    return note_wrong(host, watched, up, late, now);
  }
  if (std::exchange(watched.wrong_since, kNever) != kNever)
    longest_[at(truth)] = std::max(longest_[at(truth)], now - watched.since);
  if (truth == RouteTruth::kUp) {
    watched.away_since = kNever;
    watched.was_away = {};
  }
}

void RouteWatch::note_wrong(const Host& host, const Watched& watched, bool up, bool late,
                            Instant now) {
  if (!wrong_.empty() && !late) return;
  const Route* const route = find(host, watched.route);
  std::string_view why = "not in the table";
  if (route != nullptr && route->history.kept() > 0) why = text_of(route->history.back(0).cause);
  wrong_ = fmt::format(
      "route of node {} to {} by {} is {} ({}) for {:.1f} s, and its gateway is {} for {:.1f} s",
      host.number(), text_of_net(watched.route.net), text_of(watched.route.gateway),
      up ? "up" : "down", why, seconds_of(now - watched.wrong_since), up ? "not" : "well",
      seconds_of(now - watched.since));
  if (late) world_.ledger.violate(wrong_);
}

void RouteWatch::look(Instant now) {
  if (!world_.layout.has_routers()) return;
  first_look_ = std::min(first_look_, now);
  wrong_.clear();
  asked_.clear();
  away_.clear();
  settled_ = true;
  patience_ = {};
  if (all_in_doubt()) in_doubt_ = now;
  note_lost_connections(now);
  note_held_up(now);
  note_who_meets(now);
  for (const auto& host : world_.hosts) {
    for (Watched& watched : hosts_[host->number()].routes)
      look_at(*host, watched, now);
  }
}

}  // namespace plnet::sim
