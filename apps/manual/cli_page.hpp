// SPDX-License-Identifier: BSD-3-Clause
// Command lines that CLI11 describes, as pages.
#pragma once

#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "apps/manual/program_page.hpp"

namespace plnet::manual {

// Options, positional arguments, subcommands and footer of the application.
[[nodiscard]] ProgramPage page_of(const CLI::App& app, const std::string& program);
[[nodiscard]] Command command_of(const CLI::App& app, const std::string& words);

// Adds --print-manual and --completion, so that the help lists them, before the application parses.
void add_options(CLI::App& app);
// The same, and the text if the command line has one of the two. All other options are there.
[[nodiscard]] std::optional<std::string> answer(CLI::App& app, const std::string& program,
                                                int count, const char* const* words);

}  // namespace plnet::manual
