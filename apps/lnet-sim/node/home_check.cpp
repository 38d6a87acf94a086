// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-sim/node/home_check.hpp"

#include <string_view>

#include <fmt/format.h>

namespace plnet::sim {

using namespace lnet;

namespace {

std::string missing_on(const Shard& shard, unsigned number) {
  const auto missing = [number](std::string_view what, auto is, auto should) {
    return fmt::format("shard {}: {}: {} of {}", number, what, is, should);
  };
  ShardCore& core = const_cast<ShardCore&>(shard.core());
  if (core.messages.free_count() != core.messages.capacity())
    return missing("messages home", core.messages.free_count(), core.messages.capacity());
  if (core.ack_notes.free_count() != core.ack_notes.capacity())
    return missing("ACK notes home", core.ack_notes.free_count(), core.ack_notes.capacity());
  if (core.receives.free_count() != core.receives.capacity())
    return missing("receives home", core.receives.free_count(), core.receives.capacity());
  const auto& match = core.match.counters();
  for (const auto id : {MatchCounters::Id::kMdsInUse, MatchCounters::Id::kMesInUse,
                        MatchCounters::Id::kQuarantined}) {
    if (match.get(id) != 0)
      return missing(MatchCounters::kInfo[static_cast<std::size_t>(id)].name, match.get(id), 0);
  }
  if (core.statistics.get(Statistic::kMessagesAlloc) != 0)
    return missing("msgs_alloc", core.statistics.get(Statistic::kMessagesAlloc), 0);
  for (std::size_t wait = 0; wait < kWaitNames.size(); ++wait) {
    if (const std::uint64_t waiting = core.waits.waiting(static_cast<Wait>(wait)); waiting != 0)
      return missing(kWaitNames[wait], waiting, 0);
  }
  for (const auto& port : shard.ports()) {
    if (port->tx_credits() != port->tx_credits_max())
      return missing("NI credits home", port->tx_credits(), port->tx_credits_max());
  }
  std::string wrong;
  core.peers.for_each([&](PeerPort& peer) {
    if (!wrong.empty()) return;
    if (peer.tx_credits() != peer.tx_credits_max) {
      wrong = missing("peer credits home", peer.tx_credits(), peer.tx_credits_max);
    } else if (peer.outstanding != 0 || peer.waiting_count != 0 || peer.queued_bytes != 0) {
      wrong = missing("queued for a peer", peer.outstanding + peer.waiting_count, 0);
    }
  });
  return wrong;
}

}  // namespace

std::string what_is_missing(const Node& node) {
  for (unsigned i = 0; i < node.shards(); ++i) {
    if (std::string missing = missing_on(node.shard(i), i); !missing.empty()) return missing;
  }
  return {};
}

}  // namespace plnet::sim
