// SPDX-License-Identifier: BSD-3-Clause
// The access rules of a node: the coordinator keeps them, every shard reads the published view.
// Control path: allocates.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "lib/base/cache_line.hpp"
#include "lib/base/qsbr.hpp"
#include "lib/base/relaxed.hpp"
#include "lib/lnet/access/access_rule.hpp"
#include "lib/lnet/api/shard_id.hpp"

namespace plnet::lnet {

// The decisions of a rule on each shard; the shard writes its own.
class AccessCounts {
 public:
  void add_owner(ShardId shard, AccessUse use) {
    OfShard& own = of_shard_[shard];
    Relaxed<std::uint64_t>& count = use == AccessUse::kConnect ? own.connections : own.messages;
    count.set(count.get() + 1);
  }
  struct Sum {
    std::uint64_t connections = 0;
    std::uint64_t messages = 0;
  };
  [[nodiscard]] Sum sum() const;

 private:
  struct alignas(kNoSharing) OfShard {
    Relaxed<std::uint64_t> connections{0};
    Relaxed<std::uint64_t> messages{0};
  };
  std::array<OfShard, kShardsMax> of_shard_;
};

// Immutable once published, except the counts.
class AccessView {
 public:
  struct Entry {
    AccessRule rule;
    std::shared_ptr<AccessCounts> counts;
  };
  explicit AccessView(std::vector<Entry> entries) : entries_(std::move(entries)) {}

  // The index of the rule that decides; none: allowed.
  [[nodiscard]] std::optional<std::size_t> decider(const AccessQuestion& question) const;
  // The index of the rule that forbids it; none: allowed. Counts nothing.
  [[nodiscard]] std::optional<std::size_t> forbidder(const AccessQuestion& question) const;
  // On `shard`; counts the decision of a rule.
  [[nodiscard]] bool forbids_owner(ShardId shard, const AccessQuestion& question) const;
  void count_owner(ShardId shard, std::size_t rule, AccessUse use) const;
  [[nodiscard]] std::span<const Entry> entries() const { return entries_; }

 private:
  const std::vector<Entry> entries_;
};

class AccessTable {
 public:
  explicit AccessTable(Qsbr& qsbr) : qsbr_(qsbr) {}

  // Replaces all rules by these, in this order; at most kAccessRulesMax. A rule that existed before
  // keeps its counts.
  void set(std::span<const AccessRule> rules);
  [[nodiscard]] std::vector<AccessReport> list() const;
  // Null: there are no rules.
  [[nodiscard]] const AccessView* view() const { return current_.get(); }
  // Frees views that no shard can read any more.
  void step();

 private:
  struct Retired {
    std::unique_ptr<const AccessView> view;
    Qsbr::Grace grace = 0;
  };

  [[nodiscard]] std::shared_ptr<AccessCounts> counts_of(const AccessRule& rule,
                                                        std::vector<bool>& taken) const;

  Qsbr& qsbr_;
  std::unique_ptr<const AccessView> current_;
  std::vector<Retired> old_;
};

}  // namespace plnet::lnet
