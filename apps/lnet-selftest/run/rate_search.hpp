// SPDX-License-Identifier: BSD-3-Clause
// Searches the highest rate of requests whose latency keeps a limit: first in steps of a factor
// until one rate keeps it and the next does not, then by bisection on a logarithmic scale.
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
  static constexpr double kLowest = 10;  // with fewer requests a percentile is meaningless
  static constexpr double kFactor = 4;
  static constexpr double kEnough = 1.05;  // ratio between a rate that keeps the limit and one that
                                           // does not
  // From the lowest to the limit of thousands of clients, and back.
  static constexpr unsigned kTriesMax = 24;

  // For this number of clients together, each with its own minimum and maximum.
  explicit RateSearch(std::size_t clients = 1);

  // The rate to try; nothing: the search has ended.
  [[nodiscard]] std::optional<double> rate() const { return rate_; }
  // Reports whether that rate has kept the limit.
  void judge(bool kept);
  // The highest rate that kept it; nothing: none.
  [[nodiscard]] std::optional<double> highest() const { return good_; }
  // All tried rates kept it, up to the clients' limit: the true value may be higher.
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

// True if all repeats of one point had no failures and no drops, began the requested number, and
// the median of their percentiles is within the limit.
[[nodiscard]] bool keeps(const RateGoal& goal, double rate, std::span<const Measurement> repeats);

// The result of one search.
struct HighestRate {
  Point point{};  // its rate is meaningless
  std::optional<double> rate{};
  bool at_least = false;  // no rate missed the limit, and clients have no higher rate
};

}  // namespace plnet::run
