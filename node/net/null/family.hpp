// SPDX-License-Identifier: BSD-3-Clause
// A network for experiments, on which every NID is a perfect peer: PUTs are acknowledged, GETs and
// pings answered, and nothing leaves the node. The smallest family: a new one can begin as a copy.
#pragma once

#include "node/host/network_family.hpp"

namespace plnet::node {

class NullFamily final : public NetworkFamily {
 public:
  [[nodiscard]] std::string_view name() const override { return "null"; }
  [[nodiscard]] std::string_view experiment() const override {
    return "a network on which a perfect peer answers";
  }
  [[nodiscard]] Outcome<std::unique_ptr<FamilyHost>> open(const FamilyParts& parts) const override;
};

}  // namespace plnet::node
