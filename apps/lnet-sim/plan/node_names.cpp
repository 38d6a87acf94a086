// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-sim/plan/node_names.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "lib/base/joined.hpp"
#include "lib/base/whole_number.hpp"
#include "lib/runtime/config/config_error.hpp"

namespace plnet::sim {

namespace {

// The place of a node: its group, and the number within it.
struct Place {
  std::size_t group = 0;
  std::uint32_t number = 0;
};

Place place_of(const SiteConfig& site, std::uint32_t node) {
  Place place{.number = node};
  while (place.group + 1 < site.groups.size() && place.number >= site.groups[place.group].nodes)
    place.number -= site.groups[place.group++].nodes;
  return place;
}

std::string known_nodes(const SiteConfig& site) {
  std::string known;
  for (std::size_t i = 0; i < site.groups.size(); ++i) {
    const unsigned nodes = site.groups[i].nodes;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", group_name(site, i));
    if (nodes > 1) known += fmt::format(".1 to .{}", nodes);
  }
  return known;
}

}  // namespace

std::string group_name(const SiteConfig& site, std::size_t group) {
  const std::string& name = site.groups[group].name;
  return name.empty() ? fmt::format("{}", group) : name;
}

std::string net_name(const SiteConfig& site, std::size_t net) {
  const std::string& name = site.nets[net].name;
  return name.empty() ? fmt::format("{}", net) : name;
}

std::string node_name(const SiteConfig& site, std::uint32_t node) {
  if (site.groups.empty()) return fmt::format("{}", node);
  const Place place = place_of(site, node);
  const std::string name = group_name(site, place.group);
  return site.groups[place.group].nodes == 1 ? name : fmt::format("{}.{}", name, place.number + 1);
}

std::vector<std::string> node_nids(const SiteConfig& site, std::uint32_t node) {
  if (site.groups.empty()) return {};
  const Place place = place_of(site, node);
  const GroupPlan& group = site.groups[place.group];
  const std::size_t share = group.nids.size() / group.nodes;
  const auto first = group.nids.begin() + static_cast<std::ptrdiff_t>(place.number * share);
  return {first, first + static_cast<std::ptrdiff_t>(share)};
}

std::string node_title(const SiteConfig& site, std::uint32_t node) {
  const std::vector<std::string> nids = node_nids(site, node);
  const std::string name = node_name(site, node);
  return nids.empty() ? name : fmt::format("{} ({})", name, joined(nids, ", "));
}

Outcome<std::uint32_t> find_node(const SiteConfig& site, std::string_view name) {
  std::uint32_t first = 0;
  for (std::size_t i = 0; i < site.groups.size(); ++i) {
    const GroupPlan& group = site.groups[i];
    const std::string own = group_name(site, i);
    if (name == own && group.nodes == 1) return first;
    if (name.starts_with(own) && name.substr(own.size()).starts_with('.')) {
      const auto place = whole_number<std::uint32_t>(name.substr(own.size() + 1));
      if (place && *place >= 1 && *place <= group.nodes) return first + *place - 1;
    }
    const auto nid = std::ranges::find(group.nids, name);
    if (nid != group.nids.end()) {
      const auto at = static_cast<std::size_t>(nid - group.nids.begin());
      return first + static_cast<std::uint32_t>(at / (group.nids.size() / group.nodes));
    }
    first += group.nodes;
  }
  if (site.groups.empty()) {
    const auto number = whole_number<std::uint32_t>(name);
    if (number && *number < site.nodes) return *number;
    return failure(Errc::kNotFound, fmt::format("no node '{}', expected a number from 0 to {}",
                                                runtime::shown(name), site.nodes - 1));
  }
  return failure(Errc::kNotFound,
                 fmt::format("no node '{}', expected a NID of a node, or one of {}",
                             runtime::shown(name), known_nodes(site)));
}

Outcome<unsigned> find_net(const SiteConfig& site, std::string_view name) {
  std::string known;
  for (unsigned i = 0; i < site.nets.size(); ++i) {
    if (net_name(site, i) == name) return i;
    known += fmt::format("{}{}", i == 0 ? "" : ", ", net_name(site, i));
  }
  return failure(Errc::kNotFound,
                 fmt::format("no network '{}', expected one of {}", runtime::shown(name), known));
}

}  // namespace plnet::sim
