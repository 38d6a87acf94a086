// SPDX-License-Identifier: BSD-3-Clause
// Connections and peers of o2ib NIs for `lnetctl conn`.
#pragma once

#include <vector>

#include "lib/lnet/node/connection_report.hpp"
#include "lib/lnet/node/lnet_control.hpp"
#include "lib/o2iblnd/facts.hpp"

namespace plnet::node {

class LnetDesk;
class O2ibHost;

// Without NI and shard.
[[nodiscard]] lnet::ConnectionReport connection_report(const o2iblnd::ConnectionFacts& facts);
[[nodiscard]] lnet::ConnectionPeerReport peer_report(const o2iblnd::PeerFacts& facts);

void report_o2ib_connections(LnetDesk& desk, O2ibHost& host, const lnet::ConnectionQuery& query,
                             lnet::Reply<std::vector<lnet::ConnectionReport>> reply);
void report_o2ib_peers(LnetDesk& desk, O2ibHost& host, const lnet::ConnectionQuery& query,
                       lnet::Reply<std::vector<lnet::ConnectionPeerReport>> reply);

}  // namespace plnet::node
