// SPDX-License-Identifier: BSD-3-Clause
// The frame of every program that runs a node.
#pragma once

#include <csignal>
#include <cstdio>
#include <exception>
#include <new>

#include "lib/runtime/host/memory.hpp"

namespace plnet::node {

// The whole of main(); `run` returns the exit status.
inline int whole_program(const char* name, int (*run)(int count, const char* const* words),
                         int count, char** words) {
  // If the reader of the log closes its end, lines are lost and the node runs on.
  (void)std::signal(SIGPIPE, SIG_IGN);
  // An exception of a library (out of memory at start) ends the program with a message.
  try {
    return run(count, words);
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "%s: out of memory: %s\n", name, runtime::memory_limits_text().c_str());
    return 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", name, error.what());
    return 1;
  }
}

}  // namespace plnet::node
