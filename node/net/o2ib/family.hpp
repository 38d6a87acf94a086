// SPDX-License-Identifier: BSD-3-Clause
// o2ib networks: o2iblnd on RDMA devices, InfiniBand or RoCE.
#pragma once

#include "node/host/network_family.hpp"

namespace plnet::node {

class O2ibFamily final : public NetworkFamily {
 public:
  static constexpr std::string_view kName = "o2ib";

  [[nodiscard]] std::string_view name() const override { return kName; }
  [[nodiscard]] bool serves(lnet::NetType type) const override {
    return type == lnet::NetType::kO2ib;
  }
  [[nodiscard]] std::optional<lnet::NetType> default_of() const override {
    return lnet::NetType::kO2ib;
  }
  [[nodiscard]] Outcome<void> check_options(const lnet::NodeConfig& config) const override;
  [[nodiscard]] std::string_view why_useless(std::string_view module,
                                             std::string_view option) const override;
  [[nodiscard]] bool is_live(const lnet::ModuleOption& option) const override;
  [[nodiscard]] Outcome<void> set_option(lnet::NodeConfig& config, std::string_view option,
                                         std::string_view value) const override;
  [[nodiscard]] std::unique_ptr<FamilyRules> rules(const lnet::NodeConfig& config,
                                                   const runtime::Settings* settings,
                                                   const FamilyHost* host) const override;
  [[nodiscard]] Outcome<FamilyNeeds> needs(const runtime::Settings& settings) const override;
  [[nodiscard]] Outcome<std::unique_ptr<FamilyHost>> open(const FamilyParts& parts) const override;
};

}  // namespace plnet::node
