// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/faults/fault_table.hpp"

#include <algorithm>
#include <utility>

#include "lib/base/check.hpp"

namespace plnet::lnet {

// lustre-release lnet/lnet/lib-move.c: fail_peer()
bool FailNid::strikes(const Nid& other) {
  if (!nid.is_any() && nid != other) return false;
  std::uint32_t now_left = left.load(std::memory_order_relaxed);
  while (now_left != 0 && now_left != kForever) {
    if (left.compare_exchange_weak(now_left, now_left - 1, std::memory_order_relaxed)) return true;
  }
  return now_left == kForever;
}

bool FaultView::has_delay(std::uint64_t number) const {
  return std::ranges::find(delays, number, &FaultRule::number) != delays.end();
}

FaultRule* FaultView::drop(const MessageHeader& header, const Nid* local, FaultPlace place,
                           Instant now) const {
  const auto found = std::ranges::find_if(
      drops, [&](FaultRule* rule) { return rule->strikes(header, local, place, now); });
  return found == drops.end() ? nullptr : *found;
}

FaultRule* FaultView::delay(const MessageHeader& header, FaultPlace place, Instant now) const {
  const auto found = std::ranges::find_if(
      delays, [&](FaultRule* rule) { return rule->strikes(header, nullptr, place, now); });
  return found == delays.end() ? nullptr : *found;
}

bool FaultView::fails(const Nid& nid) const {
  return std::ranges::any_of(fail_nids, [&](FailNid* entry) { return entry->strikes(nid); });
}

Outcome<void> FaultTable::add(const FaultSpec& spec, Instant now) {
  const auto completed = complete(spec);
  if (!completed) return std::unexpected(completed.error());
  if (rules_.size() == kRulesMax) return failure(Errc::kNoSpace, "no more fault rules on one node");
  rules_.insert(rules_.begin(),
                std::make_unique<FaultRule>(*completed, ++last_number_, random_.next(), now));
  PLNET_CHECK(rules_.size() <= kRulesMax, "the number of rules is bounded");
  publish();
  return {};
}

template <class T>
void FaultTable::retire(std::unique_ptr<T> object, std::vector<Retired<T>>& to) {
  PLNET_CHECK(object != nullptr, "an object is retired once");
  to.push_back({std::move(object), 0});
}

template <class T, class Predicate>
std::size_t FaultTable::remove_if(std::vector<std::unique_ptr<T>>& from,
                                  std::vector<Retired<T>>& to, Predicate&& wanted) {
  std::size_t taken = 0;
  for (auto& object : from) {
    if (!wanted(*object)) continue;
    retire(std::move(object), to);
    ++taken;
  }
  std::erase(from, nullptr);
  return taken;
}

template <class Predicate>
std::size_t FaultTable::remove_if(Predicate&& wanted) {
  const std::size_t removed = remove_if(
      rules_, old_rules_, [&wanted](const FaultRule& rule) { return wanted(rule.spec()); });
  if (removed > 0) publish();
  return removed;
}

std::size_t FaultTable::remove(FaultKind kind, const Nid& source, const Nid& destination) {
  return remove_if(
      [&](const FaultSpec& spec) { return is_named(spec, kind, source, destination); });
}

std::size_t FaultTable::remove(const FaultSpec& wanted) {
  return remove_if([&wanted](const FaultSpec& spec) { return spec == wanted; });
}

void FaultTable::reset(FaultKind kind, Instant now) {
  for (const auto& rule : rules_) {
    if (rule->spec().kind == kind) rule->reset(now);
  }
}

std::vector<FaultReport> FaultTable::list(FaultKind kind) const {
  std::vector<FaultReport> reports;
  for (const auto& rule : rules_) {
    if (rule->spec().kind == kind) reports.push_back({rule->spec(), rule->counts()});
  }
  return reports;
}

// lustre-release lnet/lnet/lib-move.c: lnet_fail_nid()
Outcome<void> FaultTable::fail_nid(const Nid& nid, std::uint32_t messages) {
  // Entries that have struck all their messages are removed with the next change.
  (void)remove_if(fail_nids_, old_fail_nids_, [&](const FailNid& entry) {
    const bool named = messages == 0 && (nid.is_any() || entry.nid == nid);
    return named || entry.left.load(std::memory_order_relaxed) == 0;
  });
  const bool full = messages != 0 && fail_nids_.size() == kRulesMax;
  if (messages != 0 && !full) fail_nids_.push_back(std::make_unique<FailNid>(nid, messages));
  publish();
  if (full) return failure(Errc::kNoSpace, "no more failing NIDs on one node");
  return {};
}

void FaultTable::close() {
  (void)remove_if(rules_, old_rules_, [](const FaultRule&) { return true; });
  (void)remove_if(fail_nids_, old_fail_nids_, [](const FailNid&) { return true; });
  publish(true);
}

void FaultTable::publish(bool closing) {
  PLNET_CHECK(!closing || rules_.empty(), "no rule is left when the table closes");
  auto fresh = std::make_unique<FaultView>();
  fresh->version = ++last_version_;
  fresh->closing = closing;
  for (const auto& rule : rules_) {
    (rule->spec().kind == FaultKind::kDrop ? fresh->drops : fresh->delays).push_back(rule.get());
  }
  for (const auto& entry : fail_nids_)
    fresh->fail_nids.push_back(entry.get());
  const bool empty = rules_.empty() && fail_nids_.empty() && !closing;
  if (current_ != nullptr) retire(std::move(current_), old_views_);
  if (!empty) current_ = std::move(fresh);
  PLNET_CHECK(empty == (current_ == nullptr), "a view is published if there are rules");
}

// A retired rule is unpublished by the first step after it.
void FaultTable::step() {
  const auto step_through = [this](auto& retired) {
    for (auto& one : retired) {
      if (one.grace == 0) one.grace = qsbr_.begin_grace();
    }
    std::erase_if(retired, [this](const auto& one) { return qsbr_.passed(one.grace); });
  };
  step_through(old_views_);
  step_through(old_rules_);
  step_through(old_fail_nids_);
}

}  // namespace plnet::lnet
