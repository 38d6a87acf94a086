// SPDX-License-Identifier: BSD-3-Clause
// What a new document would change, key by key, and whether a running node can follow.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/runtime/config/schema.hpp"
#include "lib/runtime/config/settings.hpp"

namespace plnet::runtime {

// LNet's lists (net, route, peer, …) change item by item: one side is then "none".
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

// Before changes are applied to a node that runs: Errc::kBusy if one of them needs a restart. The
// caller then changes nothing, and the text says so.
[[nodiscard]] Outcome<void> require_live(std::span<const SettingChange> changes);

}  // namespace plnet::runtime
