// SPDX-License-Identifier: BSD-3-Clause
// Access rules of a configuration as a step.
#pragma once

#include <vector>

#include "node/admin/lnet_changes.hpp"

namespace plnet::node {

// One step sets all rules, so that no message meets half of them. The step does not fail.
void plan_access(const lnet::NodeConfig& now, const lnet::NodeConfig& wanted,
                 std::vector<LnetStep>& steps);

}  // namespace plnet::node
