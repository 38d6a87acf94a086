// SPDX-License-Identifier: BSD-3-Clause
// Resolution of kfi NIs by the options of one configuration.
#pragma once

#include <cstddef>
#include <vector>

#include "node/host/network_family.hpp"
#include "node/net/kfi/options.hpp"
#include "node/net/kfi/settings.hpp"

namespace plnet::node {

class KfiHost;

// On a running node. The host outlives it.
class KfiRules final : public FamilyRules {
 public:
  explicit KfiRules(const KfiHost& host) : host_(host) {}

  [[nodiscard]] lnet::NiTunables defaults() const override;
  [[nodiscard]] Outcome<void> complete(const lnet::NiConfig& ni, Duration lnet_timeout,
                                       lnet::NiSetup& setup) const override;

 private:
  const KfiHost& host_;
};

// Before the NICs are open: everything but the NIDs can be judged.
class UnopenedKfiRules final : public FamilyRules {
 public:
  UnopenedKfiRules(const KfiOptions& options, std::vector<KfiInterface> interfaces)
      : options_(options), interfaces_(std::move(interfaces)) {}

  [[nodiscard]] bool is_opened() const override { return false; }
  [[nodiscard]] Outcome<void> check_unopened(const lnet::NodeConfig& config, lnet::NetId net,
                                             const lnet::NiConfig& ni,
                                             std::size_t cpts) const override;

 private:
  const KfiOptions options_;
  const std::vector<KfiInterface> interfaces_;
};

}  // namespace plnet::node
