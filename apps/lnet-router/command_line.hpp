// SPDX-License-Identifier: BSD-3-Clause
// The flags of lnet-router, checked.
#pragma once

#include <expected>
#include <optional>
#include <string>

#include "apps/assembly/node.hpp"
#include "apps/flags/flags.hpp"
#include "lib/base/result.hpp"
#include "lib/runtime/config/settings.hpp"

namespace plnet::apps {

struct CommandLine {
  std::string config_path;   // "" = none: every default
  std::string options_path;  // "" = none: a file of modprobe.d, before the configuration file
  bool check_only = false;
  std::optional<runtime::IdlePolicy> idle;
  std::optional<runtime::LogLevel> log_level;
  NodeOptions node;
};

// Or what the program is to end with instead.
[[nodiscard]] std::expected<CommandLine, EarlyEnd> parse_command_line(int count,
                                                                      const char* const* words);

}  // namespace plnet::apps
