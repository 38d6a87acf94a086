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
  Duration latency = std::chrono::microseconds(2);  // one way, at least; as much again is drawn
};

// The least that nodes need for all points of a plan: what they keep is as much as that.
[[nodiscard]] SelftestHostLimits limits_of(const run::Plan& plan);
// kInvalid: a node of the plan that is none of the simulated ones.
[[nodiscard]] Outcome<void> check_nodes(const run::Plan& plan, unsigned nodes);

// Until the plan is through or `interrupted` says so, which is asked often. The report has figures
// of simulated time; its environment, seed and what the simulation cost.
[[nodiscard]] run::Report simulate(const run::Plan& plan, const SimulatedRun& how,
                                   run::Watcher& watcher, const Clock& real_clock,
                                   const std::function<bool()>& interrupted);

}  // namespace plnet::sim
