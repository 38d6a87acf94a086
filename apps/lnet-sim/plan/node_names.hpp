// SPDX-License-Identifier: BSD-3-Clause
// Names of the nodes of a site, for events and reports: that of its group if the group has one
// node, else with the node's place in it: "routers.2". A NID of the existing network names its
// node, too.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/lnet-sim/plan/site_config.hpp"
#include "lib/base/result.hpp"

namespace plnet::sim {

[[nodiscard]] std::string group_name(const SiteConfig& site, std::size_t group);
[[nodiscard]] std::string net_name(const SiteConfig& site, std::size_t net);
// For a site with groups; other nodes are named by their number.
[[nodiscard]] std::string node_name(const SiteConfig& site, std::uint32_t node);
// The node's NIDs in the existing network; empty: unknown.
[[nodiscard]] std::vector<std::string> node_nids(const SiteConfig& site, std::uint32_t node);
// "r2 (10.0.0.2@tcp)", or the name alone.
[[nodiscard]] std::string node_title(const SiteConfig& site, std::uint32_t node);

// Errors name the known ones.
[[nodiscard]] Outcome<std::uint32_t> find_node(const SiteConfig& site, std::string_view name);
[[nodiscard]] Outcome<unsigned> find_net(const SiteConfig& site, std::string_view name);

}  // namespace plnet::sim
