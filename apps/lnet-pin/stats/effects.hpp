// SPDX-License-Identifier: BSD-3-Clause
// The effect of each factor on the figures of all placements: main effects of an additive model of
// their logarithms, and interactions of pairs of factors. Least squares, so that designs need not
// be complete; effects that a design cannot separate are left out and named.
#pragma once

#include <cstddef>
#include <vector>

#include "apps/lnet-pin/stats/bootstrap.hpp"

namespace plnet::pin {

// A placement as levels of the factors, and its figures in the rounds common to all placements.
struct Treatment {
  std::vector<std::size_t> levels;
  std::vector<double> figures;  // above 0
};

// A level relative to level 0 of its factor, with everything else equal.
struct MainEffect {
  std::size_t factor = 0;
  std::size_t level = 0;
  Interval percent{};
};

// The joint effect of two levels beyond the effects of each alone.
struct Interaction {
  std::size_t factor = 0;
  std::size_t level = 0;
  std::size_t other_factor = 0;
  std::size_t other_level = 0;
  Interval percent{};
};

struct Effects {
  std::vector<MainEffect> main{};
  std::vector<Interaction> interactions{};
  // Factors, and pairs of them, whose effects this design cannot separate from others.
  std::vector<std::size_t> unknown{};
  std::vector<std::pair<std::size_t, std::size_t>> unknown_pairs{};
};

// All treatments have the same number of levels and of figures.
[[nodiscard]] Effects effects_of(const std::vector<Treatment>& treatments, const Bootstrap& how);

}  // namespace plnet::pin
