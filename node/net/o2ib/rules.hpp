// SPDX-License-Identifier: BSD-3-Clause
// Resolution of o2ib NIs by the options of one configuration.
#pragma once

#include "node/host/network_family.hpp"
#include "node/net/o2ib/options.hpp"

namespace plnet::node {

class O2ibHost;

class O2ibRules final : public FamilyRules {
 public:
  // Null: before the start of the node; no device is opened. The host outlives the rules.
  O2ibRules(const O2ibOptions& options, O2ibHost* host) : options_(options), host_(host) {}

  [[nodiscard]] lnet::NiTunables defaults() const override;
  [[nodiscard]] Outcome<void> complete(const lnet::NiConfig& ni, Duration lnet_timeout,
                                       lnet::NiSetup& setup) const override;

 private:
  const O2ibOptions options_;
  O2ibHost* const host_;
};

}  // namespace plnet::node
