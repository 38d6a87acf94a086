// SPDX-License-Identifier: BSD-3-Clause
// Settling of a configuration on this machine: networks by address, and NIDs of interfaces.
#pragma once

#include <string>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/lnet/node/node_config.hpp"

namespace plnet::node {

// Turns rules about addresses into networks, and interfaces into NIDs, by the addresses of this
// machine. NIs of `now` keep their NIDs. Adds a note for each NID that differs from the one in the
// text.
[[nodiscard]] Outcome<void> settle_on_machine(lnet::NodeConfig& wanted, const lnet::NodeConfig& now,
                                              std::vector<std::string>* notes = nullptr);
// Enables routing if this node is a gateway of its own module option `routes`. The NIDs are
// assigned.
void settle_forwarding(lnet::NodeConfig& wanted);
// Whether a node that starts with `config` will route, by the present addresses of the machine.
[[nodiscard]] bool will_route(lnet::NodeConfig config);

}  // namespace plnet::node
