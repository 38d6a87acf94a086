// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-pin/report/report.hpp"

namespace plnet::pin {
namespace {

Json interval_json(const Interval& interval) {
  return {{"estimate", interval.estimate}, {"low", interval.low}, {"high", interval.high}};
}

// Without "low" and "high" if there are too few rounds for an interval.
Json interval_json(const Interval& interval, std::size_t rounds, std::size_t needed) {
  if (rounds >= needed) return interval_json(interval);
  return {{"estimate", interval.estimate}};
}

Json comparison_json(const Comparison& comparison) {
  return {{"percent", interval_json(comparison.percent, comparison.pairs, comparison.needed)},
          {"probability", comparison.probability},
          {"verdict", text_of(comparison.verdict)},
          {"detectable_percent", comparison.detectable_percent},
          {"pairs", comparison.pairs},
          {"pairs_needed", comparison.needed}};
}

Json effects_json(const AimAnalysis& analysis, const Sweep& sweep) {
  const auto name = [&sweep](std::size_t factor) {
    return std::string(row_of(sweep.factors[factor].kind).name);
  };
  const auto level = [&sweep](std::size_t factor, std::size_t number) {
    return sweep.factors[factor].levels[number];
  };
  const std::size_t needed = rounds_for_interval(sweep.confidence);
  const auto interval = [&](const Interval& percent) {
    return interval_json(percent, analysis.effect_rounds, needed);
  };
  Json json{{"rounds", analysis.effect_rounds}};
  json["main"] = Json::array();
  for (const MainEffect& each : analysis.effects.main) {
    json["main"].push_back({{"factor", name(each.factor)},
                            {"level", level(each.factor, each.level)},
                            {"against", level(each.factor, 0)},
                            {"percent", interval(each.percent)}});
  }
  json["interactions"] = Json::array();
  for (const Interaction& each : analysis.effects.interactions) {
    json["interactions"].push_back({{"factor", name(each.factor)},
                                    {"level", level(each.factor, each.level)},
                                    {"other_factor", name(each.other_factor)},
                                    {"other_level", level(each.other_factor, each.other_level)},
                                    {"percent", interval(each.percent)}});
  }
  json["unknown"] = Json::array();
  for (const std::size_t factor : analysis.effects.unknown)
    json["unknown"].push_back(name(factor));
  for (const auto& [a, b] : analysis.effects.unknown_pairs)
    json["unknown"].push_back({name(a), name(b)});
  return json;
}

}  // namespace

Json json_of(const Results& results, const Analysis& analysis) {
  Json json{
      {"format", "lnet-pin report 1"}, {"version", results.version}, {"begun", results.begun}};
  json["plan"] = json_of(results.plan);
  json["confidence"] = results.plan.sweep.confidence;
  json["rounds"] = results.ledger.rounds();
  json["measurements"] = analysis.measurements;
  json["disturbed"] = analysis.disturbed;
  json["failed_measurements"] = analysis.failed;
  if (analysis.overhead_percent) json["overhead_percent"] = *analysis.overhead_percent;
  json["counters"] = results.counters_note;
  const std::size_t needed = rounds_for_interval(results.plan.sweep.confidence);
  json["rounds_needed"] = needed;
  json["aims"] = Json::object();
  for (const AimAnalysis& each : analysis.aims) {
    const AimRow& row = row_of(each.aim);
    Json aim{{"unit", unit_of(each.aim, results.plan)}, {"higher_is_better", row.higher_is_better}};
    aim["placements"] = Json::array();
    for (const PlacementResult& result : each.results) {
      Json one{{"placement", name_of_placement(result.placement)},
               {"rounds", result.rounds},
               {"median", interval_json(result.interval, result.rounds, needed)}};
      if (result.placement != 0) one["versus_baseline"] = comparison_json(result.versus);
      aim["placements"].push_back(std::move(one));
    }
    aim["effects"] = effects_json(each, results.plan.sweep);
    json["aims"][std::string(row.name)] = std::move(aim);
  }
  json["failed"] = Json::object();
  json["not_measured"] = Json::object();
  for (const Gap& gap : gaps_of(results.plan, results.ledger))
    json[gap.failed ? "failed" : "not_measured"][name_of_placement(gap.placement)] = gap.why;
  json["machine"] = json_of(results.machine);
  json["environment"] = results.environment;
  return json;
}

}  // namespace plnet::pin
