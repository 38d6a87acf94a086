// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-pin/recommend/recommendation.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "apps/lnet-pin/report/report.hpp"
#include "lib/base/joined.hpp"
#include "lib/runtime/control/yaml_printer.hpp"
#include "lib/runtime/cpt/plan_report.hpp"

namespace plnet::pin {
namespace {

bool is_better(const Comparison& comparison, bool higher_is_better) {
  return comparison.verdict == (higher_is_better ? Verdict::kHigher : Verdict::kLower);
}

std::string measured_text(const Results& results) {
  const Workload& load = results.plan.sweep.workload;
  return fmt::format("{} {}, {} under way, over {}", run::text_of(load.test),
                     run::text_of_size(load.size), load.concurrency,
                     joined(load.networks, " and "));
}

}  // namespace

Outcome<Recommendation> recommend(const Results& results, const Analysis& analysis, Aim aim) {
  const AimRow& row = row_of(aim);
  const AimAnalysis* const figures = analysis.find(aim);
  if (figures == nullptr) {
    std::string known;
    for (const AimAnalysis& each : analysis.aims)
      known += (known.empty() ? "" : ", ") + std::string(row_of(each.aim).name);
    return failure(Errc::kNoData,
                   fmt::format("there are no figures for the aim '{}'; there are some for: {}",
                               row.name, known.empty() ? "none" : known));
  }
  const auto worth = [&](const PlacementResult& each) {
    // A neighbour that computes is a disturbance for measurement, never recommended.
    return !results.plan.placements[each.placement].busy_neighbour &&
           (each.placement == 0 || is_better(each.versus, row.higher_is_better));
  };
  const auto best = std::ranges::find_if(figures->results, worth);
  if (best == figures->results.end())
    return failure(Errc::kNoData, "the baseline was not measured, and nothing is better than it");
  Recommendation choice{
      .aim = aim, .placement = best->placement, .interval = best->interval, .versus = best->versus};
  for (const PlacementResult& each : figures->results) {
    const bool apart =
        each.interval.high < best->interval.low || each.interval.low > best->interval.high;
    if (each.placement != best->placement && !apart) choice.as_good.push_back(each.placement);
  }
  return choice;
}

std::string reason_of(const Results& results, const Recommendation& choice) {
  const AimRow& row = row_of(choice.aim);
  std::string text = fmt::format(
      "{} ({}): {} of {:.1f} {} ({:.1f} to {:.1f})", name_of_placement(choice.placement),
      results.plan.level_text(results.plan.placements[choice.placement].levels), row.title,
      choice.interval.estimate, unit_of(choice.aim, results.plan), choice.interval.low,
      choice.interval.high);
  if (choice.placement == 0)
    text += "; the baseline: nothing was seen to be better";
  else
    text += fmt::format("; {} against the baseline", percent_text(choice.versus.percent));
  if (!choice.as_good.empty()) {
    text += "; intervals overlap with";
    for (const std::size_t other : choice.as_good)
      text += " " + name_of_placement(other);
  }
  return text;
}

std::string node_yaml(const Results& results, const Recommendation& choice) {
  const Placement& placement = results.plan.placements[choice.placement];
  Json config = runtime::request_to_json(request_of(placement));
  config["plnet"]["pollers"]["idle"] = placement.idle;
  std::string text =
      fmt::format("# {}\n# measured: {}, lnet-pin {}, {}\n", reason_of(results, choice),
                  measured_text(results), results.version, results.begun);
  if (placement.sides_apart)
    text += "# Each network on a CPT of its own: `CPT: \"[0]\"` and `CPT: \"[1]\"` of its NIs.\n";
  return text + runtime::print_yaml(config);
}

}  // namespace plnet::pin
