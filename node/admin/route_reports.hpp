// SPDX-License-Identifier: BSD-3-Clause
// What shard 0 tells of routes and gateways: taken in one turn, since a node has few.
#pragma once

#include <functional>
#include <vector>

#include "lib/lnet/control/gateway.hpp"
#include "lib/lnet/node/lnet_control.hpp"
#include "lib/lnet/peers/peer_directory.hpp"
#include "lib/runtime/admin/log.hpp"
#include "node/host/lnet_desk.hpp"

namespace plnet::node {

// Network by network, in the order in which they are tried. Of a node that is up.
void report_routes(LnetDesk& desk, lnet::Reply<std::vector<lnet::RouteReport>> reply);

// On shard 0: all NIDs of the node that has this one. None: nobody has it.
[[nodiscard]] std::vector<lnet::Nid> nids_of_node(const lnet::PeerDirectory& directory,
                                                  const lnet::Nid& nid);

// In the order of their coming.
void report_gateways(LnetDesk& desk, lnet::Reply<std::vector<lnet::GatewayReport>> reply);

// What has changed since the last call, oldest first; the log's business. Empty at once if nothing
// has.
using RouteNewsReply = std::move_only_function<void(std::vector<lnet::RouteNews> news)>;
void take_route_news(LnetDesk& desk, const lnet::Node& node, RouteNewsReply reply);
void log_route_news(const std::vector<lnet::RouteNews>& news, runtime::Log& log);

}  // namespace plnet::node
