// SPDX-License-Identifier: BSD-3-Clause
// Decides the fault of each message, from a plan and a seeded random, and counts per rule.
#pragma once

#include <array>
#include <cstdint>

#include "drivers/net/fault/plan.hpp"
#include "drivers/net/fault/stats.hpp"
#include "lib/base/random.hpp"

namespace plnet::drivers {

struct RuleCounts {
  std::uint64_t seen = 0;     // messages that matched direction, time and address
  std::uint64_t fired = 0;    // of these, those that were chosen
  std::uint64_t skipped = 0;  // of these, those to which the fault could not be applied
  [[nodiscard]] std::uint64_t applied() const { return fired - skipped; }

  friend bool operator==(const RuleCounts&, const RuleCounts&) = default;
};

// The properties of a message that a rule may match.
struct Subject {
  const lnet::Nid* nid = nullptr;
  std::uint32_t stream = 0;
};

class FaultJudge {
 public:
  FaultJudge(Seam seam, Random random) : seam_(seam), random_(random) {}

  // Replaces the plan and clears the counts; messages held under the old plan end as it says. A
  // plan that the seam refuses changes nothing.
  [[nodiscard]] Outcome<void> set_plan(const FaultPlan& plan);
  [[nodiscard]] const FaultPlan& plan() const { return plan_; }
  [[nodiscard]] const RuleCounts& counts(std::size_t rule) const { return counts_[rule]; }

  // The first rule that fires, or null. Later rules do not see the message.
  [[nodiscard]] const FaultRule* draw(Direction direction, const Subject& subject, Instant now);
  // The fault that draw() returned could not be applied.
  void skip(const FaultRule& rule) {
    stats_.add(FaultTable::Id::kSkipped);
    ++counts_[static_cast<std::size_t>(&rule - plan_.rules.data())].skipped;
  }
  // The counters of all plans so far.
  [[nodiscard]] std::uint64_t applied() const;
  [[nodiscard]] FaultStats& stats() { return stats_; }
  [[nodiscard]] CounterView counters() const { return stats_.view(); }
  [[nodiscard]] Random& random() { return random_; }

 private:
  const Seam seam_;
  Random random_;
  FaultPlan plan_;
  std::array<RuleCounts, kRulesMax> counts_{};
  FaultStats stats_;
};

}  // namespace plnet::drivers
