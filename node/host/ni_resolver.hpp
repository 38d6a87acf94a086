// SPDX-License-Identifier: BSD-3-Clause
// Resolution of a configured NI on this node: its family, and its settings with their defaults.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/lnet/control/local_networks.hpp"
#include "lib/lnet/node/node_config.hpp"
#include "node/host/network_family.hpp"

namespace plnet::node {

class OpenFamilies;

struct ResolvedNi {
  lnet::NiSetup setup;
  const NetworkFamily* family = nullptr;
};

// Resolves NIs by the options of one configuration.
class NiResolver {
 public:
  // The options of `config` are valid. `open` is null until the devices in `settings` are opened.
  NiResolver(Families families, const lnet::NodeConfig& config, const runtime::Settings* settings,
             const OpenFamilies* open);
  // Resolves by the options in force.
  explicit NiResolver(const OpenFamilies& open);

  // kNotSupported: no family serves this network. kInvalid: a CPT that this node does not have, no
  // NID where the family finds none.
  [[nodiscard]] Outcome<ResolvedNi> resolve(lnet::NetId net, const lnet::NiConfig& ni,
                                            std::size_t cpts, Duration lnet_timeout) const;
  [[nodiscard]] const FamilyRules& rules_of(const NetworkFamily& family) const;

 private:
  Families families_;
  std::vector<std::unique_ptr<FamilyRules>> rules_;  // in the order of the families
};

}  // namespace plnet::node
