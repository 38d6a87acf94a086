// SPDX-License-Identifier: BSD-3-Clause
// LNet on Slingshot as a network driver of the node: kfilnd on Cassini, in hardware or in software.
#pragma once

#include "apps/assembly/network_driver.hpp"
#include "lib/kfilnd/lnd.hpp"

namespace plnet::apps {

// How much the LND of a shard may have under way; the rest of its configuration is the NI's.
[[nodiscard]] kfilnd::KfiLndConfig kfi_limits_of(const DriverSetup& setup);

class KfiDriver final : public NetworkDriver {
 public:
  [[nodiscard]] std::string_view name() const override { return "kfi"; }
  [[nodiscard]] bool serves(lnet::NetType type) const override {
    return type == lnet::NetType::kKfi;
  }
  [[nodiscard]] lnet::NiTunables defaults(const NetworkOptions& options) const override;
  [[nodiscard]] Outcome<void> complete(const lnet::NiConfig& ni, const NetworkOptions& options,
                                       Duration lnet_timeout, lnet::NiSetup& setup) const override;
  [[nodiscard]] std::unique_ptr<NetworkMaker> maker(lnet::NetType type,
                                                    const DriverSetup& setup) const override;
};

}  // namespace plnet::apps
