// SPDX-License-Identifier: BSD-3-Clause
// The flags of lnet-traffic, checked.
#pragma once

#include <expected>
#include <optional>
#include <string>

#include "apps/lnet-traffic/traffic.hpp"
#include "node/flags/flags.hpp"
#include "node/run/node.hpp"
#include "node/run/settings_files.hpp"

namespace plnet::traffic {

struct CommandLine {
  node::SettingsFiles files{.program = "lnet-traffic"};
  std::optional<runtime::IdlePolicy> idle;
  node::NodeOptions node;
  TrafficConfig traffic;
  bool stay = false;
};

// The error: the reason to end the program early.
[[nodiscard]] std::expected<CommandLine, node::EarlyEnd> parse_command_line(
    int count, const char* const* words);

}  // namespace plnet::traffic
