// SPDX-License-Identifier: BSD-3-Clause
// Pictures for a page: a placement on the machine, and intervals side by side.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "apps/lnet-pin/plan/plan.hpp"
#include "apps/lnet-pin/stats/bootstrap.hpp"

namespace plnet::pin {

// Packages, NUMA nodes with their memory and cards, caches, cores, hardware threads; those with
// shards have the colour of their CPT.
[[nodiscard]] std::string draw_machine(const Machine& machine, const Placement& placement,
                                       const std::vector<unsigned>& others);

struct Bar {
  std::string name;
  Interval interval;
  std::string text;  // shown when pointed at
};
// One line for each, from 0 on or around it.
[[nodiscard]] std::string draw_intervals(std::string_view title, std::string_view unit,
                                         const std::vector<Bar>& bars);

// A matrix with rows and columns of the same names; the colour goes from the least to the most.
[[nodiscard]] std::string draw_heat(std::string_view title, const std::vector<std::string>& rows,
                                    const std::vector<std::string>& columns,
                                    const std::vector<std::vector<double>>& values);

// The style that the pictures need, and a script that sorts tables.
extern const char* const kPageStyle;
extern const char* const kPageScript;

}  // namespace plnet::pin
