// SPDX-License-Identifier: BSD-3-Clause
// Reports of the connections and peers of TCP networks, from the shards that own them.
#pragma once

#include <optional>
#include <vector>

#include "lib/lnet/node/connection_report.hpp"
#include "lib/lnet/node/lnet_control.hpp"
#include "lib/socklnd/facts.hpp"
#include "node/host/lnet_desk.hpp"
#include "node/host/lnet_host.hpp"
#include "node/net/tcp/host.hpp"

namespace plnet::node {

// kNetworkDown: LNet went down. An empty result is no error.
void report_connections(LnetDesk& desk, TcpHost& host, const lnet::ConnectionQuery& query,
                        lnet::Reply<std::vector<lnet::ConnectionReport>> reply);
void report_connection_peers(LnetDesk& desk, TcpHost& host, const lnet::ConnectionQuery& query,
                             lnet::Reply<std::vector<lnet::ConnectionPeerReport>> reply);

// For people, in words and numbers. No addresses: the socket is closed.
[[nodiscard]] lnet::ConnectionReport connection_report(const socklnd::ConnectionFacts& facts,
                                                       const socklnd::StreamDetails& details);
[[nodiscard]] lnet::ConnectionPeerReport peer_report(const socklnd::PeerFacts& facts);

}  // namespace plnet::node
