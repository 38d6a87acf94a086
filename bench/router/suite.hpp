// SPDX-License-Identifier: BSD-3-Clause
// The parts of this program's suite with a file of their own.
#pragma once

#include "bench/harness/harness.hpp"

namespace plnet::bench {

void add_fairness_benchmarks(Suite& suite);
void add_latency_benchmarks(Suite& suite);

}  // namespace plnet::bench
