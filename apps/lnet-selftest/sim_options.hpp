// SPDX-License-Identifier: BSD-3-Clause
// What the command line of `lnet-selftest run` says of a simulation.
#pragma once

#include <optional>
#include <span>

#include "apps/lnet-selftest/sim/simulated_run.hpp"
#include "apps/lnetctl/command_row.hpp"

namespace plnet::apps {

[[nodiscard]] std::span<const OptionRow> sim_options();
// Nothing: it is to be measured. kInvalid: also if nodes of the plan are none of the simulation's.
[[nodiscard]] Outcome<std::optional<sim::SimulatedRun>> simulation_of(const Arguments& arguments,
                                                                      const run::Plan& plan);

}  // namespace plnet::apps
