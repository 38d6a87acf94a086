// SPDX-License-Identifier: BSD-3-Clause
// Settings, verbs and laboratory NICs of network families. They are apart from the table of
// families because lnetctl and lnet-pin need them, too, on hosts that cannot run a node.
#pragma once

#include <span>

#include "lib/runtime/verbs/verb_row.hpp"
#include "node/net/lab_nic.hpp"

namespace plnet::runtime {
struct SettingsSection;
}

namespace plnet::node {

// For the life of the process.
[[nodiscard]] std::span<const runtime::SettingsSection* const> family_sections();
[[nodiscard]] std::span<const runtime::VerbRows> family_verbs();
[[nodiscard]] std::span<const LabNic* const> family_lab_nics();

}  // namespace plnet::node
