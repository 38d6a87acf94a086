// SPDX-License-Identifier: BSD-3-Clause
// The table of network families that have settings of their own. It is apart from the table of
// families because lnetctl, too, reads the files of a node, on hosts that cannot run one.
#pragma once

#include <span>

namespace plnet::runtime {
struct SettingsSection;
}

namespace plnet::node {

// For the life of the process.
[[nodiscard]] std::span<const runtime::SettingsSection* const> family_sections();

}  // namespace plnet::node
