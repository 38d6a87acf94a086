// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-pin/run/sweeper.hpp"

#include <algorithm>
#include <numeric>
#include <span>

#include <fmt/format.h>

#include "apps/lnet-pin/stats/bootstrap.hpp"
#include "lib/base/check.hpp"
#include "lib/base/counted.hpp"
#include "lib/base/random.hpp"

namespace plnet::pin {
namespace {

constexpr unsigned kLookResamples = 500;  // enough for deciding whether to continue

class Sweeper {
 public:
  Sweeper(const Plan& plan, Ledger& ledger, Stage& stage, const SweeperHooks& hooks,
          const Clock& clock)
      : plan_(plan), ledger_(ledger), stage_(stage), hooks_(hooks), clock_(clock) {}

  Outcome<Ending> run() {
    const Instant end = clock_.now() + plan_.sweep.budget;
    for (std::size_t round = 0; round < plan_.sweep.rounds_max; ++round) {
      if (round >= plan_.sweep.rounds_min && is_precise()) return Ending::kPrecise;
      bool tried = false;
      for (const std::size_t placement : order_of(plan_, round)) {
        if (ledger_.is_settled(placement, round) || ledger_.has_failed(placement)) continue;
        if (clock_.now() >= end) return Ending::kBudget;
        tried = true;
        if (auto ending = measure(placement, round); !ending || *ending) return unwrap(ending);
      }
      if (!tried && round >= ledger_.rounds()) return Ending::kNothing;
    }
    const bool any = std::ranges::any_of(
        ledger_.entries(), [](const Entry& entry) { return entry.figures.has_value(); });
    return any ? Ending::kRounds : Ending::kNothing;
  }

 private:
  using Step = Outcome<std::optional<Ending>>;  // nothing: continue

  static Outcome<Ending> unwrap(Step& step) {
    if (!step) return std::unexpected(std::move(step.error()));
    const std::optional<Ending>& ending = *step;
    PLNET_CHECK(ending.has_value(), "a step without an ending goes on");
    return *ending;
  }

  Step measure(std::size_t placement, std::size_t round) {
    // A killed sweep may have left some attempts of this round.
    for (unsigned attempt = ledger_.attempts(placement, round); attempt < kAttempts; ++attempt) {
      Entry entry{.round = round, .placement = placement, .attempt = attempt};
      auto figures = stage_.measure(placement);
      if (!figures && figures.error().code == Errc::kCancelled) return Ending::kStopped;
      if (figures) {
        entry.disturbed = disturbance_of(*figures, plan_.sweep.steal_max_percent);
        entry.figures = std::move(*figures);
      } else {
        entry.failed = figures.error().what;
      }
      if (auto kept = hooks_.keep(entry); !kept) return std::unexpected(std::move(kept.error()));
      ledger_.add(entry);
      hooks_.show(entry);
      if (entry.figures && entry.disturbed.empty()) break;
      if (ledger_.has_failed(placement)) break;
    }
    return std::nullopt;
  }

  [[nodiscard]] bool is_precise() const {
    const Bootstrap how{.seed = plan_.sweep.seed,
                        .resamples = kLookResamples,
                        .confidence = plan_.sweep.confidence};
    bool any = false;
    for (std::size_t i = 0; i < plan_.placements.size(); ++i) {
      if (ledger_.has_failed(i)) continue;
      any = true;
      const auto values = ledger_.throughput(i);
      // Some rounds may have failed, and an interval needs a minimum of rounds.
      if (values.size() < std::max<std::size_t>(plan_.sweep.rounds_min,
                                                rounds_for_interval(plan_.sweep.confidence)))
        return false;
      const Interval interval = median_interval(values, how);
      const double half = (interval.high - interval.low) / 2;
      if (half > interval.estimate * plan_.sweep.precision_percent / 100) return false;
    }
    return any;
  }

