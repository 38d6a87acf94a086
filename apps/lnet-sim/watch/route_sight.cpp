// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-sim/watch/route_sight.hpp"

#include <algorithm>

namespace plnet::sim {

using namespace lnet;

RouteSight::RouteSight(const World& world, std::uint32_t router) : world_(world), router_(router) {
  for (const auto& host : world_.hosts) {
    const bool uses = std::ranges::any_of(host->routes(), [this](const RouteSetup& route) {
      return Layout::node_of(route.gateway) == router_;
    });
    if (uses) seen_.push_back({.node = host->number()});
  }
}

bool RouteSight::are_up(const Host& host) const {
  return std::ranges::all_of(
      host.node().coordinator().routes().routes(), [this](const auto& route) {
        return Layout::node_of(route->spec.gateway) != router_ || route->alive.get();
      });
}

void RouteSight::look(Instant now) {
  for (Seen& each : seen_) {
    const Host& host = *world_.hosts[each.node];
    if (host.state() != Host::State::kUp) continue;
    const bool up = are_up(host);
    if (!up && !each.down) each.down = now;
    if (!up) each.up.reset();
    if (up && each.down && !each.up) each.up = now;
  }
}

bool RouteSight::all_up() const {
  return std::ranges::all_of(seen_, [](const Seen& each) { return !each.down || each.up; });
}

}  // namespace plnet::sim
