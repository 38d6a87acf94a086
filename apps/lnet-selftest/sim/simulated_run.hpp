// SPDX-License-Identifier: BSD-3-Clause
// A whole run on simulated nodes.
#pragma once

#include <cstdint>
#include <functional>

#include "apps/lnet-selftest/run/conductor.hpp"
#include "apps/lnet-selftest/run/report.hpp"
#include "apps/lnet-selftest/sim/selftest_site.hpp"

namespace plnet::sim {

struct SimulatedRun {
  unsigned nodes = 2;
  std::uint64_t seed = 1;
  Duration latency = std::chrono::microseconds(2);  // one way, minimum; a random part of up to the
                                                    // same is added
};

// The smallest limits that suffice for all points of a plan, since memory grows with them.
[[nodiscard]] SelftestHostLimits limits_of(const run::Plan& plan);
// kInvalid: a node of the plan is not a simulated one.
[[nodiscard]] Outcome<void> check_nodes(const run::Plan& plan, unsigned nodes);

// Runs until the plan has ended or `interrupted` returns true, which is checked often. The report
// has figures of simulated time; its environment has the seed and the cost of the simulation.
[[nodiscard]] run::Report simulate(const run::Plan& plan, const SimulatedRun& how,
                                   run::Watcher& watcher, const Clock& real_clock,
                                   const std::function<bool()>& interrupted);

}  // namespace plnet::sim
