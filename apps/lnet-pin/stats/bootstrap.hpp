// SPDX-License-Identifier: BSD-3-Clause
// Bootstrap intervals. Each resample has its own random stream, so that the result depends on the
// seed only, not on the number or the order of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace plnet::pin {

struct Interval {
  double estimate = 0;
  double low = 0;
  double high = 0;

  [[nodiscard]] bool excludes(double value) const { return value < low || value > high; }
  bool operator==(const Interval&) const = default;
};

struct Bootstrap {
  std::uint64_t seed = 1;
  unsigned resamples = 2000;
  double confidence = 0.95;
};

// Maps indices of rounds, with repetition, to one figure.
using Figure = std::function<double(std::span<const std::size_t> rounds)>;

// One figure for each resample of `count` rounds, in the order of the resamples.
[[nodiscard]] std::vector<double> resample(std::size_t count, const Bootstrap& how,
                                           const Figure& figure);

// The interval from resampled figures. Few rounds vary less than their population, so the
// percentiles are those of a wider level (Hesterberg 2015, "expanded percentile interval").
[[nodiscard]] Interval interval_of(double estimate, std::vector<double> figures, std::size_t count,
                                   double confidence);

// Minimum number of rounds for an interval of a median: with fewer, all of them are on one side of
// the true median more often than the confidence allows, so that no interval of them can hold it.
[[nodiscard]] std::size_t rounds_for_interval(double confidence);

// With fewer than two values there is no interval: low and high are the estimate.
[[nodiscard]] Interval median_interval(std::span<const double> values, const Bootstrap& how);

}  // namespace plnet::pin
