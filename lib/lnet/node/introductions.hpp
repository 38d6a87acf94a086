// SPDX-License-Identifier: BSD-3-Clause
// The access rules for connections, asked by the part that first hears of a peer: an LND or its
// host. Connections that this node makes need no permission.
#pragma once

#include <atomic>

#include "lib/base/check.hpp"
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

// On `shard`. Counts the decision of a rule, and reports a refusal to the admin thread.
[[nodiscard]] inline bool admits_owner(const NodeShared& node, ShardId shard,
                                       const Introduction& introduction) {
  const AccessView* const rules = node.access.load(std::memory_order_acquire);
  if (rules == nullptr) return true;
  const AccessQuestion question = introduction.question();
  const auto rule = rules->decider(question);
  if (!rule) return true;
  rules->count_owner(shard, *rule, question.use);
  if (rules->entries()[*rule].rule.action == AccessAction::kAllow) return true;
  PLNET_CHECK(shard < node.shards, "a shard of this node judges");
  node.refused_peers[shard].add(
      {.peer = introduction.peer, .ours = introduction.ours, .rule = *rule});
  return false;
}

// A look ahead: counts and reports nothing. admits_owner() follows for a peer that is refused.
[[nodiscard]] inline bool will_refuse(const NodeShared& node, const Introduction& introduction) {
  const AccessView* const rules = node.access.load(std::memory_order_acquire);
  return rules != nullptr && rules->forbidder(introduction.question()).has_value();
}

// At a point where a peer that is admitted is judged again: counts and reports only refusals.
[[nodiscard]] inline bool refuses_owner(const NodeShared& node, ShardId shard,
                                        const Introduction& introduction) {
  return will_refuse(node, introduction) && !admits_owner(node, shard, introduction);
}

}  // namespace plnet::lnet
