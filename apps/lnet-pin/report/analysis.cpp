// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-pin/report/analysis.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "lib/base/check.hpp"

namespace plnet::pin {
namespace {

std::optional<double> positive(double value) {
  return value > 0 ? std::optional(value) : std::nullopt;
}

std::optional<double> value_of(const Figures& figures, Aim aim, const Workload& load) {
  const double throughput =
      load.test == run::Operation::kPing ? figures.rpc_rate : figures.throughput_mibps;
  switch (aim) {
    case Aim::kThroughput: return positive(throughput);
    case Aim::kP99: return figures.p99_us ? positive(*figures.p99_us) : std::nullopt;
    case Aim::kEfficiency:
      if (!figures.busy_cores || *figures.busy_cores <= 0) return std::nullopt;
      return positive(throughput / *figures.busy_cores);
    case Aim::kWatt: {
      if (!figures.joules || *figures.joules <= 0) return std::nullopt;
      const double seconds = std::chrono::duration<double>(load.duration + load.warm_up).count();
      return positive(throughput * seconds / *figures.joules);
    }
  }
  return std::nullopt;
}

// By placement, then round; nothing for a missing figure.
using Table = std::vector<std::vector<std::optional<double>>>;

Table table_of(const Results& results, Aim aim) {
  Table table(results.plan.placements.size());
  for (std::size_t placement = 0; placement < table.size(); ++placement) {
    for (std::size_t round = 0; round < results.ledger.rounds(); ++round) {
      const Figures* const figures = results.ledger.find(placement, round);
      table[placement].push_back(
          figures != nullptr ? value_of(*figures, aim, results.plan.sweep.workload) : std::nullopt);
    }
  }
  return table;
}

std::vector<double> present(const std::vector<std::optional<double>>& row) {
  std::vector<double> values;
  for (const auto& value : row) {
    if (value) values.push_back(*value);
  }
  return values;
}

PlacementResult result_of(const Table& table, std::size_t placement, const Bootstrap& how,
                          std::size_t comparisons) {
  const auto values = present(table[placement]);
  PlacementResult result{.placement = placement, .rounds = values.size()};
  result.interval = median_interval(values, how);
  std::vector<double> base;
  std::vector<double> other;
  for (std::size_t round = 0; round < table[placement].size(); ++round) {
    const auto& of_base = table.front()[round];
    const auto& of_other = table[placement][round];
    if (!of_base || !of_other) continue;
    base.push_back(*of_base);
    other.push_back(*of_other);
  }
  if (placement != 0) result.versus = compare(base, other, how, comparisons);
  return result;
}

// Effects need rounds in which every placement has a figure; placements that rarely have one are
// left out.
void add_effects(const Results& results, const Table& table, const Bootstrap& how,
                 AimAnalysis& analysis) {
  std::size_t most = 0;
  for (const auto& row : table)
    most = std::max(most, present(row).size());
  std::vector<std::size_t> used;
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (2 * present(table[i]).size() >= most && most > 0) used.push_back(i);
  }
  if (used.size() < 2) return;
  std::vector<std::size_t> rounds;
  for (std::size_t round = 0; round < table.front().size(); ++round) {
    if (std::ranges::all_of(used, [&](std::size_t i) { return table[i][round].has_value(); }))
      rounds.push_back(round);
  }
  std::vector<Treatment> treatments;
  for (const std::size_t i : used) {
    Treatment treatment{.levels = results.plan.placements[i].levels, .figures = {}};
    for (const std::size_t round : rounds) {
      if (const auto& figure = table[i][round]) treatment.figures.push_back(*figure);
    }
    // Levels with the same placement have the same figures.
    for (const auto& same : results.plan.placements[i].same)
      treatments.push_back({same, treatment.figures});
    treatments.push_back(std::move(treatment));
  }
  analysis.effects = effects_of(treatments, how);
  analysis.effect_rounds = rounds.size();
}

void add_overhead(const Results& results, Analysis& analysis) {
  double harness = 0;
  double node = 0;
  for (const Entry& entry : results.ledger.entries()) {
    ++analysis.measurements;
    analysis.disturbed += entry.disturbed.empty() ? 0 : 1;
    analysis.failed += entry.figures ? 0 : 1;
    if (!entry.figures) continue;
    const double cpu_seconds = entry.figures->cpu_seconds.value_or(0);
    if (cpu_seconds <= 0) continue;
    harness += entry.figures->harness_cpu_seconds;
    node += cpu_seconds;
  }
  if (node > 0) analysis.overhead_percent = harness / node * 100;
}

}  // namespace

const AimRow& row_of(Aim aim) {
  const AimRow& row = kAims.at(static_cast<std::size_t>(aim));
  PLNET_CHECK(row.aim == aim, "the table is in the order of the enumeration");
  return row;
}

std::optional<Aim> aim_named(std::string_view name) {
  const auto found = std::ranges::find(kAims, name, &AimRow::name);
  if (found == kAims.end()) return std::nullopt;
  return found->aim;
}

std::string_view unit_of(Aim aim, const Plan& plan) {
  const bool pings = plan.sweep.workload.test == run::Operation::kPing;
  return pings && aim != Aim::kP99 ? "RPC/s" : row_of(aim).unit;
}

const PlacementResult* AimAnalysis::find(std::size_t placement) const {
  const auto found = std::ranges::find(results, placement, &PlacementResult::placement);
  return found == results.end() ? nullptr : &*found;
}

const AimAnalysis* Analysis::find(Aim aim) const {
  const auto found = std::ranges::find(aims, aim, &AimAnalysis::aim);
  return found == aims.end() ? nullptr : &*found;
}

Analysis analyse(const Results& results, unsigned resamples) {
  const Sweep& sweep = results.plan.sweep;
  const Bootstrap how{.seed = sweep.seed, .resamples = resamples, .confidence = sweep.confidence};
  Analysis analysis;
  for (const AimRow& row : kAims) {
    const Table table = table_of(results, row.aim);
    AimAnalysis one{.aim = row.aim};
    for (std::size_t i = 0; i < table.size(); ++i) {
      if (!present(table[i]).empty())
        one.results.push_back(result_of(table, i, how, table.size() - 1));
    }
    if (one.results.empty()) continue;
    std::ranges::sort(one.results, {}, [&row](const PlacementResult& each) {
      const double estimate = each.interval.estimate;
      return std::pair(row.higher_is_better ? -estimate : estimate, each.placement);
    });
    add_effects(results, table, how, one);
    analysis.aims.push_back(std::move(one));
  }
  add_overhead(results, analysis);
  return analysis;
}

}  // namespace plnet::pin
