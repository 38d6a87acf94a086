// SPDX-License-Identifier: BSD-3-Clause
// The flags of lnet-traffic, checked.
#pragma once

#include <expected>
#include <optional>
#include <string>

#include "apps/assembly/node.hpp"
#include "apps/assembly/settings_files.hpp"
#include "apps/flags/flags.hpp"
#include "apps/lnet-traffic/traffic.hpp"

namespace plnet::traffic {

struct CommandLine {
  apps::SettingsFiles files{.program = "lnet-traffic"};
  std::optional<runtime::IdlePolicy> idle;
  apps::NodeOptions node;
  TrafficConfig traffic;
  bool stay = false;
};

// Or what the program is to end with instead.
[[nodiscard]] std::expected<CommandLine, apps::EarlyEnd> parse_command_line(
    int count, const char* const* words);

}  // namespace plnet::traffic
