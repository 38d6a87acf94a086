// SPDX-License-Identifier: BSD-3-Clause
// The part of `lnetctl status` about LNet: the verdict, and the facts that it rests on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/runtime/control/protocol.hpp"
#include "node/watch/lnet_standing.hpp"
#include "node/watch/node_states.hpp"
#include "node/watch/recent_activity.hpp"
#include "node/watch/silence_watch.hpp"

namespace plnet::node {

struct StatusFacts {
  LnetStanding standing;
  std::optional<PeerStates> peers;  // absent: not counted yet
  std::uint64_t unreachable = 0;    // peer NIs that cannot be connected
  std::vector<SilentPeer> silent;   // peers beyond gateways that do not answer
  std::size_t refused = 0;          // peers that access rules refuse
  std::size_t starving = 0;         // resources that messages wait for
  ActivityRates rates;
  std::vector<GrowingCause> drops;  // lately, the largest first
};

// One line: what the node does, and what is wrong: "forwarding; 1 of 3 routes down".
[[nodiscard]] std::string verdict_of(const StatusFacts& facts);
// The same for programs: the verdict names nothing that is wrong.
[[nodiscard]] bool is_healthy(const StatusFacts& facts);

// Adds verdict, routing, networks, routes, peers, rates, drops, rules and drain to `status`.
void add_lnet_status(runtime::Json& status, const StatusFacts& facts);

}  // namespace plnet::node
