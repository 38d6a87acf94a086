// SPDX-License-Identifier: BSD-3-Clause
// Reports of connections as the documents of `lnetctl conn`. Level 0 has the contents of `lctl
// conn_list` and `lctl peer_list`, level 1 the rest.
#pragma once

#include <span>

#include "lib/lnet/node/connection_report.hpp"
#include "lib/runtime/lnet/report_json.hpp"

namespace plnet::runtime {

// Null if there is nothing to list.
[[nodiscard]] Json connections_to_json(std::span<const lnet::ConnectionReport> connections,
                                       int level);
[[nodiscard]] Json connection_peers_to_json(std::span<const lnet::ConnectionPeerReport> peers,
                                            int level);

}  // namespace plnet::runtime
