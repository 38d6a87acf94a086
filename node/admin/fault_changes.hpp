// SPDX-License-Identifier: BSD-3-Clause
// Fault rules of a configuration as steps.
#pragma once

#include <vector>

#include "node/admin/lnet_changes.hpp"

namespace plnet::node {

// None of them fails, so they come last: rules that stay keep their counts, whatever else happens.
void plan_faults(const lnet::NodeConfig& now, const lnet::NodeConfig& wanted,
                 std::vector<LnetStep>& steps);

}  // namespace plnet::node
