// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-sim/plan/group_reader.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "apps/lnet-sim/plan/numbers.hpp"
#include "lib/lnet/names/nid_text.hpp"

namespace plnet::sim {

namespace {

// Buffers of one class in a node: more would only cost memory.
constexpr std::uint64_t kBuffersMax = 65'536;
constexpr std::uint64_t kNodesMax = 65'000;

template <class Named>
std::string name_of(const std::vector<Named>& all, std::size_t number) {
  return all[number].name.empty() ? fmt::format("{}", number) : all[number].name;
}

}  // namespace

void GroupReader::read_route(const YamlNode& node, std::size_t group) {
  NamedRoute route{.at = &node};
  const std::array keys{
      Key{"net", [&](const YamlNode& value) { route.net = &value; }},
      Key{"via", [&](const YamlNode& value) { route.via = &value; }},
      keys_.number("hops", route.plan.hops, 1, lnet::kRouteHopsMax),
      keys_.number("priority", route.plan.priority, 0, 0x7fffffff),
  };
  keys_.mapping(node, keys);
  if (route.net == nullptr || route.via == nullptr) {
    return errors_.add(node.at, "a route has `net`, where it leads, and `via`, a group of routers");
  }
  groups_[group].routes.push_back(route);
}

void GroupReader::read(const YamlNode& node) {
  if (groups_.size() == kGroupsMax) return errors_.add(node.at, "more groups than 64");
  const std::size_t number = groups_.size();
  NamedGroup& group = groups_.emplace_back();
  group.at = &node;
  bool shards_named = false;
  lnet::BufferCounts& buffers = group.plan.buffers;
  using lnet::BufferClass;
  const std::array buffer_keys{
      keys_.number("tiny", buffers[BufferClass::kTiny], 1, kBuffersMax),
      keys_.number("small", buffers[BufferClass::kSmall], 1, kBuffersMax),
      keys_.number("large", buffers[BufferClass::kLarge], 1, kBuffersMax),
  };
  const std::array keys{
      Key{"name", [&](const YamlNode& value) { group.plan.name = value.text; }},
      keys_.number("nodes", group.plan.nodes, 1, kNodesMax),
      keys_.list("shards",
                 [&](const YamlNode& value) {
                   if (!std::exchange(shards_named, true)) group.plan.shards.clear();
                   if (const auto count = keys_.whole(value, "shards", 1, 16)) {
                     group.plan.shards.push_back(static_cast<unsigned>(*count));
                   }
                 }),
      keys_.list("nets", [&](const YamlNode& value) { group.nets.push_back(&value); }),
      keys_.list("talks_to", [&](const YamlNode& value) { group.talks_to.push_back(&value); }),
      keys_.list("routes", [&](const YamlNode& value) { read_route(value, number); }),
      keys_.flag("router", group.plan.router),
      Key{"buffers", [&](const YamlNode& value) { keys_.mapping(value, buffer_keys); }},
      keys_.number("peer_buffer_credits", group.plan.peer_buffer_credits, 0, 65'535),
      keys_.list("nids",
                 [&](const YamlNode& value) {
                   const auto nid = lnet::parse_nid(value.text);
                   if (!nid) errors_.add(value.at, "nids: " + nid.error().what);
                   group.plan.nids.push_back(value.text);
                 }),
  };
  keys_.mapping(node, keys);
  if (group.plan.nids.size() % std::max(group.plan.nodes, 1U) != 0) {
    errors_.add(node.at, fmt::format("nids: {}, expected as many for each of {} nodes",
                                     group.plan.nids.size(), group.plan.nodes));
  }
  if (group.nets.empty()) errors_.add(node.at, "a group is on some `nets`");
}

template <class Named>
void GroupReader::name(const YamlNode& node, const std::vector<Named>& all, unsigned& out) {
  std::string known;
  for (unsigned i = 0; i < all.size(); ++i) {
    if (name_of(all, i) == node.text) {
      out = i;
      return;
    }
    known += (i == 0 ? "" : ", ") + name_of(all, i);
  }
  errors_.add(node.at, fmt::format("'{}', expected one of {}", shown(node.text), known));
}

void GroupReader::check_route(const SiteConfig& site, const YamlNode& at, const GroupPlan& group,
                              const RoutePlan& route) {
  const GroupPlan& via = site.groups[route.via];
  if (contains(group.nets, route.net)) {
    errors_.add(at.at, "a route to a network that the group is on");
  } else if (!via.router) {
    errors_.add(at.at, fmt::format("'{}' does not route", name_of(site.groups, route.via)));
  } else if (std::ranges::none_of(via.nets,
                                  [&](unsigned net) { return contains(group.nets, net); })) {
    errors_.add(at.at,
                fmt::format("no network in common with '{}'", name_of(site.groups, route.via)));
  }
}

void GroupReader::check_talk(const YamlNode& at, const GroupPlan& group, const GroupPlan& target) {
  const auto reaches = [](const GroupPlan& from, const GroupPlan& to) {
    return std::ranges::any_of(to.nets, [&](unsigned net) {
      return contains(from.nets, net) ||
             std::ranges::find(from.routes, net, &RoutePlan::net) != from.routes.end();
    });
  };
  if (!reaches(group, target)) errors_.add(at.at, "neither a network nor a route leads there");
  if (!reaches(target, group)) errors_.add(at.at, "nothing leads from there back to here");
  if (&group == &target && group.nodes == 1) errors_.add(at.at, "it is alone in its group");
}

void GroupReader::finish(SiteConfig& site) {
  if (groups_.empty()) return;
  site.nodes = 0;
  for (const NamedGroup& group : groups_) {
    site.groups.push_back(group.plan);
    site.nodes += group.plan.nodes;
  }
  if (site.nodes > kNodesMax) errors_.add(groups_[0].at->at, "groups: more than 65000 nodes");
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    GroupPlan& plan = site.groups[i];
    for (const YamlNode* const net : groups_[i].nets)
      name(*net, site.nets, plan.nets.emplace_back());
    for (const YamlNode* const target : groups_[i].talks_to)
      name(*target, site.groups, plan.talks_to.emplace_back());
    for (NamedRoute& route : groups_[i].routes) {
      name(*route.net, site.nets, route.plan.net);
      name(*route.via, site.groups, route.plan.via);
      plan.routes.push_back(route.plan);
    }
  }
  if (!errors_.empty()) return;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const GroupPlan& plan = site.groups[i];
    for (std::size_t k = 0; k < plan.routes.size(); ++k)
      check_route(site, *groups_[i].routes[k].at, plan, plan.routes[k]);
    for (std::size_t k = 0; k < plan.talks_to.size(); ++k)
      check_talk(*groups_[i].talks_to[k], plan, site.groups[plan.talks_to[k]]);
  }
}

}  // namespace plnet::sim
