// SPDX-License-Identifier: BSD-3-Clause
// `lnet-selftest node`: an LNet node for selftest only, until it is told to stop.
#pragma once

#include "apps/manual/program_page.hpp"

namespace plnet::apps {

// `words` begin with the subcommand in place of the program name. Returns the exit status.
int run_selftest_node(int count, const char* const* words);
[[nodiscard]] manual::Command node_page();

}  // namespace plnet::apps
