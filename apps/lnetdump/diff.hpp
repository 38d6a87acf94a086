// SPDX-License-Identifier: BSD-3-Clause
// lnetdump diff A B: whether two runs of a command caused the same messages.
#pragma once

#include <cstdio>

namespace plnet::lnetdump {

// 0: they did. 1: they did not. 2: a file cannot be read, or the command line is wrong.
int run_diff(int argc, const char* const* argv, std::FILE* out, std::FILE* error);

}  // namespace plnet::lnetdump
