// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include <fmt/format.h>

#include "apps/lnet-pin/report/drawing.hpp"
#include "apps/lnet-pin/report/report.hpp"
#include "apps/lnet-pin/stats/quantile.hpp"
#include "apps/lnet-selftest/run/report.hpp"
#include "apps/lnet-selftest/run/svg_plot.hpp"

namespace plnet::pin {
namespace {

using run::html_escaped;

// With more, a page is slow to load and hard to read.
constexpr std::size_t kDrawnMax = 64;

std::string cell(std::string_view text, std::optional<double> value = std::nullopt,
                 bool left = false) {
  return fmt::format("<td{}{}>{}</td>", left ? " class='left'" : "",
                     value ? fmt::format(" data-v='{:.6g}'", *value) : "", html_escaped(text));
}

std::string level_of(const Results& results, std::size_t placement) {
  return results.plan.level_text(results.plan.placements[placement].levels);
}

std::string interval_plots(const Results& results, const Analysis& analysis) {
  std::string html = "<div class='plots'>";
  for (const AimAnalysis& each : analysis.aims) {
    std::vector<Bar> bars;
    for (const PlacementResult& result : each.results) {
      if (bars.size() == kDrawnMax) break;
      bars.push_back({name_of_placement(result.placement), result.interval,
                      level_of(results, result.placement)});
    }
    html += draw_intervals(row_of(each.aim).title, unit_of(each.aim, results.plan), bars);
  }
  return html + "</div>\n";
}

std::string effects_section(const Results& results, const AimAnalysis& analysis) {
  const auto& factors = results.plan.sweep.factors;
  const auto level = [&factors](std::size_t factor, std::size_t number) {
    return fmt::format("{}={}", row_of(factors[factor].kind).name, factors[factor].levels[number]);
  };
  const std::size_t needed = rounds_for_interval(results.plan.sweep.confidence);
  if (analysis.effects.main.empty() && analysis.effects.unknown.empty()) return {};
  if (analysis.effect_rounds < needed) {
    return fmt::format("<p class='pale'>{}: {}</p>", row_of(analysis.aim).title,
                       too_few_text(analysis.effect_rounds, needed));
  }
  std::vector<Bar> bars;
  bars.reserve(analysis.effects.main.size());
  for (const MainEffect& each : analysis.effects.main)
    bars.push_back({level(each.factor, each.level), each.percent, percent_text(each.percent)});
  std::string html = draw_intervals(
      fmt::format("{}: each level against the first level", row_of(analysis.aim).title), "%", bars);
  std::vector<Bar> together;
  together.reserve(analysis.effects.interactions.size());
  for (const Interaction& each : analysis.effects.interactions) {
    together.push_back({fmt::format("{} {}", level(each.factor, each.level),
                                    level(each.other_factor, each.other_level)),
                        each.percent, percent_text(each.percent)});
  }
  if (together.size() > kDrawnMax) together.resize(kDrawnMax);
  html += draw_intervals(
      fmt::format("{}: pairs of levels, beyond the sum of both", row_of(analysis.aim).title), "%",
      together);
  for (const std::size_t factor : analysis.effects.unknown) {
    html += fmt::format("<p class='pale'>{}: this design cannot tell it from other factors</p>",
                        row_of(factors[factor].kind).name);
  }
  return html;
}

std::string cores_plot(const Results& results, const AimAnalysis& analysis) {
  run::PlotSeries series{.name = "best"};
  for (const PlacementResult& each : analysis.results) {
    const auto& placement = results.plan.placements[each.placement];
    const auto cores = static_cast<double>(placement.cores(results.machine.topology));
    const auto at = std::ranges::find(series.points, cores, &run::PlotPoint::x);
    // The best one is first.
    if (at == series.points.end() && cores > 0) {
      series.points.push_back(
          {cores, each.interval.estimate, each.interval.low, each.interval.high});
    }
  }
  if (series.points.size() < 2) return {};
  std::ranges::sort(series.points, {}, &run::PlotPoint::x);
  return "<h2>Cores</h2><div class='plots'>" +
         run::svg_plot("highest throughput by number of cores", "cores",
                       unit_of(analysis.aim, results.plan), {series}) +
         "</div>\n";
}

std::optional<double> typical(const Results& results, std::size_t placement,
                              std::optional<double> Figures::* value) {
  std::vector<double> values;
  for (std::size_t round = 0; round < results.ledger.rounds(); ++round) {
    const Figures* const figures = results.ledger.find(placement, round);
    if (figures == nullptr) continue;
    if (const std::optional<double>& figure = figures->*value) values.push_back(*figure);
  }
  if (values.empty()) return std::nullopt;
  return median_of(std::move(values));
}

std::optional<double> counter_ratio(const Results& results, std::size_t placement,
                                    const char* above, const char* below) {
  std::vector<double> values;
  for (std::size_t round = 0; round < results.ledger.rounds(); ++round) {
    const Figures* const figures = results.ledger.find(placement, round);
    if (figures == nullptr || !figures->counters.contains(above)) continue;
    const auto under = figures->counters.find(below);
    if (under == figures->counters.end() || under->second <= 0) continue;
    values.push_back(figures->counters.at(above) / under->second);
  }
  if (values.empty()) return std::nullopt;
  return median_of(std::move(values));
}

std::string shown_median(const PlacementResult& result, double confidence) {
  const auto& [estimate, low, high] = result.interval;
  const int digits = estimate < 1000 ? 1 : 0;
  if (result.rounds < rounds_for_interval(confidence))
    return fmt::format("{:.{}f} (no interval)", estimate, digits);
  return fmt::format("{:.{}f} ({:.{}f} – {:.{}f})", estimate, digits, low, digits, high, digits);
}

std::string placement_table(const Results& results, const Analysis& analysis) {
  std::string html =
      "<div class='wide'><table class='sorts'><thead><tr><th class='left'>placement<th "
      "class='left'>levels<th>cores<th>rounds<th>disturbed";
  for (const AimAnalysis& each : analysis.aims) {
    html += fmt::format("<th>{}, {}<th class='left'>against the baseline", row_of(each.aim).title,
                        unit_of(each.aim, results.plan));
  }
  html +=
      "<th>busy cores<th>duty %<th>longest turn µs<th>hops<th>remote buffers<th>preempted<th>"
      "instructions a cycle</tr></thead><tbody>";
  const auto number = [](const std::optional<double>& value, int digits) {
    return value ? cell(fmt::format("{:.{}f}", *value, digits), value) : cell("–", -1);
  };
  for (std::size_t i = 0; i < results.plan.placements.size(); ++i) {
    const auto& placement = results.plan.placements[i];
    const auto cores = static_cast<double>(placement.cores(results.machine.topology));
    html += "<tr>" + cell(name_of_placement(i), static_cast<double>(i), true) +
            cell(level_of(results, i), std::nullopt, true) + number(cores, 0) +
            number(static_cast<double>(results.ledger.throughput(i).size()), 0) +
            number(static_cast<double>(results.ledger.disturbed(i)), 0);
    for (const AimAnalysis& each : analysis.aims) {
      const PlacementResult* const result = each.find(i);
      if (result == nullptr) {
        html += cell("–", -1) + cell(results.ledger.why_failed(i), -1, true);
        continue;
      }
      html +=
          cell(shown_median(*result, results.plan.sweep.confidence), result->interval.estimate) +
          cell(i == 0 ? "baseline" : text_of(result->versus), result->versus.percent.estimate,
               true);
    }
    html += number(typical(results, i, &Figures::busy_cores), 2) +
            number(typical(results, i, &Figures::duty_percent), 0) +
            number(typical(results, i, &Figures::longest_turn_us), 0) +
            number(typical(results, i, &Figures::hops), 0) +
            number(typical(results, i, &Figures::remote_buffers), 0) +
            number(typical(results, i, &Figures::preempted), 0) +
            number(counter_ratio(results, i, "instructions", "cycles"), 2) + "</tr>";
  }
  return html + "</tbody></table></div>\n";
}

std::string drawings(const Results& results, const Analysis& analysis) {
  std::vector<std::size_t> order;
  if (!analysis.aims.empty()) {
    for (const PlacementResult& each : analysis.aims.front().results)
      order.push_back(each.placement);
  }
  std::string html =
      "<p class='pale'>A filled CPU has shards, in the colour of their CPT. A dashed CPU runs the "
      "other nodes.";
  const auto shows = [&results](auto what) {
    return std::ranges::any_of(results.plan.placements, what);
  };
  if (shows([](const Placement& each) { return each.interrupt_cpus.has_value(); }))
    html += " ⚡: interrupts of the network cards.";
  if (shows([](const Placement& each) { return each.busy_neighbour; }))
    html += " ∞: a loop that computes on the same CPU.";
  html += "</p><div class='placements'>";
  for (std::size_t i = 0; i < order.size() && i < kDrawnMax; ++i) {
    html += fmt::format(
        "<div><b>{}</b> <span class='pale'>{}</span>{}</div>", name_of_placement(order[i]),
        html_escaped(level_of(results, order[i])),
        draw_machine(results.machine, results.plan.placements[order[i]], results.plan.others));
  }
  html += "</div>\n";
  if (order.size() > kDrawnMax)
    html += fmt::format("<p class='pale'>The best {} of {}.</p>", kDrawnMax, order.size());
  return html;
}

std::string environment_table(const Json& environment) {
  if (!environment.is_object()) return {};
  std::string html = "<table class='plain'><tbody>";
  for (const auto& [name, value] : environment.items()) {
    html += "<tr>" + cell(name, std::nullopt, true) +
            cell(value.is_string() ? value.get<std::string>() : run::dump_of(value), std::nullopt,
                 true) +
            "</tr>";
  }
  return html + "</tbody></table>";
}

}  // namespace

std::string html_of(const Results& results, const Analysis& analysis) {
  const Plan& plan = results.plan;
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'><meta name='viewport' "
      "content='width=device-width'><title>lnet-pin: {0}</title><style>{1}</style></head><body>\n"
      "<h1>lnet-pin: {0}</h1><p class='pale'>{2}: {3} placements of the {4}, {5} rounds, "
      "intervals of {6:.0f} %</p>\n",
      html_escaped(plan.sweep.name), kPageStyle, html_escaped(results.begun),
      plan.placements.size(), text_of(plan.sweep.measured), results.ledger.rounds(),
      plan.sweep.confidence * 100);
  if (const std::size_t needed = rounds_for_interval(plan.sweep.confidence);
      results.ledger.rounds() < needed)
    html += fmt::format("<p>{}.</p>", too_few_text(results.ledger.rounds(), needed));
  html += interval_plots(results, analysis);
  html += "<h2>Effects</h2><div class='plots'>";
  for (const AimAnalysis& each : analysis.aims)
    html += effects_section(results, each);
  html += "</div>\n";
  if (const AimAnalysis* const throughput = analysis.find(Aim::kThroughput))
    html += cores_plot(results, *throughput);
  html +=
      "<h2>Placements</h2><p class='pale'>Medians of the rounds; a click on a heading sorts.</p>";
  html += placement_table(results, analysis) + drawings(results, analysis);
  html += fmt::format("<p class='pale'>{} of {} measurements were disturbed, {} failed.</p>",
                      analysis.disturbed, analysis.measurements, analysis.failed);
  for (const Gap& gap : gaps_of(plan, results.ledger))
    html += fmt::format("<p>{}</p>", html_escaped(text_of(gap, plan)));
  if (!results.counters_note.empty()) {
    html += fmt::format("<p class='pale'>Processor counters: {}</p>",
                        html_escaped(results.counters_note));
  }
  if (analysis.overhead_percent)
    html += "<p class='pale'>" + harness_text(*analysis.overhead_percent) + "</p>";
  html += "<h2>Sweep</h2><pre>" + html_escaped(results.sweep_text) + "</pre>";
  html += "<h2>This machine</h2>" + environment_table(results.environment);
  return html + fmt::format("<script>{}</script></body></html>\n", kPageScript);
}

}  // namespace plnet::pin
