// SPDX-License-Identifier: BSD-3-Clause
// Chooses the combinations of levels that a design measures.
#pragma once

#include <cstddef>
#include <vector>

#include "apps/lnet-pin/plan/sweep.hpp"

namespace plnet::pin {

using Levels = std::vector<std::size_t>;

// All combinations of factors with these numbers of levels; the last factor changes first. The
// caller bounds the product.
[[nodiscard]] std::vector<Levels> all_combinations(const std::vector<std::size_t>& counts);

// The part of `possible` that a design measures; its first combination is the baseline:
//   full         all
//   one          the baseline, and those that differ from it in one factor
//   fractional   enough that every two levels of two factors are measured together wherever that is
//                possible, and that an additive model has no more coefficients than measurements
[[nodiscard]] std::vector<Levels> choose(Design design, const std::vector<Levels>& possible);

}  // namespace plnet::pin
