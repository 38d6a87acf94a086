// SPDX-License-Identifier: BSD-3-Clause
// `lnet-selftest run` and `lnet-selftest compare`.
#pragma once

namespace plnet::apps {

// 0: all was measured and met. 1: something failed. 2: usage, or the plan is wrong. 3: thresholds
// were missed. 130: interrupted. `words` begin with the subcommand.
int run_benchmark(int count, const char* const* words);

// 0: nothing is worse. 1: it cannot be told. 2: usage. 3: something is worse beyond its spread.
int run_compare(int count, const char* const* words);

}  // namespace plnet::apps
