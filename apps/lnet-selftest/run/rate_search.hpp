// SPDX-License-Identifier: BSD-3-Clause
// The highest rate of requests whose latency keeps a limit: first in steps of a factor until one
// rate keeps it and the next does not, then halves of what lies between, as rates go by ratios.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "apps/lnet-selftest/run/figures.hpp"
#include "apps/lnet-selftest/run/plan.hpp"

namespace plnet::run {

class RateSearch {
 public:
  static constexpr double kFirst = 1000;
  static constexpr double kLowest = 10;  // of fewer a percentile says nothing
  static constexpr double kFactor = 4;
  static constexpr double kEnough = 1.05;  // between what keeps the limit and what does not
  // To what thousands of clients can be asked for, and back.
  static constexpr unsigned kTriesMax = 24;

  // Of so many clients together, each of which has a least and a most of its own.
  explicit RateSearch(std::size_t clients = 1);

  // The rate to try; nothing: it is over.
  [[nodiscard]] std::optional<double> rate() const { return rate_; }
  // Whether that rate has kept the limit.
  void judge(bool kept);
  // The highest that has; nothing: none.
  [[nodiscard]] std::optional<double> highest() const { return good_; }
  // All that were tried have, up to what clients can be asked for: it may well be higher.
  [[nodiscard]] bool at_top() const { return good_ && !bad_; }

 private:
  [[nodiscard]] std::optional<double> next() const;

  double lowest_;
  double top_;
  std::optional<double> rate_;
  std::optional<double> good_;
  std::optional<double> bad_;
  unsigned tries_ = 0;
};

// All repeats of one point: nothing failed or was dropped, what was asked for began, and the median
// of their percentiles is within the limit.
[[nodiscard]] bool keeps(const RateGoal& goal, double rate, std::span<const Measurement> repeats);

// What came of one search.
struct HighestRate {
  Point point{};  // its rate is of no meaning
  std::optional<double> rate{};
  bool at_least = false;  // no rate has missed the limit, and clients cannot be asked for more
};

}  // namespace plnet::run
