// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-sim/plan/layout.hpp"

#include <algorithm>
#include <numeric>

#include "apps/lnet-sim/plan/numbers.hpp"

namespace plnet::sim {

using namespace lnet;

namespace {

bool leads_by(const GroupPlan& from, unsigned by) {
  return std::ranges::find(from.routes, by, &RoutePlan::via) != from.routes.end();
}

}  // namespace

Layout::Layout(const SiteConfig& config) : config_(config), groups_(config.groups) {
  if (groups_.empty()) {
    GroupPlan all{.nodes = config.nodes, .shards = config.shards, .talks_to = {0}};
    all.nets.resize(config.nets.size());
    std::iota(all.nets.begin(), all.nets.end(), 0U);
    groups_.push_back(std::move(all));
  }
  for (unsigned i = 0; i < groups_.size(); ++i) {
    firsts_.push_back(static_cast<std::uint32_t>(group_numbers_.size()));
    group_numbers_.insert(group_numbers_.end(), groups_[i].nodes, i);
    has_routers_ = has_routers_ || groups_[i].router;
  }
}

unsigned Layout::shards_of(std::uint32_t node) const {
  const std::vector<unsigned>& shards = group_of(node).shards;
  return shards[(node - firsts_[group_numbers_[node]]) % shards.size()];
}

unsigned Layout::shards_max() const {
  unsigned most = 1;
  for (const GroupPlan& group : groups_)
    most = std::max(most, *std::ranges::max_element(group.shards));
  return most;
}

std::vector<std::uint32_t> Layout::nodes_of(unsigned group) const {
  std::vector<std::uint32_t> nodes(groups_[group].nodes);
  std::iota(nodes.begin(), nodes.end(), firsts_[group]);
  return nodes;
}

std::vector<std::uint32_t> Layout::routers() const {
  std::vector<std::uint32_t> all;
  for (std::uint32_t node = 0; node < group_numbers_.size(); ++node) {
    if (group_of(node).router) all.push_back(node);
  }
  return all;
}

// --- Networks ---

Nid Layout::nid(unsigned net, unsigned interface, std::uint32_t node) const {
  return nid_of(config_.nets[net], net, interface, node);
}

bool Layout::is_on(std::uint32_t node, NetId net) const {
  return std::ranges::any_of(group_of(node).nets,
                             [&](unsigned number) { return net_id(number) == net; });
}

bool Layout::has_way(std::uint32_t node, NetId net) const {
  return is_on(node, net) ||
         std::ranges::any_of(group_of(node).routes,
                             [&](const RoutePlan& route) { return net_id(route.net) == net; });
}

std::vector<RouteSetup> Layout::routes_of(std::uint32_t node) const {
  std::vector<RouteSetup> routes;
  const GroupPlan& group = group_of(node);
  for (const RoutePlan& plan : group.routes) {
    const GroupPlan& via = groups_[plan.via];
    const auto common =
        std::ranges::find_if(via.nets, [&](unsigned net) { return contains(group.nets, net); });
    if (common == via.nets.end()) continue;
    for (const std::uint32_t gateway : nodes_of(plan.via)) {
      if (gateway == node) continue;
      routes.push_back({.net = net_id(plan.net),
                        .gateway = nid(*common, 0, gateway),
                        .hops = plan.hops,
                        .priority = plan.priority});
    }
  }
  return routes;
}

// --- Relations of nodes ---

bool Layout::begins_anything(std::uint32_t node) const {
  return !group_of(node).talks_to.empty();
}

std::uint32_t Layout::partner(std::uint32_t node, Random& random) const {
  const GroupPlan& group = group_of(node);
  std::uint64_t all = 0;
  std::uint64_t own_place = 0;
  bool among_them = false;
  for (const unsigned target : group.talks_to) {
    if (target == group_numbers_[node]) {
      among_them = true;
      own_place = all + node - firsts_[target];
    }
    all += groups_[target].nodes;
  }
  if (among_them && all == 1) return node;
  const std::uint64_t others = among_them ? all - 1 : all;
  const unsigned partners = config_.traffic.partners;
  std::uint64_t place = 0;
  if (partners == 0 || partners >= others) {
    place = random.below(others);
  } else {
    // The distances grow, so that neighbours in the network are not neighbours in memory.
    std::uint64_t distance = 1;
    for (std::uint64_t i = random.below(partners); i > 0; --i)
      distance = distance * 7 + 3;
    place = distance % others;
  }
  place = (among_them ? own_place + 1 + place : node + place) % all;
  for (const unsigned target : group.talks_to) {
    if (place < groups_[target].nodes) return firsts_[target] + static_cast<std::uint32_t>(place);
    place -= groups_[target].nodes;
  }
  return node;
}

std::vector<std::uint32_t> Layout::partners(std::uint32_t node) const {
  std::vector<std::uint32_t> all;
  for (const unsigned target : group_of(node).talks_to) {
    for (const std::uint32_t other : nodes_of(target)) {
      if (other != node) all.push_back(other);
    }
  }
  return all;
}

bool Layout::share_a_net(const GroupPlan& a, const GroupPlan& b) const {
  return std::ranges::any_of(a.nets, [&](unsigned net) { return contains(b.nets, net); });
}

bool Layout::deals_with(unsigned a, unsigned b) const {
  return contains(groups_[a].talks_to, b) || contains(groups_[b].talks_to, a) ||
         leads_by(groups_[a], b) || leads_by(groups_[b], a);
}

bool Layout::are_near(unsigned a, unsigned b) const {
  return share_a_net(groups_[a], groups_[b]) && deals_with(a, b);
}

bool Layout::are_neighbours(std::uint32_t a, std::uint32_t b) const {
  return a != b && are_near(group_numbers_[a], group_numbers_[b]);
}

std::uint32_t Layout::neighbour(std::uint32_t node, Random& random) const {
  const unsigned own = group_numbers_[node];
  std::vector<std::uint32_t> all;
  for (unsigned group = 0; group < groups_.size(); ++group) {
    if (!are_near(own, group)) continue;
    const auto nodes = nodes_of(group);
    all.insert(all.end(), nodes.begin(), nodes.end());
  }
  return all.empty() ? node : all[random.below(all.size())];
}

std::size_t Layout::nids_of(const GroupPlan& group) const {
  std::size_t count = 0;
  for (const unsigned net : group.nets)
    count += config_.nets[net].interfaces;
  return count;
}

template <class NidsOf>
std::size_t Layout::count_peers(std::uint32_t node, NidsOf&& nids_of) const {
  const unsigned own = group_numbers_[node];
  std::size_t count = 0;
  for (unsigned group = 0; group < groups_.size(); ++group) {
    if (!groups_[own].router && !deals_with(own, group)) continue;
    std::size_t nodes = groups_[group].nodes;
    // Each node talks to a few of its kind, and the same number to it.
    if (config_.groups.empty() && config_.traffic.partners > 0) {
      nodes = std::min<std::size_t>(nodes, 2 * config_.traffic.partners + 2);
    }
    count += nodes * nids_of(groups_[group]);
  }
  return count + 2;
}

std::size_t Layout::peer_nis(std::uint32_t node) const {
  return count_peers(node, [this](const GroupPlan& group) { return nids_of(group); });
}

std::size_t Layout::peer_nis(std::uint32_t node, unsigned net) const {
  return count_peers(node, [this, net](const GroupPlan& group) {
    return contains(group.nets, net) ? config_.nets[net].interfaces : 0U;
  });
}

}  // namespace plnet::sim
