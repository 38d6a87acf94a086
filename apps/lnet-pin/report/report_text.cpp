// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include <fmt/format.h>

#include "apps/lnet-pin/report/report.hpp"
#include "apps/lnet-selftest/run/report.hpp"
#include "lib/base/counted.hpp"
#include "lib/base/joined.hpp"
#include "lib/runtime/files/text_file.hpp"

namespace plnet::pin {
namespace {

std::string failures_text(const Results& results) {
  std::string text;
  for (const Gap& gap : gaps_of(results.plan, results.ledger))
    text += text_of(gap, results.plan) + "\n";
  return text;
}

std::string repeats_text(const Analysis& analysis) {
  std::string text;
  if (analysis.disturbed > 0) {
    text += fmt::format("{} of {} measurements were disturbed; each was made again up to twice\n",
                        analysis.disturbed, analysis.measurements);
  }
  if (analysis.failed > 0) {
    text += fmt::format("{} of {} measurements failed; each was made again up to twice\n",
                        analysis.failed, analysis.measurements);
  }
  return text;
}

std::string median_text(const PlacementResult& result, double confidence) {
  const auto& [estimate, low, high] = result.interval;
  const std::size_t needed = rounds_for_interval(confidence);
  if (result.rounds >= needed)
    return fmt::format("{:>10.1f} ({:.1f} to {:.1f}), {} rounds", estimate, low, high,
                       result.rounds);
  return fmt::format("{:>10.1f} (no interval: {})", estimate, too_few_text(result.rounds, needed));
}

std::string table_of(const Results& results, const AimAnalysis& analysis) {
  const AimRow& row = row_of(analysis.aim);
  std::string text =
      fmt::format("\n{}, {} (median, {:.0f} % interval)\n", row.title,
                  unit_of(analysis.aim, results.plan), results.plan.sweep.confidence * 100);
  for (const PlacementResult& each : analysis.results) {
    text += fmt::format("{:>5} {}  {}\n", name_of_placement(each.placement),
                        median_text(each, results.plan.sweep.confidence),
                        each.placement == 0 ? "baseline" : text_of(each.versus));
  }
  return text;
}

std::string effects_text(const Results& results, const AimAnalysis& analysis) {
  const auto& factors = results.plan.sweep.factors;
  const Effects& effects = analysis.effects;
  if (effects.main.empty() && effects.unknown.empty()) return {};
  const std::size_t needed = rounds_for_interval(results.plan.sweep.confidence);
  if (analysis.effect_rounds < needed)
    return fmt::format("effects: {}\n", too_few_text(analysis.effect_rounds, needed));
  std::string text =
      fmt::format("effects over {} rounds, all else being equal:\n", analysis.effect_rounds);
  const auto level = [&factors](std::size_t factor, std::size_t number) {
    return fmt::format("{}={}", row_of(factors[factor].kind).name, factors[factor].levels[number]);
  };
  for (const MainEffect& each : effects.main) {
    text += fmt::format("  {} for {}: {}\n", level(each.factor, each.level),
                        factors[each.factor].levels.front(), percent_text(each.percent));
  }
  for (const Interaction& each : effects.interactions) {
    if (!each.percent.excludes(0)) continue;
    text += fmt::format("  {} with {}: {} beyond what each does alone\n",
                        level(each.factor, each.level), level(each.other_factor, each.other_level),
                        percent_text(each.percent));
  }
  for (const std::size_t factor : effects.unknown) {
    text += fmt::format("  {}: this design cannot tell it from other factors\n",
                        row_of(factors[factor].kind).name);
  }
  for (const auto& [a, b] : effects.unknown_pairs) {
    text += fmt::format("  {} with {}: this design cannot tell\n", row_of(factors[a].kind).name,
                        row_of(factors[b].kind).name);
  }
  return text;
}

}  // namespace

std::string harness_text(double percent) {
  return fmt::format("harness: {:.2f} % of the placed node's CPU time", percent);
}

std::string too_few_text(std::size_t rounds, std::size_t needed, std::string_view purpose) {
  return fmt::format("{} {} too few {}, {} {} needed", counted(rounds, "round"),
                     agreeing(rounds, "is", "are"), purpose, needed, agreeing(needed, "is", "are"));
}

std::string percent_text(const Interval& percent) {
  return fmt::format("{:+.1f} % ({:+.1f} to {:+.1f})", percent.estimate, percent.low, percent.high);
}

std::string text_of(const Comparison& comparison) {
  switch (comparison.verdict) {
    case Verdict::kTooFew:
      if (comparison.pairs == 0) return "no round in common with the baseline";
      return fmt::format("{:+.1f} %; {}", comparison.percent.estimate,
                         too_few_text(comparison.pairs, comparison.needed, "to compare"));
    case Verdict::kEqual:
      return fmt::format("{}; no difference seen, one of {:.1f} % would have been",
                         percent_text(comparison.percent), comparison.detectable_percent);
    case Verdict::kHigher:
    case Verdict::kLower:
      return fmt::format("{}; {}", percent_text(comparison.percent), text_of(comparison.verdict));
  }
  return "unknown";
}

std::string text_of(const Results& results, const Analysis& analysis) {
  const Plan& plan = results.plan;
  std::string text = text_of(plan, results.machine, false);
  text +=
      fmt::format("\nmeasured with lnet-pin {}, begun {}: {} rounds, {} measurements\n",
                  results.version, results.begun, results.ledger.rounds(), analysis.measurements);
  for (const AimAnalysis& each : analysis.aims) {
    text += table_of(results, each);
    text += effects_text(results, each);
  }
  text += "\n" + failures_text(results) + repeats_text(analysis);
  if (!results.counters_note.empty())
    text += fmt::format("processor counters: {}\n", results.counters_note);
  if (analysis.overhead_percent) {
    text += harness_text(*analysis.overhead_percent) + "\n";
  }
  return text;
}

std::string csv_of(const Results& results) {
  std::string text =
      "placement,levels,round,attempt,throughput_mibps,rpc_rate,p50_us,p99_us,errors,busy_cores,"
      "cpu_seconds,duty_percent,longest_turn_us,hops,remote_buffers,cycles,instructions,llc_misses,"
      "remote_reads,joules,steal_percent,throttled,preempted,migrations,disturbed,failed\n";
  const auto field = [](std::string_view words) {
    std::string escaped(words);
    for (auto at = escaped.find('"'); at != std::string::npos; at = escaped.find('"', at + 2))
      escaped.insert(at, 1, '"');
    return "\"" + escaped + "\"";
  };
  const auto number = [](const std::optional<double>& value) {
    return value ? fmt::format("{:.6g}", *value) : std::string();
  };
  for (const Entry& entry : results.ledger.entries()) {
    const Figures figures = entry.figures.value_or(Figures{});
    const auto counter = [&figures, &number](const char* name) {
      const auto found = figures.counters.find(name);
      return found == figures.counters.end() ? std::string() : number(found->second);
    };
    const auto always = [&entry, &number](double value) {
      return entry.figures ? number(value) : std::string();
    };
    const std::vector<std::string> fields{
        name_of_placement(entry.placement),
        field(results.plan.level_text(results.plan.placements[entry.placement].levels)),
        std::to_string(entry.round + 1),
        std::to_string(entry.attempt + 1),
        always(figures.throughput_mibps),
        always(figures.rpc_rate),
        number(figures.p50_us),
        number(figures.p99_us),
        entry.figures ? std::to_string(figures.errors) : "",
        number(figures.busy_cores),
        number(figures.cpu_seconds),
        number(figures.duty_percent),
        number(figures.longest_turn_us),
        number(figures.hops),
        number(figures.remote_buffers),
        counter("cycles"),
        counter("instructions"),
        counter("llc_misses"),
        counter("remote_reads"),
        number(figures.joules),
        always(figures.steal_percent),
        always(figures.throttled),
        number(figures.preempted),
        number(figures.migrations),
        field(entry.disturbed),
        field(entry.failed)};
    text += fmt::format("{}\n", joined(fields, ","));
  }
  return text;
}

Outcome<void> write_report(const Results& results, const std::string& folder) {
  const Analysis analysis = analyse(results);
  const std::vector<std::pair<const char*, std::string>> files{
      {"report.txt", text_of(results, analysis)},
      {"report.json", run::dump_of(json_of(results, analysis), 1) + "\n"},
      {"report.csv", csv_of(results)},
      {"report.html", html_of(results, analysis)}};
  for (const auto& [name, text] : files) {
    if (auto done = runtime::write_file(fmt::format("{}/{}", folder, name), text); !done)
      return done;
  }
  return {};
}

}  // namespace plnet::pin
