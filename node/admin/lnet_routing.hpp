// SPDX-License-Identifier: BSD-3-Clause
// Routing: its configuration as steps, and its report.
#pragma once

#include <vector>

#include "lib/lnet/node/node_config.hpp"
#include "lib/lnet/node/node_report.hpp"
#include "node/admin/lnet_changes.hpp"
#include "node/host/lnet_desk.hpp"

namespace plnet::node {

// For a new node that no poller has yet.
[[nodiscard]] Outcome<void> begin_routing(lnet::Node& node, const lnet::NodeConfig& config);

// `at_once`: as at the start of a node; otherwise after the peers' notice. kNoMemory: there are no
// buffers; kBusy: the process ends.
[[nodiscard]] LnetStep routing_step(bool on, bool at_once);
// The steps from `now` to `wanted`.
void add_routing_steps(const lnet::NodeConfig& now, const lnet::NodeConfig& wanted, bool at_once,
                       std::vector<LnetStep>& steps);

void report_routing(LnetDesk& desk, const LnetHost& host, lnet::RoutingReport report,
                    lnet::Reply<lnet::RoutingReport> reply);

}  // namespace plnet::node
