// SPDX-License-Identifier: BSD-3-Clause
// Reports of all shards. The report goes from shard to shard; each adds only its own facts, in
// bounded pieces between its turns.
#pragma once

#include <optional>
#include <vector>

#include "lib/lnet/node/lnet_control.hpp"
#include "node/host/lnet_desk.hpp"

namespace plnet::node {

// Reports about a node that is up. kNetworkDown: no such network.
void report_nets(LnetDesk& desk, const LnetHost& host, std::optional<lnet::NetId> only,
                 lnet::Reply<std::vector<lnet::NetReport>> reply);
// kNotFound: no peer has this NID.
void report_peers(LnetDesk& desk, std::optional<lnet::Nid> only,
                  lnet::Reply<std::vector<lnet::PeerReport>> reply);
void report_messages(LnetDesk& desk, lnet::Reply<lnet::MessagesReport> reply);
// A node whose LNet is down answers "routing is disabled".
void report_standing(LnetDesk& desk, lnet::Reply<lnet::RoutingReport> reply);
// Adds the counters of a shard to the sums.
void add_traffic(const lnet::Traffic& traffic, lnet::TrafficReport& sums,
                 lnet::MessageReport& messages);
// Returns at once: this thread may read counters.
[[nodiscard]] lnet::StatisticsReport report_statistics(const lnet::Node& node);
// Resets all counters except gauges, and the high-water marks of router buffers.
void reset_statistics(LnetDesk& desk, lnet::Reply<void> done);

}  // namespace plnet::node
