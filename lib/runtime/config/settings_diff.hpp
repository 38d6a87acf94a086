// SPDX-License-Identifier: BSD-3-Clause
// The changes that a new document makes, key by key, and whether a running node can apply them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/runtime/config/schema.hpp"
#include "lib/runtime/config/settings.hpp"

namespace plnet::runtime {

// LNet's lists (net, route, peer, …) change item by item: `before` or `after` is then "none".
struct SettingChange {
  std::string path;  // "plnet.pollers.idle"; a list or dictionary is one change
  std::string before;
  std::string after;
  Applies applies = Applies::kRestart;

  bool operator==(const SettingChange&) const = default;
};

// In the order of the schema; empty if nothing changes.
[[nodiscard]] std::vector<SettingChange> diff_settings(const Schema& schema, const Settings& before,
                                                       const Settings& after);

// For lnetctl import --plan: "plnet.pollers.idle: auto -> busy (live)", a line for each.
[[nodiscard]] std::string render_changes(std::span<const SettingChange> changes);
// The same for programs: a list of {path, from, to, applies: live | restart}.
[[nodiscard]] Value changes_to_json(std::span<const SettingChange> changes);

// Checked before any change of a running node: kBusy if one change needs a restart. The error says
// that nothing was changed.
[[nodiscard]] Outcome<void> require_live(std::span<const SettingChange> changes);

}  // namespace plnet::runtime
