// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdio>

namespace plnet::lnetdump {

// 0: all of the input was read. 1: it could not be read, or output could not be written.
// 2: the command line is wrong.
int run(int argc, const char* const* argv, std::FILE* out, std::FILE* error);

}  // namespace plnet::lnetdump
