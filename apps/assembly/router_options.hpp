// SPDX-License-Identifier: BSD-3-Clause
// The options of the module lnet that say how gateways are looked after, as they were given at the
// start.
#pragma once

#include "lib/base/result.hpp"
#include "lib/lnet/node/node_config.hpp"
#include "lib/lnet/node/parameters.hpp"

namespace plnet::apps {

// Puts what `config` says into `parameters`, which have their defaults. kInvalid: a value that the
// option cannot have; nothing is known of the others then.
[[nodiscard]] Outcome<void> take_router_options(const lnet::NodeConfig& config,
                                                lnet::Parameters& parameters);

}  // namespace plnet::apps
