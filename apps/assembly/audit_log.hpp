// SPDX-License-Identifier: BSD-3-Clause
// Who changed what, in the log.
#pragma once

#include <span>

#include "lib/runtime/admin/log.hpp"
#include "lib/runtime/config/settings_diff.hpp"
#include "lib/runtime/control/verb_table.hpp"

namespace plnet::apps {

// Lines about one document: all changes that a person makes by hand, and of a file of thousands of
// routes as many as somebody may still read. How many there are beyond is said, too.
inline constexpr std::size_t kChangeLinesMax = 256;

void log_changes(std::span<const runtime::SettingChange> changes, const runtime::Caller& caller,
                 runtime::Log& log);

}  // namespace plnet::apps
