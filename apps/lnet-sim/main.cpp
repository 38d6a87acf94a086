// SPDX-License-Identifier: BSD-3-Clause
#include <cstdio>

#include "apps/lnet-sim/command_line.hpp"

int main(int argc, char** argv) {
  return plnet::sim::run_command(argc, argv, stdout, stderr);
}