  const Plan& plan_;
  Ledger& ledger_;
  Stage& stage_;
  const SweeperHooks& hooks_;
  const Clock& clock_;
};

}  // namespace

void Ledger::add(const Entry& entry) {
  last_[{entry.placement, entry.round}] = entries_.size();
  if (entry.figures) measured_[{entry.placement, entry.round}] = entries_.size();
  entries_.push_back(entry);
  rounds_ = std::max(rounds_, entry.round + 1);
}

unsigned Ledger::attempts(std::size_t placement, std::size_t round) const {
  const auto at = last_.find({placement, round});
  return at == last_.end() ? 0 : entries_[at->second].attempt + 1;
}

bool Ledger::is_settled(std::size_t placement, std::size_t round) const {
  const auto at = last_.find({placement, round});
  if (at == last_.end()) return false;
  const Entry& last = entries_[at->second];
  return (last.figures && last.disturbed.empty()) || last.attempt + 1 >= kAttempts;
}

const Figures* Ledger::find(std::size_t placement, std::size_t round) const {
  const auto at = measured_.find({placement, round});
  if (at == measured_.end()) return nullptr;
  const std::optional<Figures>& figures = entries_[at->second].figures;
  return figures ? &*figures : nullptr;
}

std::vector<double> Ledger::throughput(std::size_t placement) const {
  std::vector<double> values;
  for (std::size_t round = 0; round < rounds_; ++round) {
    if (const Figures* const figures = find(placement, round))
      values.push_back(figures->throughput_mibps > 0 ? figures->throughput_mibps
                                                     : figures->rpc_rate);
  }
  return values;
}

bool Ledger::has_failed(std::size_t placement) const {
  std::size_t failures = 0;
  for (const Entry& entry : entries_) {
    if (entry.placement == placement) failures = entry.failed.empty() ? 0 : failures + 1;
  }
  return failures >= kAttempts;
}

std::string Ledger::why_failed(std::size_t placement) const {
  std::string why;
  for (const Entry& entry : entries_) {
    if (entry.placement == placement) why = entry.failed;
  }
  return why;
}

std::size_t Ledger::disturbed(std::size_t placement) const {
  std::size_t count = 0;
  for (const auto& [key, entry] : measured_)
    count += key.first == placement && !entries_[entry].disturbed.empty() ? 1 : 0;
  return count;
}

std::vector<Gap> gaps_of(const Plan& plan, const Ledger& ledger) {
  std::vector<Gap> gaps;
  for (std::size_t i = 0; i < plan.placements.size(); ++i) {
    Gap gap{.placement = i, .failed = ledger.has_failed(i), .why = ledger.why_failed(i)};
    for (std::size_t round = 0; round < ledger.rounds(); ++round)
      gap.rounds += ledger.find(i, round) != nullptr ? 1 : 0;
    if (!gap.failed && gap.rounds > 0) continue;
    gap.failed = gap.failed || !gap.why.empty();
    if (!gap.failed) gap.why = "the sweep ended before its first measurement";
    gaps.push_back(std::move(gap));
  }
  return gaps;
}

std::string text_of(const Gap& gap, const Plan& plan) {
  const std::string levels = plan.level_text(plan.placements[gap.placement].levels);
  return fmt::format(
      "{}{} {}: {}", name_of_placement(gap.placement), levels.empty() ? "" : " (" + levels + ")",
      gap.rounds == 0
          ? "has no figures"
          : fmt::format("has figures of {} and then failed", counted(gap.rounds, "round")),
      gap.why);
}

std::string_view text_of(Ending ending) {
  switch (ending) {
    case Ending::kPrecise: return "complete: every interval has the requested width";
    case Ending::kRounds: return "complete: all rounds were made";
    case Ending::kBudget: return "the time budget is used up";
    case Ending::kStopped: return "interrupted; the same command goes on";
    case Ending::kNothing: return "failed: no placement can be measured";
  }
  return "unknown";
}

std::vector<std::size_t> order_of(const Plan& plan, std::size_t round) {
  std::vector<std::size_t> order(plan.placements.size());
  std::iota(order.begin(), order.end(), 0U);
  Random random = Random(plan.sweep.seed).fork(fmt::format("round {}", round));
  random.shuffle(std::span(order));
  return order;
}

Outcome<Ending> sweep_all(const Plan& plan, Ledger& ledger, Stage& stage, const SweeperHooks& hooks,
                          const Clock& clock) {
  return Sweeper(plan, ledger, stage, hooks, clock).run();
}

}  // namespace plnet::pin
