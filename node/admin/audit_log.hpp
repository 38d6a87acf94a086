// SPDX-License-Identifier: BSD-3-Clause
// The audit log of the control socket: a line for each request that may change something, and a
// line for each setting that changed.
#pragma once

#include <span>
#include <string>

#include "lib/runtime/admin/log.hpp"
#include "lib/runtime/config/settings_diff.hpp"
#include "lib/runtime/control/verb_table.hpp"

namespace plnet::node {

// Lines about one document: enough for changes made by hand, few enough to read after a file with
// thousands of routes. A last line counts the rest.
inline constexpr std::size_t kChangeLinesMax = 256;

// For a request that succeeded. The log sums up frequent verbs.
void log_command(const runtime::VerbRow& row, const runtime::Caller& caller,
                 const std::string& args, runtime::Log& log);

void log_changes(std::span<const runtime::SettingChange> changes, const runtime::Caller& caller,
                 runtime::Log& log);

}  // namespace plnet::node
