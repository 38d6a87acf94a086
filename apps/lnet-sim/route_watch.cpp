// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-sim/route_watch.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "lib/lnet/names/nid_text.hpp"

namespace plnet::sim {

using namespace lnet;

namespace {

// Checks are begun, and NIs looked at, once a second; so does this.
constexpr Duration kLooks = std::chrono::seconds(3);

// A check may just have begun when the fault came, and end by its timeout only. What is lost with a
// connection is noticed by the LND's timeout, and a router that is not asked on a network says so
// after as long again.
Duration patience_down(const SiteConfig& config) {
  const auto interval = std::chrono::seconds(config.gateways.check_interval_s);
  const auto timeout = std::chrono::seconds(config.gateways.ping_timeout_s);
  return 2 * interval + 2 * timeout + std::chrono::seconds(config.lnd_timeout_s) + kLooks;
}

// A gateway that has failed a few times must answer several checks, and a peer that was away for
// long is not called at once.
Duration patience_up(const SiteConfig& config) {
  return patience_down(config) + config.faults.outage +
         Gateway::kAnswersInARow * std::chrono::seconds(config.gateways.check_interval_s);
}

const Route* find(const Host& host, const RouteSetup& wanted) {
  for (const auto& route : host.node().coordinator().routes().routes()) {
    if (route->spec.net == wanted.net && route->spec.gateway == wanted.gateway) return route.get();
  }
  return nullptr;
}

}  // namespace

RouteWatch::RouteWatch(World& world, const Cuts& cuts)
    : world_(world),
      cuts_(cuts),
      patience_(patience_up(world.config)),
      patience_down_(patience_down(world.config)),
      hosts_(world.config.nodes) {}

// --- What is true ---

// While connections break by themselves a check may fail for no reason that shows here.
bool RouteWatch::is_doubtful() const {
  if (world_.config.weather == Weather::kHostile) return true;
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
bool RouteWatch::is_asked(const Host& gateway, NetId net) const {
  return std::ranges::any_of(world_.hosts, [&](const auto& host) {
    return meet(*host, gateway) && std::ranges::any_of(host->routes(), [&](const RouteSetup& one) {
             return one.gateway.net() == net && gateway.has(one.gateway);
           });
  });
}

RouteWatch::Truth RouteWatch::far_side(const Host& gateway, const RouteSetup& route) const {
  bool is_on = false;
  bool has_link = false;
  for (const Nid& nid : gateway.nids()) {
    if (nid.net() != route.net) continue;
    is_on = true;
    has_link = has_link || gateway.has_link(nid);
  }
  if (!is_on) return route.hops == 1 ? Truth::kUnknown : Truth::kUp;
  if (!has_link) return Truth::kDown;
  return is_asked(gateway, route.net) ? Truth::kUp : Truth::kUnknown;
}

RouteWatch::Truth RouteWatch::truth_of(const Host& host, const RouteSetup& route) const {
  const Host& gateway = *world_.hosts[Layout::node_of(route.gateway)];
  const bool there = !cuts_.is_cut(host.id(), gateway.id());
  const bool back = !cuts_.is_cut(gateway.id(), host.id());
  if (gateway.state() != Host::State::kUp || (!there && !back)) return Truth::kDown;
  if (!gateway.has_link(route.gateway)) return Truth::kDown;
  if (!meet(host, gateway)) return Truth::kUnknown;
  if (!gateway.is_forwarding()) return Truth::kDown;  // it drains, or is about to begin
  return far_side(gateway, route);
}

// --- What is ---

void RouteWatch::look_at(const Host& host, Watched& watched, Instant now) {
  const Truth truth = truth_of(host, watched.route);
  const Route* const route = find(host, watched.route);
  const bool up = route != nullptr && route->alive.get();
  const bool right = truth == Truth::kUnknown || up == (truth == Truth::kUp);
  if (truth != watched.truth || right) watched.wrong_since = Instant::max();
  watched.truth = truth;
  if (right) return;
  const bool begins = watched.wrong_since == Instant::max();
  if (begins) watched.wrong_since = now;
  const Duration wrong = now - watched.wrong_since;
  const bool too_long = wrong > (truth == Truth::kUp ? patience_ : patience_down_);
  if (!wrong_.empty() && !too_long) return;
  std::string_view why = "not in the table";
  if (route != nullptr && route->history.kept() > 0) why = text_of(route->history.back(0).cause);
  wrong_ = fmt::format(
      "route of node {} to {} by {} is {} ({}), and its gateway is {}, for {:.1f} s", host.number(),
      text_of_net(watched.route.net), text_of(watched.route.gateway), up ? "up" : "down", why,
      up ? "not" : "well", std::chrono::duration<double>(wrong).count());
  if (too_long && !is_doubtful()) world_.ledger.violate(wrong_);
}

void RouteWatch::look(Instant now) {
  wrong_.clear();
  if (!world_.layout.has_routers()) return;
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
