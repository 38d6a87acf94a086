// SPDX-License-Identifier: BSD-3-Clause
// The table of commands, and those commands that are more than a verb.
#pragma once

#include <span>

#include "apps/lnetctl/command_row.hpp"

namespace plnet::apps {

[[nodiscard]] std::span<const CommandRow> commands();
// Before the command: --socket, --instance, ….
[[nodiscard]] const OptionList& global_options();

// Commands that are no verbs of the node.
[[nodiscard]] std::span<const CommandRow> debug_commands();  // debug peer, …, setup-sysctl
[[nodiscard]] std::span<const CommandRow> lctl_commands();   // net_drop_add, …
[[nodiscard]] std::span<const CommandRow> plan_commands();   // cpt plan

int run_ping(const Arguments& arguments, const CommandRow& row, Session& session);
int run_discover(const Arguments& arguments, const CommandRow& row, Session& session);
int run_debugfs(const Arguments& arguments, const CommandRow& row, Session& session);
int run_top(const Arguments& arguments, const CommandRow& row, Session& session);
int run_import(const Arguments& arguments, const CommandRow& row, Session& session);
int run_export(const Arguments& arguments, const CommandRow& row, Session& session);

}  // namespace plnet::apps
