// SPDX-License-Identifier: BSD-3-Clause
// The connections and peers of TCP networks, asked of the shards that own them: a few at a time,
// between two turns, so that a node with thousands of them is not held up.
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

// Sockets looked at in one order: each costs some ten system calls, a few microseconds.
inline constexpr unsigned kSocketsAtOnce = 16;
// Places for connections or peers passed in one order, most of them empty.
inline constexpr unsigned kSlotsAtOnce = 2048;

// kNetworkDown: LNet has gone. Nothing that fits is no error.
void report_connections(LnetDesk& desk, TcpHost& host, const lnet::ConnectionQuery& query,
                        lnet::Reply<std::vector<lnet::ConnectionReport>> reply);
void report_connection_peers(LnetDesk& desk, TcpHost& host, const lnet::ConnectionQuery& query,
                             lnet::Reply<std::vector<lnet::ConnectionPeerReport>> reply);

// In words and numbers for people. Without addresses: no socket (any more).
[[nodiscard]] lnet::ConnectionReport connection_report(const socklnd::ConnectionFacts& facts,
                                                       const socklnd::StreamDetails& details);
[[nodiscard]] lnet::ConnectionPeerReport peer_report(const socklnd::PeerFacts& facts);

}  // namespace plnet::node
