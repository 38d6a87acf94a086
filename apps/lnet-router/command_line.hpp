// SPDX-License-Identifier: BSD-3-Clause
// The flags of lnet-router, checked.
#pragma once

#include <expected>

#include "node/flags/node_flags.hpp"

namespace plnet::apps {

struct CommandLine {
  node::NodeLine node;
  bool check_only = false;
  bool selftest = false;  // overrides the file
};

// The error: the reason to end the program early.
[[nodiscard]] std::expected<CommandLine, node::EarlyEnd> parse_command_line(
    int count, const char* const* words);

}  // namespace plnet::apps
