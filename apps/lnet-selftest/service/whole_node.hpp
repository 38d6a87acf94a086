// SPDX-License-Identifier: BSD-3-Clause
// A node from start to end, with LNet selftest if its settings enable it.
#pragma once

#include "apps/lnet-selftest/service/host.hpp"
#include "node/run/node.hpp"

namespace plnet::apps {

// Runs on the calling thread until the node is told to stop. The error describes a missing
// precondition.
[[nodiscard]] Outcome<void> run_node(const runtime::Settings& settings, node::NodeOptions options,
                                     SelftestHost host);

}  // namespace plnet::apps
