// SPDX-License-Identifier: BSD-3-Clause
// `lnet-pin run`.
#pragma once

#include "apps/lnet-pin/command_line.hpp"

namespace plnet::pin {

[[nodiscard]] int run_sweep(const CommandLine& line);

// From now on Ctrl-C and similar signals are only recorded.
void record_signals();
[[nodiscard]] bool is_stopped();

}  // namespace plnet::pin
