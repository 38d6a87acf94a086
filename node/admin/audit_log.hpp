// SPDX-License-Identifier: BSD-3-Clause
// Who did what over the control socket, in the log: a line for each request that may change
// something, and for what is configured also what came of it.
#pragma once

#include <span>
#include <string>

#include "lib/runtime/admin/log.hpp"
#include "lib/runtime/config/settings_diff.hpp"
#include "lib/runtime/control/verb_table.hpp"

namespace plnet::node {

// Lines about one document: all changes that a person makes by hand, and of a file of thousands of
// routes as many as somebody may still read. How many there are beyond is said, too.
inline constexpr std::size_t kChangeLinesMax = 256;

// The verb of a request that went well. One that is frequent is summed up by the log.
void log_command(const runtime::VerbRow& row, const runtime::Caller& caller,
                 const std::string& args, runtime::Log& log);

void log_changes(std::span<const runtime::SettingChange> changes, const runtime::Caller& caller,
                 runtime::Log& log);

}  // namespace plnet::node
