// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-pin/stats/paired.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "apps/lnet-pin/stats/quantile.hpp"
#include "lib/base/check.hpp"
#include "lib/base/random.hpp"

namespace plnet::pin {
namespace {

constexpr double kPower = 0.8;
// The share of the allowed error that the tests use: with all of it, the actual error rate would
// exceed the allowed one in half of the series of comparisons.
constexpr double kErrorShare = 0.5;
constexpr std::size_t kExactPairsMax = 14;  // 16384 combinations of signs
constexpr unsigned kDrawnSigns = 20000;

// The probability that random signs make the sum of the differences at least as large as observed.
double sign_flip_probability(std::span<const double> differences, std::uint64_t seed) {
  const double seen = std::abs(std::accumulate(differences.begin(), differences.end(), 0.0));
  const double floor = seen * (1 - 1e-12);  // sums of the same numbers in another order count as
                                            // equal
  const auto as_large = [&](auto negative) {
    double sum = 0;
    for (std::size_t i = 0; i < differences.size(); ++i)
      sum += negative(i) ? -differences[i] : differences[i];
    return std::abs(sum) >= floor;
  };
  if (differences.size() <= kExactPairsMax) {
    const std::uint64_t ways = std::uint64_t{1} << differences.size();
    std::uint64_t count = 0;
    for (std::uint64_t signs = 0; signs < ways; ++signs)
      count += as_large([signs](std::size_t i) { return ((signs >> i) & 1U) != 0; }) ? 1 : 0;
    return static_cast<double>(count) / static_cast<double>(ways);
  }
  Random random = Random(seed).fork("signs");
  unsigned count = 1;  // the observed signs are one of the combinations
  for (unsigned i = 0; i < kDrawnSigns; ++i)
    count += as_large([&random](std::size_t) { return (random.next() >> 63U) != 0; }) ? 1U : 0U;
  return static_cast<double>(count) / (kDrawnSigns + 1);
}

// The allowed error of one of several comparisons.
double error_of(double confidence, std::size_t comparisons) {
  return kErrorShare * (1 - confidence) /
         static_cast<double>(std::max<std::size_t>(comparisons, 1));
}

double detectable(std::span<const double> differences, double confidence) {
  const auto pairs = static_cast<double>(differences.size());
  const double error = deviation_of(differences) / std::sqrt(pairs);
  const double steps =
      student_quantile(1 - (1 - confidence) / 2, pairs - 1) + student_quantile(kPower, pairs - 1);
  return percent_of_log(steps * error);
}

}  // namespace

std::string_view text_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kTooFew: return "too few rounds";
    case Verdict::kEqual: return "no difference seen";
    case Verdict::kHigher: return "higher";
    case Verdict::kLower: return "lower";
  }
  return "unknown";
}

std::size_t pairs_needed(double confidence, std::size_t comparisons) {
  const double allowed = error_of(confidence, comparisons);
  std::size_t pairs = 2;
  while (std::ldexp(2.0, -static_cast<int>(pairs)) > allowed)
    ++pairs;
  return pairs;
}

Comparison compare(std::span<const double> base, std::span<const double> other,
                   const Bootstrap& how, std::size_t comparisons) {
  PLNET_CHECK(base.size() == other.size(), "pairs have two sides");
  Comparison result{.pairs = base.size(), .needed = pairs_needed(how.confidence, comparisons)};
  std::vector<double> differences;
  for (std::size_t i = 0; i < base.size(); ++i) {
    PLNET_CHECK(base[i] > 0 && other[i] > 0, "ratios are of figures above 0");
    differences.push_back(std::log(other[i] / base[i]));
  }
  const double error = error_of(how.confidence, comparisons);
  Bootstrap simultaneous = how;
  simultaneous.confidence = 1 - error;
  const Interval log_ratio = median_interval(differences, simultaneous);
  result.percent = {percent_of_log(log_ratio.estimate), percent_of_log(log_ratio.low),
                    percent_of_log(log_ratio.high)};
  if (differences.size() < 2) return result;
  result.detectable_percent = detectable(differences, simultaneous.confidence);
  const double alone = sign_flip_probability(differences, how.seed);
  result.probability =
      std::min(1.0, static_cast<double>(std::max<std::size_t>(comparisons, 1)) * alone);
  if (differences.size() < result.needed) return result;
  const bool differs = result.percent.excludes(0) && alone <= error;
  if (!differs)
    result.verdict = Verdict::kEqual;
  else
    result.verdict = result.percent.estimate > 0 ? Verdict::kHigher : Verdict::kLower;
  return result;
}

}  // namespace plnet::pin
