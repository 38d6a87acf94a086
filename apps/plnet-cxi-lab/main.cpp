// SPDX-License-Identifier: BSD-3-Clause
#include <cstdio>
#include <exception>

#include "apps/plnet-cxi-lab/command_line.hpp"
#include "apps/plnet-cxi-lab/exec.hpp"
#include "apps/plnet-cxi-lab/lab.hpp"
#include "apps/plnet-cxi-lab/system.hpp"

namespace {

constexpr const char* kProgram = "plnet-cxi-lab";

// Returns only if the process does not become the command.
int run_exec(int count, const char* const* words) {
  using namespace plnet;
  const auto line = cxi_lab::parse_exec_line(count, words);
  if (!line) return node::say(kProgram, line.error());
  if (const auto entered = cxi_lab::enter_rank(line->host); !entered)
    return node::complain(kProgram, entered.error());
  (void)node::complain(kProgram, cxi_lab::become_command(line->command));
  return cxi_lab::kNotStarted;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace plnet;
  try {
    if (cxi_lab::is_exec(argc, argv)) return run_exec(argc, argv);
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
