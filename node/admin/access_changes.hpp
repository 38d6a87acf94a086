// SPDX-License-Identifier: BSD-3-Clause
// Access rules of a configuration as a step.
#pragma once

#include <vector>

#include "node/admin/lnet_changes.hpp"

namespace plnet::node {

// All rules at once: nobody sees half of them. The step does not fail.
void plan_access(const lnet::NodeConfig& now, const lnet::NodeConfig& wanted,
                 std::vector<LnetStep>& steps);

}  // namespace plnet::node
