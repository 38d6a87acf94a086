// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-sim/plan/site_rules.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace plnet::sim {

namespace {

using runtime::Position;

// The position of a key in a mapping; the beginning of the document for a missing one.
Position place_of(const YamlNode& document, std::string_view section, std::string_view key) {
  const YamlNode* const mapping = document.find(section);
  const YamlNode* const found = mapping == nullptr ? nullptr : mapping->find(key);
  return found == nullptr ? document.at : found->key_at;
}

// Routes of each group to each network that it reaches by routers.
unsigned gateways_to(const SiteConfig& site, const GroupPlan& group, unsigned net) {
  unsigned count = 0;
  for (const RoutePlan& route : group.routes) {
    if (route.net != net) continue;
    const GroupPlan& via = site.groups[route.via];
    count += via.nodes - (&via == &group ? 1U : 0U);
  }
  return count;
}

// Every node that uses it has another router. Operators drain no others: Site::has_second_way().
bool can_be_spared(const SiteConfig& site, unsigned router) {
  return std::ranges::all_of(site.groups, [&](const GroupPlan& group) {
    return std::ranges::all_of(group.routes, [&](const RoutePlan& route) {
      return route.via != router || gateways_to(site, group, route.net) > 1;
    });
  });
}

bool has_drains(const EpisodePlan& episode) {
  return std::ranges::find(episode.mishaps, Mishap::kDrain) != episode.mishaps.end();
}

void check_router_faults(const SiteConfig& site, const YamlNode& document, ConfigErrors& errors) {
  const FaultPlan& faults = site.faults;
  const bool routes = std::ranges::any_of(site.groups, &GroupPlan::router);
  for (const auto& [key, count] :
       {std::pair{"router_kills", faults.router_kills}, std::pair{"flaps", faults.flaps},
        std::pair{"drains", faults.drains},
        std::pair{"episodes", static_cast<unsigned>(faults.episodes.size())}}) {
    if (count == 0 || routes) continue;
    errors.add(
        place_of(document, "faults", key),
        fmt::format("faults: {} happen to routers, expected a group with `router: true`", key));
  }
  if (faults.drains_in_trouble > faults.drains) {
    errors.add(place_of(document, "faults", "drains_in_trouble"),
               fmt::format("faults: drains_in_trouble is {}, expected no more than the drains ({}) "
                           "of which they are some",
                           faults.drains_in_trouble, faults.drains));
  }
  const bool drains = faults.drains > 0 || std::ranges::any_of(faults.episodes, has_drains);
  if (!drains || !routes) return;
  for (unsigned i = 0; i < site.groups.size(); ++i) {
    if (site.groups[i].router && can_be_spared(site, i)) return;
  }
  errors.add(place_of(document, "faults", faults.drains > 0 ? "drains" : "episodes"),
             "faults: no router is drained while somebody knows no other way, expected a second "
             "gateway for each route by one of them");
}

void check_outages(const SiteConfig& site, const YamlNode& document, ConfigErrors& errors) {
  const FaultPlan& faults = site.faults;
  if (faults.outage_max == Duration{} || faults.outage_max > faults.outage) return;
  errors.add(place_of(document, "faults", "outage_max"),
             "faults: outage_max is no longer than outage, expected more, or `outage` alone");
}

void check_group_keys(const SiteConfig& site, const YamlNode& document, ConfigErrors& errors) {
  const YamlNode* const groups = document.find("groups");
  if (groups == nullptr) return;
  for (const char* const key : {"nodes", "shards"}) {
    const YamlNode* const found = document.find(key);
    if (found == nullptr) continue;
    errors.add(found->key_at, fmt::format("{0}: a site with `groups` has those of its groups, "
                                          "expected `{0}` in each of them",
                                          key));
  }
  for (std::size_t i = 0; i < groups->items.size(); ++i) {
    if (site.groups[i].router) continue;
    for (const char* const key : {"buffers", "peer_buffer_credits"}) {
      const YamlNode* const found = groups->items[i].find(key);
      if (found == nullptr) continue;
      errors.add(found->key_at,
                 fmt::format("{}: of a router, expected `router: true` in this group", key));
    }
  }
}

}  // namespace

void check_site(const SiteConfig& site, const YamlNode& document, ConfigErrors& errors) {
  check_group_keys(site, document, errors);
  check_router_faults(site, document, errors);
  check_outages(site, document, errors);
  if (site.traffic.size_min > site.traffic.size_max) {
    errors.add(place_of(document, "traffic", "size_min"),
               "traffic: size_min is greater than size_max");
  }
  const auto has_cables = [](NetKind kind) { return traits_of(kind).has_cables; };
  if (site.faults.moves + site.faults.nack_storms > 0 &&
      std::ranges::none_of(site.nets, has_cables, &NetPlan::kind)) {
    const NetKind wanted = *std::ranges::find_if(kNetKinds, has_cables);
    errors.add(place_of(document, "faults", site.faults.moves > 0 ? "moves" : "nack_storms"),
               fmt::format("faults: moves and nack_storms need a net of `kind: {}`",
                           traits_of(wanted).name));
  }
  // a precondition of RouteBounds
  const auto has_routes = [](const GroupPlan& group) { return !group.routes.empty(); };
  if (site.gateways.ping_timeout_s <= site.lnd_timeout_s &&
      std::ranges::any_of(site.groups, has_routes)) {
    errors.add(place_of(document, "gateways", "ping_timeout_s"),
               fmt::format("gateways: ping_timeout_s is {}, expected more than lnd_timeout_s ({}): "
                           "pings wait that long behind a message that cannot be sent",
                           site.gateways.ping_timeout_s, site.lnd_timeout_s));
  }
}

}  // namespace plnet::sim
