// SPDX-License-Identifier: BSD-3-Clause
// Reports of the core as the files that a kernel's LNet has in debugfs (/sys/kernel/debug/lnet), to
// the letter: sites have scripts that read them.
// Checked against lustre-release 2.17 lnet/lnet/lnet_debugfs.c: proc_lnet_*().
#pragma once

#include <span>
#include <string>

#include "lib/lnet/node/node_report.hpp"

namespace plnet::runtime {

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
