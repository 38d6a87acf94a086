// SPDX-License-Identifier: BSD-3-Clause
// Options of one command by getopt_long, so that abbreviations, bundles and `--` work as users know
// them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/lnetctl/command_row.hpp"

namespace plnet::apps {

// `words` are what follows the command's own words. `stop_early`: the first word that is not an
// option ends them, and the rest are positional (the options before a command). The error says
// what, where and what was expected. Not for two threads at once: getopt_long keeps its state in
// globals.
[[nodiscard]] Outcome<Arguments> parse_options(std::span<const OptionRow> rows,
                                               std::span<const std::string> words,
                                               std::string_view command, bool stop_early = false);

// Decimal, 0x, 0 (octal), with a sign or without; nothing around it.
[[nodiscard]] std::optional<std::int64_t> parse_c_number(std::string_view text);

}  // namespace plnet::apps
