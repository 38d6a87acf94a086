// SPDX-License-Identifier: BSD-3-Clause
// A placement against the baseline, round by round: both were measured within the same minutes, so
// that a drift of the machine is in both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "apps/lnet-pin/stats/bootstrap.hpp"

namespace plnet::pin {

enum class Verdict : std::uint8_t {
  kTooFew,  // no number of agreeing rounds could decide yet
  kEqual,   // no difference was seen
  kHigher,
  kLower,
};
[[nodiscard]] std::string_view text_of(Verdict verdict);

struct Comparison {
  std::size_t pairs = 0;
  Interval percent{};      // of the baseline; simultaneous over all comparisons
  double probability = 1;  // that chance alone gives such a difference; adjusted likewise
  Verdict verdict = Verdict::kTooFew;
  // The smallest difference that so many rounds would have shown in four cases of five.
  double detectable_percent = 0;
};

// `base[i]` and `other[i]` are of the same round and above 0. `comparisons`: how many are made in
// all; none of them is wrong with the probability that the confidence leaves (Bonferroni, and half
// of it in reserve).
//
// A difference counts if the interval excludes 0 and a sign-flip test agrees. The test is exact for
// any distribution that is symmetric around the difference, however few rounds there are.
[[nodiscard]] Comparison compare(std::span<const double> base, std::span<const double> other,
                                 const Bootstrap& how, std::size_t comparisons);

// Pairs without which no difference can be told.
[[nodiscard]] std::size_t pairs_needed(double confidence, std::size_t comparisons);

}  // namespace plnet::pin
