// SPDX-License-Identifier: BSD-3-Clause
// Compares a placement with the baseline round by round: both were measured within the same
// minutes, so that drift of the machine affects both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "apps/lnet-pin/stats/bootstrap.hpp"

namespace plnet::pin {

enum class Verdict : std::uint8_t {
  kTooFew,  // agreement of all rounds could not be significant yet
  kEqual,   // no visible difference
  kHigher,
  kLower,
};
[[nodiscard]] std::string_view text_of(Verdict verdict);

struct Comparison {
  std::size_t pairs = 0;
  std::size_t needed = 0;  // pairs for any verdict but kTooFew
  Interval percent{};      // of the baseline; simultaneous over all comparisons
  double probability = 1;  // of such a difference by chance; adjusted likewise
  Verdict verdict = Verdict::kTooFew;
  // The smallest difference that this number of rounds detects in four cases of five.
  double detectable_percent = 0;
};

// `base[i]` and `other[i]` are of the same round and above 0. `comparisons`: total number of
// comparisons; with the given confidence none of them is wrong (Bonferroni, and half of the error
// in reserve).
//
// A difference counts if the interval excludes 0 and a sign-flip test agrees. The test is exact for
// any distribution that is symmetric around the difference, for any number of rounds.
[[nodiscard]] Comparison compare(std::span<const double> base, std::span<const double> other,
                                 const Bootstrap& how, std::size_t comparisons);

// Minimum number of pairs for any significant difference.
[[nodiscard]] std::size_t pairs_needed(double confidence, std::size_t comparisons);

}  // namespace plnet::pin
