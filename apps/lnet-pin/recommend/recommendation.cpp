// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-pin/recommend/recommendation.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "apps/lnet-pin/recommend/host_commands.hpp"
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

bool is_undecided(const PlacementResult& each) {
  return each.placement != 0 && each.versus.verdict == Verdict::kTooFew;
}

// The error if no placement can be compared with the baseline.
Outcome<void> check_rounds(const AimAnalysis& figures) {
  std::size_t rounds = 0;
  std::size_t needed = 0;
  for (const PlacementResult& each : figures.results) {
    if (each.placement == 0) continue;
    if (!is_undecided(each)) return {};
    rounds = std::max(rounds, each.versus.pairs);
    needed = std::max(needed, each.versus.needed);
  }
  if (needed == 0) return {};  // nothing to compare
  return failure(
      Errc::kNoData,
      fmt::format("nothing can be recommended: {}; measure again, with `rounds: {{least: {}, most: "
                  "{}}}` and another folder",
                  too_few_text(rounds, needed, "to compare these placements"), needed, 2 * needed));
}

// Each line as a comment.
std::string commented(const std::string& lines) {
  std::string text;
  for (std::size_t at = 0; at < lines.size();) {
    const std::size_t end = lines.find('\n', at);
    text += "#   " + lines.substr(at, end - at) + "\n";
    at = end == std::string::npos ? lines.size() : end + 1;
  }
  return text;
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
  if (auto done = check_rounds(*figures); !done) return std::unexpected(std::move(done.error()));
  Recommendation choice{.aim = aim,
                        .placement = best->placement,
                        .rounds = best->rounds,
                        .alone = figures->results.size() == 1,
                        .interval = best->interval,
                        .versus = best->versus};
  for (const PlacementResult& each : figures->results) {
    if (is_undecided(each)) {
      choice.undecided.push_back(each.placement);
      continue;
    }
    const bool apart =
        each.interval.high < best->interval.low || each.interval.low > best->interval.high;
    if (each.placement != best->placement && !apart) choice.as_good.push_back(each.placement);
  }
  return choice;
}

std::string reason_of(const Results& results, const Recommendation& choice) {
  const AimRow& row = row_of(choice.aim);
  std::string text =
      fmt::format("{} ({}): {} of {:.1f} {}", name_of_placement(choice.placement),
                  results.plan.level_text(results.plan.placements[choice.placement].levels),
                  row.title, choice.interval.estimate, unit_of(choice.aim, results.plan));
  const std::size_t needed = rounds_for_interval(results.plan.sweep.confidence);
  if (choice.rounds >= needed)
    text += fmt::format(" ({:.1f} to {:.1f})", choice.interval.low, choice.interval.high);
  else
    text += fmt::format(" ({})", too_few_text(choice.rounds, needed));
  if (choice.placement == 0 && choice.alone)
    text += "; the only placement with figures";
  else if (choice.placement == 0)
    text += "; the baseline: nothing was seen to be better";
  else
    text += fmt::format("; {} against the baseline", percent_text(choice.versus.percent));
  if (!choice.as_good.empty()) {
    text += "; intervals overlap with";
    for (const std::size_t other : choice.as_good)
      text += " " + name_of_placement(other);
  }
  if (!choice.undecided.empty()) {
    text += "; too few rounds to compare";
    for (const std::size_t other : choice.undecided)
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
  const std::string commands = hugepage_commands(results, placement) +
                               governor_commands(results, placement) +
                               interrupt_commands(results, placement);
  if (!commands.empty())
    text += "# Commands, after each start of the host and before the node:\n" + commented(commands);
  return text + runtime::print_yaml(config);
}

}  // namespace plnet::pin
