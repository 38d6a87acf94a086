// SPDX-License-Identifier: BSD-3-Clause
// The best placement of a sweep for an aim, with its expected gain.
#pragma once

#include <string>

#include "apps/lnet-pin/report/analysis.hpp"

namespace plnet::pin {

struct Recommendation {
  Aim aim = Aim::kThroughput;
  std::size_t placement = 0;
  std::size_t rounds = 0;  // with a figure
  bool alone = false;      // no other placement has figures
  Interval interval{};     // of the aim
  Comparison versus{};     // with the baseline; meaningless for the baseline itself
  // Placements without a visible difference: each of them is equally good.
  std::vector<std::size_t> as_good{};
  // Placements with too few rounds for a comparison: each of them may be better.
  std::vector<std::size_t> undecided{};
};

// A placement counts as better than the baseline only if a difference is visible. Otherwise the
// baseline is recommended. The error: there are no figures for this aim, or too few rounds to
// compare any placement.
[[nodiscard]] Outcome<Recommendation> recommend(const Results& results, const Analysis& analysis,
                                                Aim aim);

// A file for `lnet-router --config`, with the reasons and the commands of the host as comments.
[[nodiscard]] std::string node_yaml(const Results& results, const Recommendation& choice);
// The same for a node with the kernel's LNet: module options and commands.
[[nodiscard]] std::string kernel_settings(const Results& results, const Recommendation& choice);
// The reasons only: "p3 …, +12.1 % (10.3 to 13.9) over the baseline".
[[nodiscard]] std::string reason_of(const Results& results, const Recommendation& choice);

// The kernel's cpu_pattern for these CPTs. The error: no pattern can express them.
[[nodiscard]] Outcome<std::string> cpu_pattern_of(const Placement& placement);

}  // namespace plnet::pin
