// SPDX-License-Identifier: BSD-3-Clause
// `lnet-selftest run` and `lnet-selftest compare`.
#pragma once

#include "apps/manual/program_page.hpp"

namespace plnet::apps {

// 0: everything measured, thresholds met. 1: a failure. 2: usage, or an error in the plan. 3:
// thresholds missed. 130: interrupted. `words` begin with the subcommand.
int run_benchmark(int count, const char* const* words);

// 0: nothing is worse. 1: undecidable. 2: usage. 3: something is worse beyond its spread.
int run_compare(int count, const char* const* words);

[[nodiscard]] manual::Command run_page();
[[nodiscard]] manual::Command compare_page();

}  // namespace plnet::apps
