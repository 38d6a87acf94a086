// SPDX-License-Identifier: BSD-3-Clause
// Settings and verbs of network families beyond LNet's own. They are apart from the table of
// families because lnetctl needs them, too, on hosts that cannot run a node.
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
