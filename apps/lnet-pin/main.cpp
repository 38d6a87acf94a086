// SPDX-License-Identifier: BSD-3-Clause
#include <cstdio>
#include <exception>

#include "apps/lnet-pin/command_line.hpp"

int main(int argc, char** argv) {
  try {
    return plnet::pin::run_command_line(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "lnet-pin: %s\n", error.what());
    return 1;
  }
}
