// SPDX-License-Identifier: BSD-3-Clause
// Reports of the core as the documents that LNet's lnetctl prints: its keys, in its order, at each
// level of detail. print_yaml() of lib/runtime/control makes the classic layout of them.
// Checked against lustre-release lnet/utils/lnetconfig/liblnetconfig.c: the lustre_lnet_show_*
// functions at 2.15.5, and lnet/lnet/api-ni.c: the key lists of the netlink interface at 2.17.0.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "lib/lnet/node/node_report.hpp"
#include "lib/runtime/control/protocol.hpp"

namespace plnet::runtime {

// Each is a whole document: {"net": [...]}. Levels beyond those that exist mean the highest.
[[nodiscard]] Json nets_to_json(std::span<const lnet::NetReport> nets, int level);
[[nodiscard]] Json peers_to_json(std::span<const lnet::PeerReport> peers, int level);
[[nodiscard]] Json peer_list_to_json(std::span<const lnet::PeerReport> peers);
[[nodiscard]] Json routes_to_json(std::span<const lnet::RouteReport> routes, int level);
[[nodiscard]] Json routing_to_json(const lnet::RoutingReport& routing);
[[nodiscard]] Json statistics_to_json(const lnet::StatisticsReport& statistics);
[[nodiscard]] Json globals_to_json(const lnet::ParameterValues& values);
// Of those that answered, under `key`: "ping" or "discover". Null if none did.
[[nodiscard]] Json pings_to_json(std::span<const lnet::PingReport> reports, std::string_view key);

// Files that a kernel's LNet has in debugfs (/sys/kernel/debug/lnet), to the letter: sites have
// scripts that read them. Checked against lustre-release 2.17 lnet/lnet/lnet_debugfs.c:
// proc_lnet_*().
[[nodiscard]] std::string debugfs_stats(const lnet::StatisticsReport& statistics);
// A row for each CPT that serves an NI.
[[nodiscard]] std::string debugfs_nis(std::span<const lnet::NetReport> nets);
[[nodiscard]] std::string debugfs_peers(std::span<const lnet::PeerReport> peers);
// Nothing but the heading on a node that is no router.
[[nodiscard]] std::string debugfs_buffers(const lnet::RoutingReport& routing);
[[nodiscard]] std::string debugfs_routes(const lnet::RoutingReport& routing,
                                         std::span<const lnet::RouteReport> routes);
// One that is alive answers, and has an NI up on each of its networks; whether it routes, and so
// whether its routes are up, says debugfs_routes().
[[nodiscard]] std::string debugfs_routers(std::span<const lnet::GatewayReport> routers);

}  // namespace plnet::runtime
