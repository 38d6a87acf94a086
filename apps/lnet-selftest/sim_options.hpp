// SPDX-License-Identifier: BSD-3-Clause
// The options of `lnet-selftest run` for a simulation.
#pragma once

#include <optional>
#include <span>

#include "apps/lnet-selftest/sim/simulated_run.hpp"
#include "apps/lnetctl/command_row.hpp"

namespace plnet::apps {

[[nodiscard]] std::span<const OptionRow> sim_options();
// Nothing: a measurement. kInvalid: also if nodes of the plan are not simulated ones.
[[nodiscard]] Outcome<std::optional<sim::SimulatedRun>> simulation_of(const Arguments& arguments,
                                                                      const run::Plan& plan);

}  // namespace plnet::apps
