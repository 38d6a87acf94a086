// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-selftest/run/compare.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "apps/lnet-selftest/run/report.hpp"

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

struct ReadPoint {
  std::string name;
  std::vector<std::optional<Spread>> figures;  // by row
};
struct ReadHighest {
  std::string name;
  double rate = 0;  // 0: none
};

double number_of(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number())
    throw nlohmann::json::other_error::create(
        501, fmt::format("field '{}' is missing or no number", key), nullptr);
  return found->get<double>();
}

// Old reports have no count; an incomplete repeat does not show the usual spread.
std::size_t count_of(const Json& spread, const Json& point) {
  if (const auto found = spread.find("count"); found != spread.end())
    return found->get<std::size_t>();
  return static_cast<std::size_t>(std::ranges::count_if(
      point.at("repeats"), [](const Json& each) { return !each.value("cut_short", false); }));
}

std::string name_of(const Json& point) {
  const auto size = point.at("size").get<std::uint32_t>();
  return fmt::format("{}{}, concurrency {}", point.at("test").get<std::string>(),
                     size > 0 ? " " + text_of_size(size) : "",
                     point.at("concurrency").get<std::uint32_t>());
}

// Throws the exceptions of the library for invalid reports.
std::vector<ReadPoint> read_points(const Json& report) {
  std::vector<ReadPoint> points;
  for (const Json& each : report.at("points")) {
    ReadPoint point;
    point.name = name_of(each);
    if (each.contains("rate")) point.name += fmt::format(", {:.8g}/s", number_of(each, "rate"));
    for (const Row& row : kRows) {
      point.figures.emplace_back();
      if (!each.contains(row.key)) continue;
      const Json& spread = each.at(row.key);
      point.figures.back() = Spread{.median = number_of(spread, "median"),
                                    .low = number_of(spread, "low"),
                                    .high = number_of(spread, "high"),
                                    .count = count_of(spread, each)};
    }
    points.push_back(std::move(point));
  }
  return points;
}

std::vector<ReadHighest> read_highest(const Json& report) {
  std::vector<ReadHighest> all;
  for (const Json& each : report.value("highest_rates", Json::array())) {
    const bool none = each.at("rate").is_null();
    all.push_back({name_of(each) + " " + each.at("goal").get<std::string>(),
                   none ? 0 : number_of(each, "rate")});
  }
  return all;
}

double percent_between(double before, double after) {
  return before > 0 ? (after - before) / before * 100 : 0;
}

Difference difference_of(const Row& row, const Spread& before, const Spread& after) {
  Difference difference;
  difference.figure = row.name;
  difference.before = before.median;
  difference.after = after.median;
  difference.spread_percent = std::max(before.percent(), after.percent());
  difference.percent = percent_between(before.median, after.median);
  if (before.count < 2 || after.count < 2) {
    difference.verdict = Verdict::kUnknown;
  } else if (after.low > before.high) {
    difference.verdict = row.more_is_better ? Verdict::kBetter : Verdict::kWorse;
  } else if (after.high < before.low) {
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
      // Pings have no payload.
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

// Each is the result of one search, whose spread is unknown.
void compare_highest(const std::vector<ReadHighest>& before, const std::vector<ReadHighest>& after,
                     Comparison& comparison) {
  for (const ReadHighest& each : before) {
    const auto other = std::ranges::find(after, each.name, &ReadHighest::name);
    if (other == after.end()) continue;
    Difference difference;
    difference.point = each.name;
    difference.figure = "highest /s";
    difference.before = each.rate;
    difference.after = other->rate;
    difference.percent = percent_between(each.rate, other->rate);
    difference.verdict = Verdict::kUnknown;
    comparison.differences.push_back(std::move(difference));
  }
}

void add_notes(const Json& before, const Json& after, Comparison& comparison) {
  const auto note = [&](const char* section, const char* key) {
    const Json one = before.value(section, Json::object()).value(key, Json());
    const Json two = after.value(section, Json::object()).value(key, Json());
    if (one != two)
      comparison.notes.push_back(fmt::format("{}: {} and {}", key, dump_of(one), dump_of(two)));
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
    compare_highest(read_highest(before), read_highest(after), comparison);
    add_notes(before, after, comparison);
    return comparison;
  } catch (const nlohmann::json::exception& error) {
    return failure(Errc::kInvalid, fmt::format("a report is damaged: {}", error.what()));
  }
}

std::string text_of(const Comparison& comparison) {
  std::string text = fmt::format("{:<32} {:<10} {:>12} {:>12} {:>8} {:>8}\n", "point", "", "first",
                                 "second", "+%", "spread%");
  for (const Difference& each : comparison.differences) {
    text += fmt::format("{:<32} {:<10} {:>12.2f} {:>12.2f} {:>+8.1f} {:>8.1f}  {}\n", each.point,
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
