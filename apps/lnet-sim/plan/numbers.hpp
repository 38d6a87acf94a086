// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <vector>

namespace plnet::sim {

inline bool contains(const std::vector<unsigned>& numbers, unsigned wanted) {
  return std::ranges::find(numbers, wanted) != numbers.end();
}

}  // namespace plnet::sim
