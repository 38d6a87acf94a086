// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/access/access_table.hpp"

#include <utility>

#include "lib/base/check.hpp"

namespace plnet::lnet {

AccessCounts::Sum AccessCounts::sum() const {
  Sum sum;
  for (const OfShard& each : of_shard_) {
    sum.connections += each.connections.get();
    sum.messages += each.messages.get();
  }
  return sum;
}

std::optional<std::size_t> AccessView::decider(const AccessQuestion& question) const {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (matches(entries_[i].rule, question)) return i;
  }
  return std::nullopt;
}

std::optional<std::size_t> AccessView::forbidder(const AccessQuestion& question) const {
  const auto index = decider(question);
  if (!index || entries_[*index].rule.action == AccessAction::kAllow) return std::nullopt;
  return index;
}

bool AccessView::forbids_owner(ShardId shard, const AccessQuestion& question) const {
  const auto index = decider(question);
  if (!index) return false;
  count_owner(shard, *index, question.use);
  return entries_[*index].rule.action == AccessAction::kDeny;
}

void AccessView::count_owner(ShardId shard, std::size_t rule, AccessUse use) const {
  PLNET_CHECK(rule < entries_.size() && use != AccessUse::kAll, "a rule of this view has decided");
  entries_[rule].counts->add_owner(shard, use);
}

// Equal rules keep separate counts.
std::shared_ptr<AccessCounts> AccessTable::counts_of(const AccessRule& rule,
                                                     std::vector<bool>& taken) const {
  for (std::size_t i = 0; i < taken.size(); ++i) {
    const AccessView::Entry& entry = current_->entries()[i];
    if (taken[i] || entry.rule != rule) continue;
    taken[i] = true;
    return entry.counts;
  }
  return std::make_shared<AccessCounts>();
}

void AccessTable::set(std::span<const AccessRule> rules) {
  PLNET_CHECK(rules.size() <= kAccessRulesMax, "configurations are checked before");
  std::vector<bool> taken(current_ == nullptr ? 0 : current_->entries().size());
  std::vector<AccessView::Entry> entries;
  for (const AccessRule& rule : rules)
    entries.push_back({rule, counts_of(rule, taken)});
  if (current_ != nullptr) old_.push_back({std::move(current_), 0});
  if (!entries.empty()) current_ = std::make_unique<const AccessView>(std::move(entries));
}

std::vector<AccessReport> AccessTable::list() const {
  std::vector<AccessReport> reports;
  if (current_ == nullptr) return reports;
  for (const AccessView::Entry& entry : current_->entries()) {
    const AccessCounts::Sum sum = entry.counts->sum();
    reports.push_back({.rule = entry.rule,
                       .matched = sum.connections + sum.messages,
                       .connections = sum.connections});
  }
  return reports;
}

// A retired view is unpublished by the first step after it.
void AccessTable::step() {
  for (Retired& retired : old_) {
    if (retired.grace == 0) retired.grace = qsbr_.begin_grace();
  }
  std::erase_if(old_, [this](const Retired& retired) { return qsbr_.passed(retired.grace); });
}

}  // namespace plnet::lnet
