// SPDX-License-Identifier: BSD-3-Clause
// How programs that run a node take their flags, and how they end before the node begins.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

#include "lib/base/result.hpp"

namespace plnet::node {

// Help or a version was asked for, or the flags are wrong. Its text is for `status` 0 standard
// output, else standard error.
struct EarlyEnd {
  int status = 0;
  std::string text;
};

// Nothing: every flag is known and has a value of its kind. An empty value is refused:
// `--config "$FILE"` with FILE unset must not start a node that ignores its file.
[[nodiscard]] std::optional<EarlyEnd> take_flags(CLI::App& app, int count,
                                                 const char* const* words);
[[nodiscard]] EarlyEnd wrong_flags(const CLI::App& app, const Error& error);

// The exit status of a program that could not do its work, once the reason is on stderr.
[[nodiscard]] int complain(std::string_view program, const Error& error);

// Both return the exit status. What was asked for and did not get out (a full disk) must not look
// like success.
[[nodiscard]] int say(std::string_view program, const EarlyEnd& end);
[[nodiscard]] int flushed(std::string_view program, int status);

}  // namespace plnet::node
