// SPDX-License-Identifier: BSD-3-Clause
// Whether a peer may introduce itself to this node: what the access rules for connections say, for
// whoever hears it first, an LND or the host of one. Whom we seek out ourselves nobody asks about.
#pragma once

#include <atomic>

#include "lib/lnet/access/access_table.hpp"
#include "lib/lnet/move/shard_core.hpp"

namespace plnet::lnet {

struct Introduction {
  const Nid& peer;
  const Nid& ours;  // the NI that it has come to

  [[nodiscard]] AccessQuestion question() const {
    return {.use = AccessUse::kConnect, .source = peer, .destination = ours, .from = ours.net()};
  }
};

// On `shard`. The rule that decides has decided once more.
[[nodiscard]] inline bool admits_owner(const NodeShared& node, ShardId shard,
                                       const Introduction& introduction) {
  const AccessView* const rules = node.access.load(std::memory_order_acquire);
  return rules == nullptr || !rules->forbids_owner(shard, introduction.question());
}

// The same before it gets as far as that: only what is refused counts.
[[nodiscard]] inline bool refuses_owner(const NodeShared& node, ShardId shard,
                                        const Introduction& introduction) {
  const AccessView* const rules = node.access.load(std::memory_order_acquire);
  if (rules == nullptr) return false;
  const auto index = rules->decider(introduction.question());
  if (!index || rules->entries()[*index].rule.action == AccessAction::kAllow) return false;
  return rules->forbids_owner(shard, introduction.question());
}

}  // namespace plnet::lnet
