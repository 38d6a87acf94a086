// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-sim/plan/seeded_routers.hpp"

#include <algorithm>

#include "apps/lnet-sim/plan/route_bounds.hpp"

namespace plnet::sim {

namespace {

unsigned drawn(Random& random, std::uint64_t least, std::uint64_t most) {
  return static_cast<unsigned>(random.between(least, most));
}

// Group `i` < nets - 1 routes between networks i and i + 1; of the others, one is on each network.
// Adds routes from `from`, one of the group's networks, to all networks beyond on that side.
void lead(GroupPlan& group, unsigned from, unsigned nets, bool onward, bool counted) {
  for (unsigned to = 0; to < nets; ++to) {
    if (onward ? to <= from : to >= from) continue;
    const unsigned hops = onward ? to - from : from - to;
    group.routes.push_back({.net = to,
                            .via = onward ? from : from - 1,
                            .hops = counted ? hops : lnet::kRouteHopsUndefined});
  }
}

GroupPlan routers_between(unsigned near, unsigned nets, bool counted, Random& random) {
  GroupPlan group{.name = "between" + std::to_string(near),
                  .nodes = drawn(random, 1, 3),
                  .shards = {drawn(random, 1, 4), drawn(random, 1, 4)},
                  .nets = {near, near + 1},
                  .router = true,
                  .buffers = {{drawn(random, 2, 16), drawn(random, 2, 16), drawn(random, 2, 8)}},
                  .peer_buffer_credits = random.chance(0.3) ? drawn(random, 2, 8) : 0};
  lead(group, near, nets, false, counted);
  lead(group, near + 1, nets, true, counted);
  return group;
}

GroupPlan nodes_on(unsigned net, unsigned nets, bool counted, Random& random) {
  GroupPlan group{.name = "on" + std::to_string(net),
                  .nodes = drawn(random, 1, 3),
                  .shards = {drawn(random, 1, 2), drawn(random, 1, 2)},
                  .nets = {net}};
  lead(group, net, nets, false, counted);
  lead(group, net, nets, true, counted);
  return group;
}

}  // namespace

NetKind drawn_kind(Random& random) {
  return random.below(3) == 1 ? NetKind::kO2ib : NetKind::kTcp;
}

void put_routers_into(SiteConfig& site, Random& random) {
  const unsigned nets = drawn(random, 2, 3);
  const bool counted = random.chance(0.7);
  site.name = "routed-seed";
  while (site.nets.size() < nets)
    site.nets.push_back({.kind = drawn_kind(random)});
  for (unsigned near = 0; near + 1 < nets; ++near)
    site.groups.push_back(routers_between(near, nets, counted, random));
  const auto first_end = static_cast<unsigned>(site.groups.size());
  for (unsigned net = 0; net < nets; ++net) {
    GroupPlan& group = site.groups.emplace_back(nodes_on(net, nets, counted, random));
    for (unsigned other = 0; other < nets; ++other) {
      if (other != net && (net == 0 || random.chance(0.5)))
        group.talks_to.push_back(first_end + other);
    }
  }
  site.nodes = 0;
  for (const GroupPlan& group : site.groups)
    site.nodes += group.nodes;
  FaultPlan& faults = site.faults;
  if (random.chance(0.6)) faults.drains = drawn(random, 1, 3);
  if (random.chance(0.5)) faults.drains_in_trouble = faults.drains;
  // Long enough for gateways to be detected as down and up again, or to be drained.
  site.time = std::chrono::milliseconds(random.between(200, faults.drains > 0 ? 20'000 : 6000));
  TrafficPlan& traffic = site.traffic;
  traffic.operations = drawn(random, 20, 60);
  traffic.pause = 2 * site.time / traffic.operations;
  site.lnd_timeout_s = drawn(random, 2, 5);
  site.gateways = {.check_interval_s = drawn(random, 1, 3),
                   .ping_timeout_s = site.lnd_timeout_s + drawn(random, 1, 5),
                   .check_before_use = random.chance(0.2)};
  // An outage may end before it is detected, or last twice as long as detection takes.
  if (random.chance(0.5)) faults.outage_max = 2 * RouteBounds(site.gateways).gone();
  if (random.chance(0.5)) faults.router_kills = drawn(random, 1, 2);
  if (random.chance(0.5)) faults.flaps = drawn(random, 1, 3);
  if (random.chance(0.3)) faults.one_way = drawn(random, 1, 2);
  if (random.chance(0.3)) faults.slow = drawn(random, 1, 2);
}

}  // namespace plnet::sim
