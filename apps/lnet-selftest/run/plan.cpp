// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-selftest/run/plan.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "apps/lnet-selftest/lst/nid_words.hpp"
#include "apps/lnet-selftest/run/rate_search.hpp"
#include "lib/base/counted.hpp"
#include "lib/base/whole_number.hpp"

namespace plnet::run {
namespace {

std::unexpected<Error> wrong(std::string_view text, std::string_view expected) {
  return failure(Errc::kInvalid, fmt::format("'{}', expected {}", text, expected));
}

template <class Table>
auto word_of(std::string_view text, const Table& table) -> Outcome<decltype(table[0].second)> {
  std::string known;
  for (const auto& [name, value] : table) {
    if (text == name) return value;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", name);
  }
  return wrong(text, fmt::format("one of {}", known));
}

template <class Table, class Value>
std::string_view name_in(const Table& table, Value value) {
  for (const auto& [name, each] : table) {
    if (each == value) return name;
  }
  return "unknown";
}

Outcome<std::vector<std::string>> expand(const std::vector<std::string>& words,
                                         std::string_view side) {
  std::vector<std::string> nodes;
  for (const std::string& word : words) {
    auto some = lst::read_nodes(word);
    if (!some) return failure(Errc::kInvalid, fmt::format("{}: {}", side, some.error().what));
    nodes.insert(nodes.end(), some->begin(), some->end());
  }
  if (nodes.empty()) return failure(Errc::kMissing, fmt::format("{}: no nodes are named", side));
  if (nodes.size() > lst::kNodesOfListMax)
    return failure(Errc::kInvalid, fmt::format("{}: too many nodes", side));
  std::vector<std::string> sorted = nodes;
  std::ranges::sort(sorted);
  if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end())
    return failure(Errc::kInvalid, fmt::format("{}: '{}' is named twice", side, *twice));
  return nodes;
}

// Keys the sockets by the consoles' names of nodes.
Outcome<void> finish_open_loop(Plan& plan) {
  if (plan.highest_rate && !plan.rates.empty())
    return failure(Errc::kInvalid, "rates and highest_rate: a run has one of them");
  std::map<std::string, std::string> control;
  for (const auto& [word, socket] : plan.control) {
    const auto nodes = lst::read_nodes(word);
    if (!nodes) return failure(Errc::kInvalid, fmt::format("control: {}", nodes.error().what));
    if (nodes->size() != 1)
      return failure(Errc::kInvalid, fmt::format("control: '{}' is not one node", word));
    control[nodes->front()] = socket;
  }
  plan.control = std::move(control);
  for (const double rate : plan.rates) {
    const double each = rate / static_cast<double>(plan.from.size());
    if (rate > 0 && selftest::is_pace(each)) continue;
    return failure(
        Errc::kInvalid,
        fmt::format("rates: {} a second for {}, expected {} to {:.0f} for each", rate,
                    counted(plan.from.size(), "client"), selftest::kPaceMin, selftest::kPaceMax));
  }
  return {};
}

}  // namespace

std::string_view text_of(Operation operation) {
  return name_in(kOperations, operation);
}

std::string_view text_of(selftest::Check check) {
  return name_in(kChecks, check);
}

std::string text_of_size(std::uint32_t size) {
  constexpr std::uint32_t kKib = 1024;
  if (size % (kKib * kKib) == 0 && size > 0) return fmt::format("{}M", size / (kKib * kKib));
  if (size % kKib == 0 && size > 0) return fmt::format("{}k", size / kKib);
  return std::to_string(size);
}

std::string_view text_of(selftest::Arrivals arrivals) {
  return name_in(kArrivals, arrivals);
}

std::string text_of(const RateGoal& goal) {
  return fmt::format("{}:{}", name_in(kPercentiles, goal.percentile), goal.limit_us);
}

