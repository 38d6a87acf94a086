// SPDX-License-Identifier: BSD-3-Clause
// Resolution of TCP NIs by the options of one configuration.
#pragma once

#include "node/host/network_family.hpp"
#include "node/net/tcp/options.hpp"

namespace plnet::node {

class ConnectionsByLink;

class TcpRules final : public FamilyRules {
 public:
  // `by_link` may be null; otherwise it outlives this object.
  TcpRules(const TcpOptions& options, const ConnectionsByLink* by_link)
      : options_(options), by_link_(by_link) {}

  [[nodiscard]] lnet::NiTunables defaults() const override;
  [[nodiscard]] Outcome<void> complete(const lnet::NiConfig& ni, Duration lnet_timeout,
                                       lnet::NiSetup& setup) const override;
  [[nodiscard]] Outcome<void> check_free(const lnet::NiSetup& setup) const override;
  void keep_in_force(const lnet::NiConfig& ni, lnet::NiSetup& setup) const override;

 private:
  const TcpOptions options_;
  const ConnectionsByLink* const by_link_;
};

}  // namespace plnet::node
