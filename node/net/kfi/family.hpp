// SPDX-License-Identifier: BSD-3-Clause
// kfi networks (Slingshot): kfilnd on Cassini, in hardware or in software, or on libfabric.
#pragma once

#include "node/host/network_family.hpp"

namespace plnet::node {

class KfiFamily final : public NetworkFamily {
 public:
  static constexpr std::string_view kName = "kfi";

  [[nodiscard]] std::string_view name() const override { return kName; }
  [[nodiscard]] bool serves(lnet::NetType type) const override {
    return type == lnet::NetType::kKfi;
  }
  [[nodiscard]] std::optional<lnet::NetType> default_of() const override {
    return lnet::NetType::kKfi;
  }
  [[nodiscard]] Outcome<void> check_options(const lnet::NodeConfig& config) const override;
  [[nodiscard]] std::string_view why_useless(std::string_view module,
                                             std::string_view option) const override;
  [[nodiscard]] std::unique_ptr<FamilyRules> rules(const lnet::NodeConfig& config,
                                                   const runtime::Settings* settings,
                                                   const FamilyHost* host) const override;
  [[nodiscard]] Outcome<FamilyNeeds> needs(const runtime::Settings& settings) const override;
  [[nodiscard]] Outcome<std::unique_ptr<FamilyHost>> open(const FamilyParts& parts) const override;
  void add_verbs(runtime::VerbTable& verbs, FamilyAccess& access) const override;
};

}  // namespace plnet::node
