// SPDX-License-Identifier: BSD-3-Clause
// What surrounds every program that runs a node.
#pragma once

#include <csignal>
#include <cstdio>
#include <exception>

namespace plnet::node {

// The whole of main(); `run` returns the exit status.
inline int whole_program(const char* name, int (*run)(int count, const char* const* words),
                         int count, char** words) {
  // A log whose reader went away costs its lines, not the node.
  (void)std::signal(SIGPIPE, SIG_IGN);
  // Whatever a library throws at the very top (out of memory while starting) ends with words.
  try {
    return run(count, words);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", name, error.what());
    return 1;
  }
}

}  // namespace plnet::node
