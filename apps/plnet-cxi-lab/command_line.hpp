// SPDX-License-Identifier: BSD-3-Clause
// The flags of plnet-cxi-lab, checked.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "node/flags/flags.hpp"

namespace plnet::cxi_lab {

inline constexpr unsigned kNodesMax = 64;
inline constexpr unsigned kNicsMax = 8;

struct CommandLine {
  unsigned nodes = 2;
  unsigned nics_per_rank = 1;
  std::string library;  // libcxi.so.1; empty: that of the installation
  bool head = false;    // rank 0 alone runs the command
  std::vector<std::string> command;
};

// `plnet-cxi-lab exec`.
struct ExecLine {
  std::string host;
  std::vector<std::string> command;
};
[[nodiscard]] bool is_exec(int count, const char* const* words);

// The error: the reason to end the program early.
[[nodiscard]] std::expected<CommandLine, node::EarlyEnd> parse_command_line(
    int count, const char* const* words);
// `words` begin with the name of the program and "exec".
[[nodiscard]] std::expected<ExecLine, node::EarlyEnd> parse_exec_line(int count,
                                                                      const char* const* words);

}  // namespace plnet::cxi_lab
