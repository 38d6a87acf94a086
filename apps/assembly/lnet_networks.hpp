// SPDX-License-Identifier: BSD-3-Clause
// Which driver serves which kind of network: the one table of that, and what a configured NI means
// with it.
#pragma once

#include <cstddef>

#include "apps/assembly/network_driver.hpp"
#include "lib/base/result.hpp"
#include "lib/lnet/node/node.hpp"
#include "lib/lnet/node/node_config.hpp"

namespace plnet::apps {

// What an NI of the configuration comes to on this node.
struct ResolvedNi {
  lnet::NiSetup setup;
  const NetworkDriver* driver = nullptr;
};

// kNotSupported: no driver serves this network yet. kInvalid: a CPT that this node does not have,
// no NID where the driver finds none.
[[nodiscard]] Outcome<ResolvedNi> resolve_ni(lnet::NetId net, const lnet::NiConfig& ni,
                                             std::size_t cpts, const NetworkOptions& options = {},
                                             Duration lnet_timeout = std::chrono::seconds(50));

}  // namespace plnet::apps
