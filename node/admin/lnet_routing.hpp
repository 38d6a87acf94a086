// SPDX-License-Identifier: BSD-3-Clause
// A node as a router: what is configured of that, carried out and shown.
#pragma once

#include <vector>

#include "lib/lnet/node/node_config.hpp"
#include "lib/lnet/node/node_report.hpp"
#include "node/admin/lnet_changes.hpp"
#include "node/host/lnet_desk.hpp"

namespace plnet::node {

// Of a node that was just built, before it is on any poller.
[[nodiscard]] Outcome<void> begin_routing(lnet::Node& node, const lnet::NodeConfig& config);

// `at_once`: as at the start of a node, else with the time that peers need. kNoMemory: there are no
// buffers; kBusy: routing is being stopped.
[[nodiscard]] LnetStep routing_step(bool on, bool at_once);
// From what there is to what is wanted.
void add_routing_steps(const lnet::NodeConfig& now, const lnet::NodeConfig& wanted, bool at_once,
                       std::vector<LnetStep>& steps);

void report_routing(LnetDesk& desk, const LnetHost& host, lnet::RoutingReport report,
                    lnet::Reply<lnet::RoutingReport> reply);

}  // namespace plnet::node
