// SPDX-License-Identifier: BSD-3-Clause
// The access rules for connections, asked by the part that first hears of a peer: an LND or its
// host. Connections that this node makes need no permission.
#pragma once

#include <atomic>

#include "lib/lnet/access/access_table.hpp"
#include "lib/lnet/move/shard_core.hpp"

namespace plnet::lnet {

struct Introduction {
  const Nid& peer;
  const Nid& ours;  // the NI that it connects to

  [[nodiscard]] AccessQuestion question() const {
    return {.use = AccessUse::kConnect, .source = peer, .destination = ours, .from = ours.net()};
  }
};

// On `shard`. Counts the decision of a rule.
[[nodiscard]] inline bool admits_owner(const NodeShared& node, ShardId shard,
                                       const Introduction& introduction) {
  const AccessView* const rules = node.access.load(std::memory_order_acquire);
  return rules == nullptr || !rules->forbids_owner(shard, introduction.question());
}

// The same at an earlier point: counts only refusals.
[[nodiscard]] inline bool refuses_owner(const NodeShared& node, ShardId shard,
                                        const Introduction& introduction) {
  const AccessView* const rules = node.access.load(std::memory_order_acquire);
  if (rules == nullptr) return false;
  const auto index = rules->decider(introduction.question());
  if (!index || rules->entries()[*index].rule.action == AccessAction::kAllow) return false;
  return rules->forbids_owner(shard, introduction.question());
}

}  // namespace plnet::lnet
