// SPDX-License-Identifier: BSD-3-Clause
// Pictures for a page: a placement on the machine, and intervals side by side.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "apps/lnet-pin/plan/plan.hpp"
#include "apps/lnet-pin/stats/bootstrap.hpp"

namespace plnet::pin {

// Packages, NUMA nodes with their memory and cards, caches, cores, hardware threads; CPUs with
// shards have the colour of their CPT.
[[nodiscard]] std::string draw_machine(const Machine& machine, const Placement& placement,
                                       const std::vector<unsigned>& others);

struct Bar {
  std::string name;
  Interval interval;
  std::string text;  // tooltip
};
// One line for each, on an axis that starts at 0 or contains it.
[[nodiscard]] std::string draw_intervals(std::string_view title, std::string_view unit,
                                         const std::vector<Bar>& bars);

// A matrix with rows and columns of the same names; colours scale from the minimum to the maximum.
[[nodiscard]] std::string draw_heat(std::string_view title, const std::vector<std::string>& rows,
                                    const std::vector<std::string>& columns,
                                    const std::vector<std::vector<double>>& values);

// The style of the pictures, and a script that sorts tables.
extern const char* const kPageStyle;
extern const char* const kPageScript;

}  // namespace plnet::pin
