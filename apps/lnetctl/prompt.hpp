// SPDX-License-Identifier: BSD-3-Clause
// Commands line by line: `lnetctl` without arguments.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/lnetctl/command_table.hpp"

namespace plnet::apps {

// Reads lines from session.in until its end, `quit` or `exit`. If `interactive`: prints the prompt
// `lnetctl > `, and lines can be edited. Returns the exit status of the last command.
int run_prompt(const CommandTable& table, Session& session, bool interactive);

// Words that the last one of a line up to the cursor may become: commands, options, and names that
// the node knows.
[[nodiscard]] std::vector<std::string> candidates_at(const CommandTable& table, Session& session,
                                                     std::string_view line);

// Words of a line: blanks part them, quotes and a backslash keep them together. Nothing if a quote
// is left open.
[[nodiscard]] std::optional<std::vector<std::string>> split_line(std::string_view line);

}  // namespace plnet::apps
