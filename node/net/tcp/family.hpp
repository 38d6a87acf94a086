// SPDX-License-Identifier: BSD-3-Clause
// TCP networks: socklnd on the sockets of each shard.
#pragma once

#include "node/host/network_family.hpp"

namespace plnet::node {

class TcpFamily final : public NetworkFamily {
 public:
  static constexpr std::string_view kName = "tcp";

  [[nodiscard]] std::string_view name() const override { return kName; }
  [[nodiscard]] bool serves(lnet::NetType type) const override {
    return type == lnet::NetType::kTcp;
  }
  [[nodiscard]] std::optional<lnet::NetType> default_of() const override {
    return lnet::NetType::kTcp;
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
