// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-selftest/run/compare.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <tuple>

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
  std::vector<std::vector<double>> values{};   // by row, of each complete repeat
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

// An incomplete repeat does not show the usual spread.
std::vector<double> values_of(const Json& point, std::string_view key) {
  std::vector<double> values;
  for (const Json& each : point.at("repeats")) {
    if (each.value("cut_short", false)) continue;
    const bool is_latency = key.ends_with("_us");
    const Json& in = is_latency ? each.value("latency_us", Json::object()) : each;
    const std::string name(is_latency ? key.substr(0, key.find('_')) : key);
    if (in.contains(name)) values.push_back(number_of(in, name.c_str()));
  }
  return values;
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
      point.values.push_back(values_of(each, row.key));
      if (!each.contains(row.key)) continue;
      const Json& spread = each.at(row.key);
      point.figures.back() = Spread{.median = number_of(spread, "median"),
                                    .low = number_of(spread, "low"),
                                    .high = number_of(spread, "high"),
                                    .count = point.values.back().size()};
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

// Student's t for 95 %, by degrees of freedom from 1; beyond the table the normal distribution's.
double t_of(double freedom) {
  constexpr std::array kT{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                          2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086};
  const auto at = static_cast<std::size_t>(std::max(freedom, 1.0));
  return at > kT.size() ? 1.96 : kT[at - 1];
}

struct Sampled {
  double mean = 0;
  double error = 0;  // variance of the mean
  double freedom = 0;
};
Sampled sampled(const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  Sampled all;
  for (const double value : values)
    all.mean += value / count;
  for (const double value : values)
    all.error += (value - all.mean) * (value - all.mean) / (count - 1) / count;
  all.freedom = count - 1;
  return all;
}

// Welch's interval: the spreads of the two reports may differ.
Difference difference_of(const Row& row, const Spread& before, const std::vector<double>& first,
                         const Spread& after, const std::vector<double>& second) {
  Difference difference;
  difference.figure = row.name;
  difference.before = before.median;
  difference.after = after.median;
  difference.percent = percent_between(before.median, after.median);
  difference.percent_low = difference.percent_high = difference.percent;
  difference.verdict = Verdict::kUnknown;
  if (first.size() < 2 || second.size() < 2) return difference;
  const Sampled one = sampled(first);
  const Sampled two = sampled(second);
  if (one.mean <= 0) return difference;
  const double error = one.error + two.error;
  const double freedom =
      error > 0 ? error * error /
                      (one.error * one.error / one.freedom + two.error * two.error / two.freedom)
                : one.freedom + two.freedom;
  const double half = t_of(freedom) * std::sqrt(error) / one.mean * 100;
  difference.percent = percent_between(one.mean, two.mean);
  difference.percent_low = difference.percent - half;
  difference.percent_high = difference.percent + half;
  difference.verdict = Verdict::kSame;
  if (difference.percent_low > 0)
    difference.verdict = row.more_is_better ? Verdict::kBetter : Verdict::kWorse;
  if (difference.percent_high < 0)
    difference.verdict = row.more_is_better ? Verdict::kWorse : Verdict::kBetter;
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
      auto difference =
          difference_of(kRows[row], *first, point.values[row], *second, other->values[row]);
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

// Leaves of both documents that differ, by their paths. A long list would hide what matters.
class Differences {
 public:
  explicit Differences(Comparison& comparison) : comparison_(comparison) {}

  void compare(const std::string& path, const Json& one, const Json& two) {
    if (one == two) return;
    if (!one.is_object() || !two.is_object())
      return note(fmt::format("{}: {} and {}", path, shown(one), shown(two)));
    for (const auto& [name, value] : one.items())
      compare(join(path, name), value, two.value(name, Json()));
    for (const auto& [name, value] : two.items()) {
      if (!one.contains(name)) compare(join(path, name), Json(), value);
    }
  }
  // Texts line by line, whatever the order.
  void compare_lines(const std::string& path, const std::string& one, const std::string& two) {
    const auto first = lines_of(one);
    const auto second = lines_of(two);
    for (const auto& [mine, other, which] :
         {std::tuple(&first, &second, "first"), std::tuple(&second, &first, "second")}) {
      for (const std::string& line : *mine) {
        if (std::ranges::find(*other, line) == other->end())
          note(fmt::format("{}: only in the {}: {}", path, which, line));
      }
    }
  }
  void note(std::string text) {
    if (++notes_ <= kNotesMax) comparison_.notes.push_back(std::move(text));
    if (notes_ == kNotesMax + 1) comparison_.notes.emplace_back("and more");
  }

 private:
  static constexpr std::size_t kNotesMax = 40;

  static std::string join(const std::string& path, const std::string& name) {
    return path.empty() ? label_of(name) : path + ", " + label_of(name);
  }
  static std::string shown(const Json& json) { return json.is_null() ? "none" : dump_of(json); }
  static std::vector<std::string> lines_of(std::string_view text) {
    std::vector<std::string> lines;
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      const std::size_t begin = text.find_first_not_of(' ');
      if (begin < end) lines.emplace_back(text.substr(begin, end - begin));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
  }

  Comparison& comparison_;
  std::size_t notes_ = 0;
};

void add_notes(const Json& before, const Json& after, Comparison& comparison) {
  Differences differences(comparison);
  for (const char* const section : {"environment", "plan"}) {
    Json one = before.value(section, Json::object());
    Json two = after.value(section, Json::object());
    // They name a run, and say nothing of its conditions.
    for (Json* const each : {&one, &two}) {
      for (const char* const key : {"date", "name", "thresholds"})
        each->erase(key);
    }
    differences.compare("", one, two);
  }
  const Json one = before.value("configurations", Json::object());
  const Json two = after.value("configurations", Json::object());
  for (const auto& [node, text] : one.items()) {
    if (two.contains(node))
      differences.compare_lines("configuration of " + node, text.get<std::string>(),
                                two.at(node).get<std::string>());
  }
  for (const auto& [report, which] : {std::pair(&before, "first"), std::pair(&after, "second")}) {
    if (!report->value("complete", false))
      differences.note(fmt::format("the {} report is not complete", which));
  }
}

}  // namespace

std::string_view text_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kSame: return "no difference shown";
    case Verdict::kBetter: return "better";
    case Verdict::kWorse: return "WORSE";
    case Verdict::kUnknown: break;
  }
  return "too few repeats";
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
  std::string text = fmt::format("{:<32} {:<10} {:>12} {:>12} {:>8} {:>18}\n", "point", "", "first",
                                 "second", "+%", "95 % interval");
  for (const Difference& each : comparison.differences) {
    const std::string interval =
        each.verdict == Verdict::kUnknown
            ? "-"
            : fmt::format("{:+.1f} to {:+.1f}", each.percent_low, each.percent_high);
    text += fmt::format("{:<32} {:<10} {:>12.2f} {:>12.2f} {:>+8.1f} {:>18}  {}\n", each.point,
                        each.figure, each.before, each.after, each.percent, interval,
                        text_of(each.verdict));
  }
  for (const std::string& each : comparison.only_one)
    text += "only in one of them: " + each + '\n';
  for (const std::string& each : comparison.notes)
    text += "not the same: " + each + '\n';
  return text;
}

}  // namespace plnet::run
