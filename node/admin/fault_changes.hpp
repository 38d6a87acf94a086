// SPDX-License-Identifier: BSD-3-Clause
// Fault rules of a configuration as steps.
#pragma once

#include <vector>

#include "node/admin/lnet_changes.hpp"

namespace plnet::node {

// These steps do not fail, so they come last: a failure of another step leaves the counts of the
// rules intact.
void plan_faults(const lnet::NodeConfig& now, const lnet::NodeConfig& wanted,
                 std::vector<LnetStep>& steps);

}  // namespace plnet::node
