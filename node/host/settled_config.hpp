// SPDX-License-Identifier: BSD-3-Clause
// A configuration with what only this machine can say: networks by address, and NIDs of interfaces.
#pragma once

#include <string>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/lnet/node/node_config.hpp"

namespace plnet::node {

// Rules about addresses become networks, and interfaces NIDs, as this machine has them now. What
// `now` has already stays. What came out otherwise than it was written goes to `notes`.
[[nodiscard]] Outcome<void> settle_on_machine(lnet::NodeConfig& wanted, const lnet::NodeConfig& now,
                                              std::vector<std::string>* notes = nullptr);
// Whether it routes because it is a gateway of its own module option `routes`; its NIDs are known.
void settle_forwarding(lnet::NodeConfig& wanted);
// Whether a node that is started with this will, as far as the machine tells now.
[[nodiscard]] bool will_route(lnet::NodeConfig config);

}  // namespace plnet::node
