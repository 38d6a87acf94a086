// SPDX-License-Identifier: BSD-3-Clause
// The placements of a sweep on a machine, without duplicates.
#pragma once

#include <string>
#include <vector>

#include "apps/lnet-pin/plan/placement.hpp"
#include "apps/lnet-pin/plan/sweep.hpp"

namespace plnet::pin {

// More than fit into a night; also the limit of a readable page.
inline constexpr std::size_t kPlacementsMax = 512;
inline constexpr std::size_t kCombinationsMax = 4096;  // of levels

struct LeftOut {
  std::vector<std::size_t> levels{};
  std::string why;
};

struct Plan {
  Sweep sweep{};                        // with all levels of all factors
  std::vector<unsigned> others{};       // CPUs of the other nodes
  std::vector<Placement> placements{};  // the first one is the baseline
  std::vector<LeftOut> left_out{};
  std::vector<std::string> notes{};

  // "memory=remote idle=busy"; "" without factors.
  [[nodiscard]] std::string level_text(const std::vector<std::size_t>& levels) const;
  [[nodiscard]] std::size_t rounds_min() const { return placements.size() * sweep.rounds_min; }
  [[nodiscard]] std::size_t rounds_max() const { return placements.size() * sweep.rounds_max; }
};

// The error: nothing is left to measure, or too much.
[[nodiscard]] Outcome<Plan> make_plan(Sweep sweep, const Machine& machine);

// Duration of a number of measurements: start, warm-up, measurement, end.
[[nodiscard]] Duration time_of(const Plan& plan, std::size_t measurements);

// Changes with all inputs of a result except the machine: a journal with another fingerprint was
// made by another version, or from another file.
[[nodiscard]] std::string fingerprint_of(const Plan& plan);

[[nodiscard]] std::string text_of(const Plan& plan, const Machine& machine, bool draw);
[[nodiscard]] Json json_of(const Plan& plan);
[[nodiscard]] Json json_of(const Placement& placement);

}  // namespace plnet::pin
