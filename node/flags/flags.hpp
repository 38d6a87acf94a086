// SPDX-License-Identifier: BSD-3-Clause
// Flags of programs that run a node, and exits of those programs before the node begins.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

#include "lib/base/result.hpp"

namespace plnet::node {

// The end of a program whose flags ask for help or a version, or are wrong. The text goes to
// standard output if `status` is 0, else to standard error.
struct EarlyEnd {
  int status = 0;
  std::string text;
};

// nullopt: every flag is known and has a value of its kind. An empty value is refused: `--config
// "$FILE"` with FILE unset must not start a node that ignores its file.
[[nodiscard]] std::optional<EarlyEnd> take_flags(CLI::App& app, int count,
                                                 const char* const* words);
[[nodiscard]] EarlyEnd wrong_flags(const CLI::App& app, const Error& error);

// Writes the reason of a failure to standard error, and returns the exit status.
[[nodiscard]] int complain(std::string_view program, const Error& error);

// Both return the exit status. A failure of the output (a full disk) must not look like success.
[[nodiscard]] int say(std::string_view program, const EarlyEnd& end);
[[nodiscard]] int flushed(std::string_view program, int status);

}  // namespace plnet::node
