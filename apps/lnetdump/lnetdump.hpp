// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdio>

namespace plnet::lnetdump {

enum ExitStatus : int {
  kDone = 0,
  kFailed = 1,  // input or output; an assertion does not hold; captures differ
  kWrong = 2,   // the command line; for diff also a file
  // With assertions or a command. Otherwise the command's own status if that is not 0.
  kNoCapture = 125,
};

int run(int argc, const char* const* argv, std::FILE* out, std::FILE* error);

}  // namespace plnet::lnetdump
