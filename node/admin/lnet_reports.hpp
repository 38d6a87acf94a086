// SPDX-License-Identifier: BSD-3-Clause
// What shards tell of LNet. Each looks only at what is its own, in bounded pieces between its
// turns; the report goes from one to the next.
#pragma once

#include <optional>
#include <vector>

#include "lib/lnet/node/lnet_control.hpp"
#include "node/host/lnet_desk.hpp"

namespace plnet::node {

// Of a node that is up. kNetworkDown: no such network.
void report_nets(LnetDesk& desk, const LnetHost& host, std::optional<lnet::NetId> only,
                 lnet::Reply<std::vector<lnet::NetReport>> reply);
// kNotFound: no peer has this NID.
void report_peers(LnetDesk& desk, std::optional<lnet::Nid> only,
                  lnet::Reply<std::vector<lnet::PeerReport>> reply);
// Of a node that is down: that it does not route.
void report_standing(LnetDesk& desk, lnet::Reply<lnet::RoutingReport> reply);
// Adds up what shards have counted.
void add_traffic(const lnet::Traffic& traffic, lnet::TrafficReport& sums,
                 lnet::MessageReport& messages);
// At once: counters are read from here.
[[nodiscard]] lnet::StatisticsReport report_statistics(const lnet::Node& node);
// All but what says how much is under way; of router buffers their marks.
void reset_statistics(LnetDesk& desk, lnet::Reply<void> done);

}  // namespace plnet::node
