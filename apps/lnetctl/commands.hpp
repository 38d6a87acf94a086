// SPDX-License-Identifier: BSD-3-Clause
// The table of commands, and those commands that are more than a verb.
#pragma once

#include <span>

#include "apps/lnetctl/command_row.hpp"

namespace plnet::apps {

[[nodiscard]] std::span<const CommandRow> commands();
// Before the command: --socket, --instance, ….
[[nodiscard]] std::span<const OptionRow> global_options();

// lnet_commands.cpp: net, peer, route, ping, …
[[nodiscard]] std::span<const CommandRow> lnet_commands();

// fault_commands.cpp: fault drop add, … and lctl's net_drop_add, …
[[nodiscard]] std::span<const CommandRow> fault_commands();

// debug_commands.cpp: debug peer, …, setup-sysctl
[[nodiscard]] std::span<const CommandRow> debug_commands();

// plan_command.cpp: no node needed.
[[nodiscard]] std::span<const OptionRow> plan_options();
int run_cpt_plan(const Arguments& arguments, const CommandRow& row, Session& session);

// debugfs_command.cpp
int run_debugfs(const Arguments& arguments, const CommandRow& row, Session& session);

// top_command.cpp
[[nodiscard]] std::span<const OptionRow> top_options();
int run_top(const Arguments& arguments, const CommandRow& row, Session& session);

// file_commands.cpp
int run_import(const Arguments& arguments, const CommandRow& row, Session& session);
int run_export(const Arguments& arguments, const CommandRow& row, Session& session);

}  // namespace plnet::apps
