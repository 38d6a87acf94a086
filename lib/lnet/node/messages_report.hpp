// SPDX-License-Identifier: BSD-3-Clause
// The states and the waits of the messages of a node.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "lib/base/clock.hpp"
#include "lib/lnet/api/shard_id.hpp"
#include "lib/lnet/flow/wait_counters.hpp"
#include "lib/lnet/names/nid.hpp"
#include "lib/lnet/wire/header.hpp"

namespace plnet::lnet {

// Counts since the node was started; `waiting` is the present count.
struct WaitReport {
  std::uint64_t waiting = 0;
  std::uint64_t waited = 0;
  std::uint64_t time_us = 0;
  std::uint64_t longest_us = 0;
};

// A message that waits, or that is with its LND.
struct StandingMessage {
  Nid source;  // any: no path was chosen yet
  Nid destination;
  MessageType type = MessageType::kPut;
  std::uint32_t bytes = 0;
  std::string_view state;
  Duration age{};        // time in this state
  Nid hop = Nid::any();  // the next hop; any: none was chosen yet
  ShardId shard = 0;     // the shard of its record
};

struct MessagesReport {
  static constexpr std::size_t kLongestMax = 64;

  std::array<WaitReport, kWaitNames.size()> waits{};
  std::array<std::uint64_t, kReceiveStateNames.size()> arriving{};  // by state
  std::array<std::uint64_t, kSendStateNames.size()> leaving{};
  std::vector<StandingMessage> longest;  // the longest in its state first
};

}  // namespace plnet::lnet
