// SPDX-License-Identifier: BSD-3-Clause
#include <cstdio>
#include <exception>

#include "apps/plnet-cxi-lab/command_line.hpp"
#include "apps/plnet-cxi-lab/lab.hpp"

int main(int argc, char** argv) {
  constexpr const char* kProgram = "plnet-cxi-lab";
  using namespace plnet;
  try {
    const auto line = cxi_lab::parse_command_line(argc, argv);
    if (!line) return node::say(kProgram, line.error());
    const auto status = cxi_lab::run_lab(*line);
    if (!status) return node::complain(kProgram, status.error());
    return node::flushed(kProgram, *status);
  } catch (const std::exception& error) {
    (void)std::fprintf(stderr, "%s: %s\n", kProgram, error.what());
    return 1;
  }
}
