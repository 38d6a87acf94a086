// SPDX-License-Identifier: BSD-3-Clause
// A node from its start to its end, with LNet selftest if its settings want it.
#pragma once

#include "apps/lnet-selftest/service/host.hpp"
#include "node/run/node.hpp"

namespace plnet::apps {

// On the calling thread, until it is told to stop. What cannot be had for a start is the error.
[[nodiscard]] Outcome<void> run_node(const runtime::Settings& settings, node::NodeOptions options,
                                     SelftestHost host);

}  // namespace plnet::apps
