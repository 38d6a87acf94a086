// SPDX-License-Identifier: BSD-3-Clause
// Checks a running node's placement against its machine, and against earlier results.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apps/lnet-pin/report/analysis.hpp"

namespace plnet::pin {

// From the answer to `cpt show`. The error: the answer is invalid.
[[nodiscard]] Outcome<Placement> placement_of(const Json& cpt_show);

struct Finding {
  bool bad = false;  // else only informative
  std::string text;
};

// Findings about the CPUs of its shards and their other users. `root`: of /proc and /sys; "" except
// in tests.
[[nodiscard]] std::vector<Finding> check_placement(const Placement& placement,
                                                   const Machine& machine, const std::string& root);

// Against results of the same machine.
[[nodiscard]] std::vector<Finding> check_results(const Placement& placement, const Machine& machine,
                                                 const Results& results, const Analysis& analysis,
                                                 Aim aim);

}  // namespace plnet::pin
