// SPDX-License-Identifier: BSD-3-Clause
// lnetdump analyze FILE…: summaries of captures of gigabytes.
#pragma once

#include <cstdio>

#include "apps/manual/program_page.hpp"

namespace plnet::lnetdump {

// 0: all of the input was read. 1: reading failed. 2: an error in the command line.
int run_analyze(int argc, const char* const* argv, std::FILE* out, std::FILE* error);
[[nodiscard]] manual::Command analyze_page();

}  // namespace plnet::lnetdump
