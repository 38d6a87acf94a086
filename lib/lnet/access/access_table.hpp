// SPDX-License-Identifier: BSD-3-Clause
// The access rules of a node: the coordinator keeps them, every shard reads what it publishes.
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

// How often a rule has decided, on each shard; written by that shard.
class AccessCounts {
 public:
  void add_owner(ShardId shard) {
    Relaxed<std::uint64_t>& count = of_shard_[shard].count;
    count.set(count.get() + 1);
  }
  [[nodiscard]] std::uint64_t sum() const;

 private:
  struct alignas(kNoSharing) OfShard {
    Relaxed<std::uint64_t> count{0};
  };
  std::array<OfShard, kShardsMax> of_shard_;
};

// Immutable once published, but for the counts.
class AccessView {
 public:
  struct Entry {
    AccessRule rule;
    std::shared_ptr<AccessCounts> counts;
  };
  explicit AccessView(std::vector<Entry> entries) : entries_(std::move(entries)) {}

  // The index of the rule that decides; none: it is allowed.
  [[nodiscard]] std::optional<std::size_t> decider(const AccessQuestion& question) const;
  // On `shard`, whose count goes up if a rule decides.
  [[nodiscard]] bool forbids_owner(ShardId shard, const AccessQuestion& question) const;
  [[nodiscard]] std::span<const Entry> entries() const { return entries_; }

 private:
  const std::vector<Entry> entries_;
};

class AccessTable {
 public:
  explicit AccessTable(Qsbr& qsbr) : qsbr_(qsbr) {}

  // These rules, in this order, instead of those that there are; at most kAccessRulesMax. One that
  // was there before goes on counting.
  void set(std::span<const AccessRule> rules);
  [[nodiscard]] std::vector<AccessReport> list() const;
  // Null: there are no rules.
  [[nodiscard]] const AccessView* view() const { return current_.get(); }
  // Frees what nobody can look at.
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
