// SPDX-License-Identifier: BSD-3-Clause
// Reports of the core as the documents of LNet's lnetctl: its keys, in its order, at each level of
// detail. print_yaml() of lib/runtime/control prints them in the classic layout.
// Checked against lustre-release lnet/utils/lnetconfig/liblnetconfig.c: the lustre_lnet_show_*
// functions at 2.15.5, and lnet/lnet/api-ni.c: the key lists of the netlink interface at 2.17.0.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "lib/lnet/node/node_report.hpp"
#include "lib/runtime/control/protocol.hpp"

namespace plnet::runtime {

// Each is a whole document: {"net": [...]}. Higher levels than the highest mean the highest.
[[nodiscard]] Json nets_to_json(std::span<const lnet::NetReport> nets, int level);
[[nodiscard]] Json peers_to_json(std::span<const lnet::PeerReport> peers, int level);
[[nodiscard]] Json peer_list_to_json(std::span<const lnet::PeerReport> peers);
[[nodiscard]] Json routes_to_json(std::span<const lnet::RouteReport> routes, int level);
[[nodiscard]] Json routing_to_json(const lnet::RoutingReport& routing);
[[nodiscard]] Json statistics_to_json(const lnet::StatisticsReport& statistics);
[[nodiscard]] Json globals_to_json(const lnet::ParameterValues& values);
// The nodes that answered, under `key`: "ping" or "discover". Null if none answered.
[[nodiscard]] Json pings_to_json(std::span<const lnet::PingReport> reports, std::string_view key);

// Exact copies of the files that a kernel's LNet has in debugfs (/sys/kernel/debug/lnet), since
// scripts of sites read them. Checked against lustre-release 2.17 lnet/lnet/lnet_debugfs.c:
// proc_lnet_*().
[[nodiscard]] std::string debugfs_stats(const lnet::StatisticsReport& statistics);
// A row for each CPT that serves an NI.
[[nodiscard]] std::string debugfs_nis(std::span<const lnet::NetReport> nets);
[[nodiscard]] std::string debugfs_peers(std::span<const lnet::PeerReport> peers);
// Only the heading on a node that is no router.
[[nodiscard]] std::string debugfs_buffers(const lnet::RoutingReport& routing);
[[nodiscard]] std::string debugfs_routes(const lnet::RoutingReport& routing,
                                         std::span<const lnet::RouteReport> routes);
// A gateway is alive if it answers and has an NI up on each of its networks. Whether it routes is
// part of the state of its routes, debugfs_routes().
[[nodiscard]] std::string debugfs_routers(std::span<const lnet::GatewayReport> routers);

}  // namespace plnet::runtime
