// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-sim/route_watch.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "lib/lnet/names/nid_text.hpp"

namespace plnet::sim {

using namespace lnet;

namespace {

const Route* find(const Host& host, const RouteSetup& wanted) {
  for (const auto& route : host.node().coordinator().routes().routes()) {
    if (route->spec.net == wanted.net && route->spec.gateway == wanted.gateway) return route.get();
  }
  return nullptr;
}

}  // namespace

RouteWatch::RouteWatch(World& world, const Cuts& cuts)
    : world_(world), cuts_(cuts), bounds_(world.config.gateways), hosts_(world.config.nodes) {}

// --- What is true ---

// While connections break by themselves a check may fail for no reason that shows here, and what is
// wrong is so for that reason. Time counts from when that is over.
bool RouteWatch::is_doubtful() const {
  if (world_.config.weather == Weather::kHostile || world_.kfi_troubles > 0) return true;
  return !world_.stopping && std::ranges::any_of(world_.config.nets, [](const NetPlan& net) {
    return net.faults.count > 0;
  });
}

bool RouteWatch::meet(const Host& a, const Host& b) const {
  return a.state() == Host::State::kUp && b.state() == Host::State::kUp &&
         !cuts_.is_cut(a.id(), b.id()) && !cuts_.is_cut(b.id(), a.id()) &&
         !cuts_.is_slow(a.id(), b.id());
}

// Somebody there checks the gateway: it would else not know whether its network is alive.
bool RouteWatch::is_asked(const Host& gateway, NetId net) {
  const auto [at, is_new] = asked_.try_emplace({gateway.number(), net}, false);
  if (is_new) at->second = somebody_asks(gateway, net);
  return at->second;
}

bool RouteWatch::somebody_asks(const Host& gateway, NetId net) const {
  return std::ranges::any_of(world_.hosts, [&](const auto& host) {
    return meet(*host, gateway) && std::ranges::any_of(host->routes(), [&](const RouteSetup& one) {
             return one.gateway.net() == net && gateway.has(one.gateway);
           });
  });
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
  return is_asked(gateway, route.net) ? RouteTruth::kUp : RouteTruth::kUnknown;
}

// Whoever cannot hear its gateway has no answer and no other sign of life from it. What comes from
// one that does not hear may be a sign of life to this node, or not: that is left open.
RouteTruth RouteWatch::truth_of(const Host& host, const RouteSetup& route) {
  const Host& gateway = *world_.hosts[Layout::node_of(route.gateway)];
  const bool there = !cuts_.is_cut(host.id(), gateway.id());
  const bool back = !cuts_.is_cut(gateway.id(), host.id());
  // What was under way when a slow link was cut comes late.
  const bool unheard = !back && (!there || !cuts_.is_slow(host.id(), gateway.id()));
  if (gateway.state() != Host::State::kUp || unheard) return RouteTruth::kGone;
  if (!gateway.has_link(route.gateway)) return RouteTruth::kGone;
  if (!meet(host, gateway) || gateway.is_link_held(route.gateway)) return RouteTruth::kUnknown;
  if (!gateway.is_forwarding()) return RouteTruth::kNotRouting;
  return far_side(gateway, route);
}

// --- What is ---

// What is true has changed: from now on it may be noticed.
void RouteWatch::note_truth(Watched& watched, RouteTruth truth, Instant now) {
  if (truth == watched.truth) return;
  watched.truth = truth;
  watched.wrong_since = Instant::max();
  const bool no_way = truth != RouteTruth::kUp && truth != RouteTruth::kNotRouting;
  if (no_way && watched.away_since == Instant::max()) watched.away_since = now;
  if (truth == RouteTruth::kUp)
    watched.away = away_longest(Layout::node_of(watched.route.gateway), now);
}

// Also of those on the other side: a gateway's network is up when somebody there has asked it.
Duration RouteWatch::away_longest(std::uint32_t gateway, Instant now) {
  const auto [at, is_new] = away_.try_emplace(gateway, Duration{});
  if (is_new) at->second = longest_away(gateway, now);
  return at->second;
}

Duration RouteWatch::longest_away(std::uint32_t gateway, Instant now) const {
  Duration longest{};
  for (const OfHost& of : hosts_) {
    for (const Watched& each : of.routes) {
      if (Layout::node_of(each.route.gateway) != gateway) continue;
      if (each.away_since < now) longest = std::max(longest, now - each.away_since);
    }
  }
  return longest;
}

// Nobody was away for longer than all has lasted.
Duration RouteWatch::patience() const {
  return bounds_.up(world_.loop.now().time_since_epoch());
}

void RouteWatch::look_at(const Host& host, Watched& watched, Instant now) {
  const RouteTruth truth = truth_of(host, watched.route);
  const Route* const route = find(host, watched.route);
  const bool up = route != nullptr && route->alive.get();
  const bool right = truth == RouteTruth::kUnknown || up == (truth == RouteTruth::kUp);
  const Instant wrong_since = std::max(watched.wrong_since, doubtful_until_);
  if (truth == watched.truth && watched.wrong_since != Instant::max() && right) {
    Duration& longest = longest_[static_cast<std::size_t>(truth)];
    longest = std::max(longest, now - wrong_since);
  }
  note_truth(watched, truth, now);
  if (right) watched.wrong_since = Instant::max();
  if (right && truth == RouteTruth::kUp) watched.away_since = Instant::max();
  if (right) return;
  if (watched.wrong_since == Instant::max()) watched.wrong_since = now;
  const Duration wrong = now - std::max(watched.wrong_since, doubtful_until_);
  const Duration in_doubt = std::max(doubtful_until_ - watched.wrong_since, Duration{});
  const bool too_long = wrong > bounds_.of(truth, std::max(watched.away, in_doubt));
  if (!wrong_.empty() && !too_long) return;
  std::string_view why = "not in the table";
  if (route != nullptr && route->history.kept() > 0) why = text_of(route->history.back(0).cause);
  wrong_ = fmt::format(
      "route of node {} to {} by {} is {} ({}), and its gateway is {}, for {:.1f} s", host.number(),
      text_of_net(watched.route.net), text_of(watched.route.gateway), up ? "up" : "down", why,
      up ? "not" : "well", std::chrono::duration<double>(wrong).count());
  if (too_long && !doubtful_) world_.ledger.violate(wrong_);
}

void RouteWatch::look(Instant now) {
  wrong_.clear();
  asked_.clear();
  away_.clear();
  if (!world_.layout.has_routers()) return;
  const bool was_doubtful = std::exchange(doubtful_, is_doubtful());
  if (was_doubtful || doubtful_) doubtful_until_ = now;
  for (const auto& host : world_.hosts) {
    OfHost& of = hosts_[host->number()];
    if (host->state() != Host::State::kUp) {
      of.cookie = 0;
      continue;
    }
    if (of.cookie != host->cookie()) {
      of = {.cookie = host->cookie(), .routes = {}};
      for (const RouteSetup& route : host->routes())
        of.routes.push_back({.route = route});
    }
    for (Watched& watched : of.routes)
      look_at(*host, watched, now);
  }
}

}  // namespace plnet::sim
