// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/fault/judge.hpp"

namespace plnet::drivers {

Outcome<void> FaultJudge::set_plan(const FaultPlan& plan) {
  Outcome<void> checked = check_plan(plan, seam_);
  if (!checked) return checked;
  plan_ = plan;
  counts_ = {};
  return {};
}

const FaultRule* FaultJudge::draw(Direction direction, const Subject& subject, Instant now) {
  for (std::size_t i = 0; i < plan_.count; ++i) {
    const FaultRule& rule = plan_.rules[i];
    if (rule.direction != direction || now < rule.from || now >= rule.until) continue;
    if (rule.nid && (subject.nid == nullptr || !(*rule.nid == *subject.nid))) continue;
    if (rule.stream && *rule.stream != subject.stream) continue;
    RuleCounts& counts = counts_[i];
    ++counts.seen;
    bool fires = false;
    switch (rule.trigger) {
      case Trigger::kChance: fires = random_.chance(rule.probability); break;
      case Trigger::kEveryNth: fires = counts.seen % rule.nth == 0; break;
      case Trigger::kAtNth: fires = counts.seen == rule.nth; break;
    }
    if (!fires) continue;
    ++counts.fired;
    stats_.add(static_cast<FaultTable::Id>(rule.fault));
    return &rule;
  }
  return nullptr;
}

std::uint64_t FaultJudge::applied() const {
  std::uint64_t drawn = 0;
  for (std::size_t fault = 0; fault < kFaultCount; ++fault)
    drawn += stats_.get(static_cast<FaultTable::Id>(fault));
  return drawn - stats_.get(FaultTable::Id::kSkipped);
}

}  // namespace plnet::drivers
