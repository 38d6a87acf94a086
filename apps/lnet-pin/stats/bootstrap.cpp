// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-pin/stats/bootstrap.hpp"

#include <algorithm>
#include <cmath>

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>

#include "apps/lnet-pin/stats/quantile.hpp"
#include "lib/base/random.hpp"

namespace plnet::pin {
namespace {

Random stream_of(std::uint64_t seed, std::size_t resample) {
  SplitMix64 mixer(seed);
  return Random(SplitMix64(mixer.next() + resample).next());
}

}  // namespace

std::vector<double> resample(std::size_t count, const Bootstrap& how, const Figure& figure) {
  std::vector<double> figures(count == 0 ? 0 : how.resamples);
  const auto fill = [&](const oneapi::tbb::blocked_range<std::size_t>& range) {
    std::vector<std::size_t> rounds(count);
    for (std::size_t i = range.begin(); i != range.end(); ++i) {
      Random random = stream_of(how.seed, i);
      for (std::size_t& round : rounds)
        round = static_cast<std::size_t>(random.below(count));
      figures[i] = figure(rounds);
    }
  };
  oneapi::tbb::parallel_for(oneapi::tbb::blocked_range<std::size_t>(0, figures.size()), fill);
  return figures;
}

Interval interval_of(double estimate, std::vector<double> figures, std::size_t count,
                     double confidence) {
  if (count < 2 || figures.empty()) return {estimate, estimate, estimate};
  std::ranges::sort(figures);
  const auto rounds = static_cast<double>(count);
  const double wider = std::sqrt(rounds / (rounds - 1));
  const double tail = normal_cdf(wider * student_quantile((1 - confidence) / 2, rounds - 1));
  return {estimate, quantile_of(figures, tail), quantile_of(figures, 1 - tail)};
}

std::size_t rounds_for_interval(double confidence) {
  std::size_t rounds = 2;
  while (std::ldexp(2.0, -static_cast<int>(rounds)) > 1 - confidence)
    ++rounds;
  return rounds;
}

Interval median_interval(std::span<const double> values, const Bootstrap& how) {
  const auto figure = [values](std::span<const std::size_t> rounds) {
    std::vector<double> drawn;
    drawn.reserve(rounds.size());
    for (const std::size_t round : rounds)
      drawn.push_back(values[round]);
    return median_of(std::move(drawn));
  };
  const double estimate = median_of({values.begin(), values.end()});
  if (values.size() < 2) return {estimate, estimate, estimate};
  return interval_of(estimate, resample(values.size(), how, figure), values.size(), how.confidence);
}

}  // namespace plnet::pin
