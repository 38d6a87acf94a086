// SPDX-License-Identifier: BSD-3-Clause
#include "apps/selftest-run/compare.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "apps/selftest-run/report.hpp"

namespace plnet::run {
namespace {

struct Row {
  const char* key;
  const char* name;
  bool more_is_better;
};
constexpr std::array<Row, 4> kRows{{{"throughput_mibps", "MiB/s", true},
                                    {"rpc_rate", "RPC/s", true},
                                    {"p50_us", "p50 us", false},
                                    {"p99_us", "p99 us", false}}};

struct ReadSpread {
  Spread spread;
  std::size_t repeats = 0;
};
struct ReadPoint {
  std::string name;
  std::vector<std::optional<ReadSpread>> figures;  // by row
};

double number_of(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number())
    throw nlohmann::json::other_error::create(
        501, fmt::format("field '{}' is missing or no number", key), nullptr);
  return found->get<double>();
}

// Throws what the library throws for whatever is not as reports are.
std::vector<ReadPoint> read_points(const Json& report) {
  std::vector<ReadPoint> points;
  for (const Json& each : report.at("points")) {
    ReadPoint point;
    const auto size = each.at("size").get<std::uint32_t>();
    point.name = fmt::format("{}{}, concurrency {}", each.at("test").get<std::string>(),
                             size > 0 ? " " + text_of_size(size) : "",
                             each.at("concurrency").get<std::uint32_t>());
    if (each.contains("rate")) point.name += fmt::format(", {:.8g}/s", number_of(each, "rate"));
    for (const Row& row : kRows) {
      point.figures.emplace_back();
      if (!each.contains(row.key)) continue;
      const Json& spread = each.at(row.key);
      point.figures.back() = ReadSpread{{.median = number_of(spread, "median"),
                                         .low = number_of(spread, "low"),
                                         .high = number_of(spread, "high")},
                                        each.at("repeats").size()};
    }
    points.push_back(std::move(point));
  }
  return points;
}

Difference difference_of(const Row& row, const ReadSpread& before, const ReadSpread& after) {
  Difference difference;
  difference.figure = row.name;
  difference.before = before.spread.median;
  difference.after = after.spread.median;
  difference.spread_percent = std::max(before.spread.percent(), after.spread.percent());
  if (before.spread.median > 0) {
    difference.percent = (after.spread.median - before.spread.median) / before.spread.median * 100;
  }
  if (before.repeats < 2 || after.repeats < 2) {
    difference.verdict = Verdict::kUnknown;
  } else if (after.spread.low > before.spread.high) {
    difference.verdict = row.more_is_better ? Verdict::kBetter : Verdict::kWorse;
  } else if (after.spread.high < before.spread.low) {
    difference.verdict = row.more_is_better ? Verdict::kWorse : Verdict::kBetter;
  }
  return difference;
}

Comparison compare_points(const std::vector<ReadPoint>& before,
                          const std::vector<ReadPoint>& after) {
  Comparison comparison;
  for (const ReadPoint& point : before) {
    const auto other = std::ranges::find(after, point.name, &ReadPoint::name);
    if (other == after.end()) {
      comparison.only_one.push_back(point.name + " (first)");
      continue;
    }
    for (std::size_t row = 0; row < kRows.size(); ++row) {
      const auto& first = point.figures[row];
      const auto& second = other->figures[row];
      if (!first || !second) continue;
      // Pings carry nothing.
      if (row == 0 && point.name.starts_with("ping")) continue;
      auto difference = difference_of(kRows[row], *first, *second);
      difference.point = point.name;
      comparison.differences.push_back(std::move(difference));
    }
  }
  for (const ReadPoint& point : after) {
    if (std::ranges::find(before, point.name, &ReadPoint::name) == before.end())
      comparison.only_one.push_back(point.name + " (second)");
  }
  return comparison;
}

void add_notes(const Json& before, const Json& after, Comparison& comparison) {
  const auto note = [&](const char* section, const char* key) {
    const Json one = before.value(section, Json::object()).value(key, Json());
    const Json two = after.value(section, Json::object()).value(key, Json());
    if (one != two)
      comparison.notes.push_back(fmt::format("{}: {} and {}", key, one.dump(), two.dump()));
  };
  for (const char* const key : {"version", "host", "cpu", "kernel", "governor"})
    note("environment", key);
  for (const char* const key : {"from", "to", "check", "distribute", "duration_s"})
    note("plan", key);
  for (const auto& [report, which] : {std::pair(&before, "first"), std::pair(&after, "second")}) {
    if (!report->value("complete", false))
      comparison.notes.push_back(fmt::format("the {} report is not complete", which));
  }
}

}  // namespace

std::string_view text_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kSame: return "within spread";
    case Verdict::kBetter: return "better";
    case Verdict::kWorse: return "WORSE";
    case Verdict::kUnknown: break;
  }
  return "unknown spread";
}

bool Comparison::any_worse() const {
  return std::ranges::find(differences, Verdict::kWorse, &Difference::verdict) != differences.end();
}

Outcome<Comparison> compare(const Json& before, const Json& after) {
  try {
    for (const auto& [report, which] : {std::pair(&before, "first"), std::pair(&after, "second")}) {
      if (!report->is_object() || report->value("format", "") != kReportFormat) {
        return failure(Errc::kInvalid,
                       fmt::format("the {} file is no report of lnet-selftest run: expected "
                                   "\"format\": \"{}\"",
                                   which, kReportFormat));
      }
    }
    if (before.value("simulated", "").empty() != after.value("simulated", "").empty())
      return failure(Errc::kInvalid, "one report is of a simulation and the other of machines");
    Comparison comparison = compare_points(read_points(before), read_points(after));
    add_notes(before, after, comparison);
    return comparison;
  } catch (const nlohmann::json::exception& error) {
    return failure(Errc::kInvalid, fmt::format("a report is damaged: {}", error.what()));
  }
}

std::string text_of(const Comparison& comparison) {
  std::string text = fmt::format("{:<32} {:<8} {:>12} {:>12} {:>8} {:>8}\n", "point", "", "first",
                                 "second", "+%", "spread%");
  for (const Difference& each : comparison.differences) {
    text += fmt::format("{:<32} {:<8} {:>12.2f} {:>12.2f} {:>+8.1f} {:>8.1f}  {}\n", each.point,
                        each.figure, each.before, each.after, each.percent, each.spread_percent,
                        text_of(each.verdict));
  }
  for (const std::string& each : comparison.only_one)
    text += "only in one of them: " + each + '\n';
  for (const std::string& each : comparison.notes)
    text += "not the same: " + each + '\n';
  return text;
}

}  // namespace plnet::run
