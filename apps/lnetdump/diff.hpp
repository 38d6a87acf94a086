// SPDX-License-Identifier: BSD-3-Clause
// lnetdump diff A B: compares the messages that two runs of a command caused.
#pragma once

#include <cstdio>

#include "apps/manual/program_page.hpp"

namespace plnet::lnetdump {

// 0: equal. 1: different. 2: a file cannot be read, or an error in the command line.
int run_diff(int argc, const char* const* argv, std::FILE* out, std::FILE* error);
[[nodiscard]] manual::Command diff_page();

}  // namespace plnet::lnetdump