std::string text_of(const Point& point) {
  std::string text(text_of(point.operation));
  if (point.size > 0) text += ' ' + text_of_size(point.size);
  text += fmt::format(", concurrency {}", point.concurrency);
  if (point.rate > 0) text += fmt::format(", {:.8g}/s", point.rate);
  return text;
}

std::vector<Point> points_of(const Plan& plan) {
  std::vector<Point> points;
  std::vector<double> rates = plan.rates;
  if (plan.highest_rate) rates = {RateSearch(plan.from.size()).rate().value_or(RateSearch::kFirst)};
  if (rates.empty()) rates = {0};
  for (const Operation operation : plan.tests) {
    const std::vector<std::uint32_t> none{0};
    for (const std::uint32_t size : operation == Operation::kPing ? none : plan.sizes) {
      for (const std::uint32_t concurrency : plan.concurrencies) {
        for (const double rate : rates)
          points.push_back({operation, size, concurrency, rate});
      }
    }
  }
  return points;
}

selftest::AddTest test_of(const Plan& plan, const Point& point, std::string batch, std::string from,
                          std::string to) {
  selftest::AddTest test{.batch = std::move(batch),
                         .from = std::move(from),
                         .to = std::move(to),
                         .test = selftest::PingTest{},
                         .concurrency = point.concurrency,
                         .distribute = plan.distribution.distribute,
                         .span = plan.distribution.span,
                         .nodes_know_discard = plan.allow_discard};
  if (point.operation == Operation::kPing) return test;
  test.test = selftest::BrwTest{.operation = point.operation == Operation::kRead
                                                 ? selftest::BulkOperation::kRead
                                                 : selftest::BulkOperation::kWrite,
                                .check = plan.check,
                                .length = point.size};
  return test;
}

Outcome<void> finish_plan(Plan& plan) {
  auto from = expand(plan.from_words, "from");
  if (!from) return std::unexpected(std::move(from.error()));
  auto to = expand(plan.to_words, "to");
  if (!to) return std::unexpected(std::move(to.error()));
  plan.from = std::move(*from);
  plan.to = std::move(*to);
  if (plan.name.empty() || plan.name.size() > selftest::kConsoleNameMax) {
    return failure(Errc::kInvalid, fmt::format("name: '{}', expected 1 to {} letters", plan.name,
                                               selftest::kConsoleNameMax));
  }
  if (auto done = finish_open_loop(plan); !done) return done;
  if (plan.distribution.span > plan.to.size()) {
    return failure(Errc::kInvalid,
                   fmt::format("distribute: each client is to have {} servers, and there are {}",
                               plan.distribution.span, plan.to.size()));
  }
  if (plan.duration < kDurationMin)
    return failure(Errc::kInvalid, "duration: expected at least 100ms, the resolution of nodes");
  const std::size_t points = points_of(plan).size();
  if (points == 0 || points > kPointsMax)
    return failure(Errc::kInvalid, fmt::format("{} points, expected 1 to {}", points, kPointsMax));
  // Requests that would crash nodes are refused before anything is sent.
  for (const Point& point : points_of(plan)) {
    const auto sound =
        selftest::judge(test_of(plan, point, "batch", "from", "to"), selftest::kFeaturesKnown);
    if (!sound)
      return failure(Errc::kInvalid, fmt::format("{}: {}", text_of(point), sound.error().why));
  }
  return {};
}

Outcome<std::uint32_t> read_size(std::string_view text) {
  std::string_view digits = text;
  std::uint64_t unit = 1;
  if (text.ends_with('k') || text.ends_with('K')) unit = 1024;
  if (text.ends_with('m') || text.ends_with('M')) unit = std::uint64_t{1024} * 1024;
  if (unit != 1) digits.remove_suffix(1);
  const auto number = whole_number<std::uint32_t>(digits);
  const std::uint64_t size = number ? *number * unit : 0;
  if (size == 0 || size > selftest::kBulkLengthMax || size % selftest::kBulkWord != 0)
    return wrong(text, "a multiple of 8 bytes up to 1M, like 4096, 4k or 1M");
  return static_cast<std::uint32_t>(size);
}

