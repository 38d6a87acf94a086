// SPDX-License-Identifier: BSD-3-Clause
// Reports of the core as the documents that LNet's lnetctl prints: its keys, in its order, at each
// level of detail. print_yaml() of lib/runtime/control makes the classic layout of them.
// Checked against lustre-release lnet/utils/lnetconfig/liblnetconfig.c: the lustre_lnet_show_*
// functions at 2.15.5, and lnet/lnet/api-ni.c: the key lists of the netlink interface at 2.17.0.
#pragma once

#include <span>
#include <string_view>

#include <nlohmann/json.hpp>

#include "lib/lnet/node/node_report.hpp"

namespace plnet::runtime {

using Json = nlohmann::ordered_json;

// Nothing to list is no document, as lnetctl has it: null.
[[nodiscard]] Json document_of(std::string_view key, Json list);

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

}  // namespace plnet::runtime
