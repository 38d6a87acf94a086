// SPDX-License-Identifier: BSD-3-Clause
// The groups of a site file: nodes that are alike. They name networks and each other, so that what
// the names mean is found out when all of the file has been read.
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
  // Puts the groups into the site, whose networks are known. Says what does not fit together.
  void finish(SiteConfig& site);

 private:
  static constexpr std::uint64_t kGroupsMax = 64;

  void read_route(const YamlNode& node, std::size_t group);
  // The number of what has this name, by which it is looked for when all is read.
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