Outcome<Duration> read_duration(std::string_view text) {
  constexpr std::string_view kExpected = "a time like 5, 0.5s, 500ms or 2m, at most a day";
  std::string_view digits = text;
  double unit = 1;
  if (text.ends_with("ms")) {
    unit = 1e-3;
    digits.remove_suffix(2);
  } else if (text.ends_with('s') || text.ends_with('m')) {
    unit = text.back() == 'm' ? 60 : 1;
    digits.remove_suffix(1);
  }
  const auto number = whole_number<double>(digits);
  if (!number || !std::isfinite(*number) || *number < 0) return wrong(text, kExpected);
  const std::chrono::duration<double> seconds(*number * unit);
  if (seconds > kDurationMax) return wrong(text, kExpected);
  return std::chrono::duration_cast<Duration>(seconds);
}

Outcome<std::uint32_t> read_concurrency(std::string_view text) {
  const auto number = whole_number<std::uint32_t>(text);
  if (!number || *number == 0 || *number > selftest::kConcurrencyMax)
    return wrong(text, fmt::format("a number from 1 to {}", selftest::kConcurrencyMax));
  return *number;
}

Outcome<double> read_rate(std::string_view text) {
  std::string_view digits = text;
  double unit = 1;
  if (text.ends_with('k')) unit = 1e3;
  if (text.ends_with('M')) unit = 1e6;
  if (unit != 1) digits.remove_suffix(1);
  const auto number = whole_number<double>(digits);
  if (!number || !std::isfinite(*number) || *number <= 0)
    return wrong(text, "requests a second like 500, 50k or 1.5M");
  return *number * unit;
}

Outcome<selftest::Arrivals> read_arrivals(std::string_view text) {
  return word_of(text, kArrivals);
}

Outcome<Percentile> read_percentile(std::string_view text) {
  return word_of(text, kPercentiles);
}

Outcome<RateGoal> read_goal(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos)
    return wrong(text, "a percentile and microseconds like p99:200");
  const auto percentile = read_percentile(text.substr(0, colon));
  if (!percentile) return std::unexpected(percentile.error());
  const auto limit = read_amount(text.substr(colon + 1));
  if (!limit) return std::unexpected(limit.error());
  if (*limit <= 0) return wrong(text, "a limit above 0, like p99:200");
  return RateGoal{*percentile, *limit};
}

Outcome<std::pair<std::string, std::string>> read_control(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals + 1 == text.size())
    return wrong(text, "a node and its control socket like 10.0.0.1@tcp=/run/plnet/selftest.sock");
  return std::pair(std::string(text.substr(0, equals)), std::string(text.substr(equals + 1)));
}

Outcome<Operation> read_operation(std::string_view text) {
  return word_of(text, kOperations);
}

Outcome<selftest::Check> read_check(std::string_view text) {
  return word_of(text, kChecks);
}

Outcome<unsigned> read_repeats(std::string_view text) {
  const auto number = whole_number<unsigned>(text);
  if (!number || *number == 0 || *number > kRepeatsMax)
    return wrong(text, fmt::format("a number from 1 to {}", kRepeatsMax));
  return *number;
}

Outcome<double> read_amount(std::string_view text) {
  const auto number = whole_number<double>(text);
  if (!number || !std::isfinite(*number) || *number < 0)
    return wrong(text, "a number that is not negative");
  return *number;
}

Outcome<std::uint64_t> read_count(std::string_view text) {
  if (const auto number = whole_number<std::uint64_t>(text)) return *number;
  return wrong(text, "a whole number that is not negative");
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> words(1);
  unsigned depth = 0;
  for (const char letter : text) {
    if (letter == '[') ++depth;
    if (letter == ']' && depth > 0) --depth;
    if (letter == ',' && depth == 0) {
      words.emplace_back();
    } else {
      words.back() += letter;
    }
  }
  return words;
}

}  // namespace plnet::run
