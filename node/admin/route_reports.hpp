// SPDX-License-Identifier: BSD-3-Clause
// Reports of routes and gateways, made by shard 0 in one turn, since a node has few of them.
#pragma once

#include <functional>
#include <vector>

#include "lib/lnet/control/gateway.hpp"
#include "lib/lnet/node/lnet_control.hpp"
#include "lib/lnet/peers/peer_directory.hpp"
#include "lib/runtime/admin/log.hpp"
#include "node/host/lnet_desk.hpp"

namespace plnet::node {

// Sorted by network, then in the order of selection. Of a node that is up.
void report_routes(LnetDesk& desk, lnet::Reply<std::vector<lnet::RouteReport>> reply);

// On shard 0: all NIDs of the peer that has this one. Empty: no peer has it.
[[nodiscard]] std::vector<lnet::Nid> nids_of_node(const lnet::PeerDirectory& directory,
                                                  const lnet::Nid& nid);

// In the order in which they were added.
void report_gateways(LnetDesk& desk, lnet::Reply<std::vector<lnet::GatewayReport>> reply);

// The changes since the last call, oldest first, for the log. Replies at once if there are none.
using RouteNewsReply = std::move_only_function<void(std::vector<lnet::RouteNews> news)>;
void take_route_news(LnetDesk& desk, const lnet::Node& node, RouteNewsReply reply);
void log_route_news(const std::vector<lnet::RouteNews>& news, runtime::Log& log);

}  // namespace plnet::node
