// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-pin/stats/quantile.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <numeric>

#include "lib/base/check.hpp"

namespace plnet::pin {
namespace {

constexpr unsigned kBisections = 60;
constexpr double kFarthest = 1e6;  // beyond every requested quantile
constexpr unsigned kPanels = 100;

// std::lgamma() writes the sign to a global variable.
double log_gamma(double x) {
  int sign = 0;
  return ::lgamma_r(x, &sign);
}

// P(0 < T < t). With t = sqrt(freedom) tan(angle) the density becomes a power of a cosine, which
// Simpson's rule integrates to more digits than an interval of measurements needs.
double student_half(double t, double freedom) {
  const double end = std::atan(t / std::sqrt(freedom));
  const double step = end / kPanels;
  double sum = 0;
  for (unsigned i = 0; i <= kPanels; ++i) {
    const double weight = i == 0 || i == kPanels ? 1 : (i % 2 == 1 ? 4 : 2);
    sum += weight * std::pow(std::cos(i * step), freedom - 1);
  }
  const double scale =
      std::exp(log_gamma((freedom + 1) / 2) - log_gamma(freedom / 2)) / std::sqrt(std::numbers::pi);
  return scale * sum * step / 3;
}

}  // namespace

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  const std::size_t middle = values.size() / 2;
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(middle));
  const double upper = values[middle];
  if (values.size() % 2 == 1) return upper;
  const double lower =
      *std::max_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(middle));
  return (lower + upper) / 2;
}

double quantile_of(std::span<const double> sorted, double probability) {
  PLNET_CHECK(!sorted.empty(), "a quantile is of something");
  const double at = std::clamp(probability, 0.0, 1.0) * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], at - static_cast<double>(below));
}

double normal_cdf(double z) {
  return std::erfc(-z / std::numbers::sqrt2) / 2;
}

double student_quantile(double probability, double freedom) {
  PLNET_CHECK(probability > 0 && probability < 1 && freedom >= 1, "a quantile of Student's t");
  const double half = std::abs(probability - 0.5);
  double low = 0;
  double high = kFarthest;
  for (unsigned i = 0; i < kBisections; ++i) {
    const double middle = (low + high) / 2;
    (student_half(middle, freedom) < half ? low : high) = middle;
  }
  return probability < 0.5 ? -high : high;
}

double percent_of_log(double log_ratio) {
  constexpr double kPercent = 100;
  return std::expm1(log_ratio) * kPercent;
}

double mean_of(std::span<const double> values) {
  if (values.empty()) return 0;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double deviation_of(std::span<const double> values) {
  if (values.size() < 2) return 0;
  const double mean = mean_of(values);
  double squares = 0;
  for (const double value : values)
    squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

}  // namespace plnet::pin
