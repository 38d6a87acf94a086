// SPDX-License-Identifier: BSD-3-Clause
// The work of a node's pollers during a measurement. A poller that spins uses all of its CPU; its
// duty cycle is the share of its time with work, and its cycles are those of turns with work.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/runtime/control/protocol.hpp"

namespace plnet::run {

enum class Role : std::uint8_t { kClient, kServer, kRouter };
[[nodiscard]] std::string_view text_of(Role role);

struct ShardTimes {
  unsigned cpt = 0;
  unsigned shard = 0;
  unsigned cpu = 0;
  std::uint64_t busy_nsec = 0;
  std::uint64_t free_nsec = 0;  // turns without work, and sleep
};
// Counters of a node at one moment.
struct NodeTimes {
  std::string node{};
  Role role = Role::kClient;
  double cycles_per_second = 0;
  std::uint64_t forwarded = 0;  // messages
  std::vector<ShardTimes> shards{};
};
using PollerTimes = std::vector<NodeTimes>;

// The counters in the answers to `cpt show -v` and `stats show`; nothing: they have other fields.
[[nodiscard]] std::optional<NodeTimes> read_times(std::string node, Role role,
                                                  const runtime::Json& cpts,
                                                  const runtime::Json& statistics);

struct ShardUse {
  unsigned cpt = 0;
  unsigned shard = 0;
  unsigned cpu = 0;
  double duty_percent = 0;
};
struct PollerUse {
  std::string node{};
  Role role = Role::kClient;
  double duty_percent = 0;  // of all its pollers
  double cycle_rate = 0;    // cycles with work, a second
  double forward_rate = 0;  // messages a second
  std::vector<ShardUse> shards{};
  // Cycles of an RPC on a client or server, of a message on a router; nothing: none passed.
  std::optional<double> cycles_each{};
};
// For nodes in both readings whose counters did not restart.
[[nodiscard]] std::vector<PollerUse> use_between(const PollerTimes& before,
                                                 const PollerTimes& after);

// "10.0.0.1@tcp (client): duty 43 %, 2380 cycles per RPC"
[[nodiscard]] std::string text_of(const PollerUse& use);

}  // namespace plnet::run
