// SPDX-License-Identifier: BSD-3-Clause
// The groups of a site file: sets of equal nodes. They refer to networks and groups by name, and
// the names are resolved after the whole file has been read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "apps/lnet-sim/plan/site_config.hpp"
#include "apps/lnet-sim/yaml/key_reader.hpp"

namespace plnet::sim {

class GroupReader {
 public:
  GroupReader(KeyReader& keys, ConfigErrors& errors) : keys_(keys), errors_(errors) {}

  void read(const YamlNode& node);
  // Adds the groups to the site, whose networks are known. Reports inconsistencies.
  void finish(SiteConfig& site);

 private:
  static constexpr std::uint64_t kGroupsMax = 64;

  void read_route(const YamlNode& node, std::size_t group);
  // Records a name, which is resolved to its number at the end.
  template <class Named>
  void name(const YamlNode& node, const std::vector<Named>& all, unsigned& out);
  void check_route(const SiteConfig& site, const YamlNode& at, const GroupPlan& group,
                   const RoutePlan& route);
  void check_talk(const YamlNode& at, const GroupPlan& group, const GroupPlan& target);

  struct NamedRoute {
    const YamlNode* at = nullptr;
    const YamlNode* net = nullptr;
    const YamlNode* via = nullptr;
    RoutePlan plan;
  };
  struct NamedGroup {
    const YamlNode* at = nullptr;
    GroupPlan plan;
    std::vector<const YamlNode*> nets;
    std::vector<const YamlNode*> talks_to;
    std::vector<NamedRoute> routes;
  };

  KeyReader& keys_;
  ConfigErrors& errors_;
  std::vector<NamedGroup> groups_;
};

}  // namespace plnet::sim
