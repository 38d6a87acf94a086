// SPDX-License-Identifier: BSD-3-Clause
// Settings and verbs that network families have besides LNet's own. The table is apart from the
// table of families because lnetctl needs it, too, on hosts that cannot run a node.
#pragma once

#include <span>

#include "lib/runtime/verbs/verb_row.hpp"

namespace plnet::runtime {
struct SettingsSection;
}

namespace plnet::node {

// For the life of the process.
[[nodiscard]] std::span<const runtime::SettingsSection* const> family_sections();
[[nodiscard]] std::span<const runtime::VerbRows> family_verbs();

}  // namespace plnet::node
