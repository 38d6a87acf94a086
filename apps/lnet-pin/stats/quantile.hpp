// SPDX-License-Identifier: BSD-3-Clause
// Quantiles of samples and of the two distributions that intervals need.
#pragma once

#include <span>
#include <vector>

namespace plnet::pin {

// The middle value, or the mean of the two in the middle; 0 without values.
[[nodiscard]] double median_of(std::vector<double> values);

// Between the two nearest ranks. `sorted` is ascending and not empty.
[[nodiscard]] double quantile_of(std::span<const double> sorted, double probability);

[[nodiscard]] double normal_cdf(double z);

// The quantile of Student's t with this number of degrees of freedom.
[[nodiscard]] double student_quantile(double probability, double freedom);

// 0 with fewer than two values.
[[nodiscard]] double deviation_of(std::span<const double> values);
[[nodiscard]] double mean_of(std::span<const double> values);

// Converts the logarithm of a ratio: 0.1 is slightly more than 10 per cent.
[[nodiscard]] double percent_of_log(double log_ratio);

}  // namespace plnet::pin
