// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "apps/lnet-pin/command_line.hpp"

namespace plnet::pin {

// The exit status.
[[nodiscard]] int carry_out(const CommandLine& line);

}  // namespace plnet::pin
