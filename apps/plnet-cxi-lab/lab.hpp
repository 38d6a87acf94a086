// SPDX-License-Identifier: BSD-3-Clause
// A lab: one fabric, its ranks, their output and their end.
#pragma once

#include "apps/plnet-cxi-lab/command_line.hpp"
#include "lib/base/result.hpp"

namespace plnet::cxi_lab {

// Runs the command in all ranks until the last one has ended. Returns the exit status.
[[nodiscard]] Outcome<int> run_lab(const CommandLine& line);

}  // namespace plnet::cxi_lab
