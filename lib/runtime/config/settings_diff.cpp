// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/config/settings_diff.hpp"

#include <set>

#include <fmt/format.h>

#include "lib/runtime/config/lnet_document.hpp"
#include "lib/runtime/config/settings_export.hpp"

namespace plnet::runtime {
namespace {

// Any value on one line.
std::string one_line(const Value& value) {
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    if (!text.empty()) return text;
  }
  return value.dump(-1, ' ', false, Value::error_handler_t::replace);
}

// Compares item by item, since items are added and removed alone.
void compare_items(const Value& before, const Value& after, const std::string& path, const Key& key,
                   std::vector<SettingChange>& changes) {
  std::multiset<std::string> gone;
  for (const Value& item : before)
    gone.insert(one_line(item));
  std::vector<std::string> fresh;
  for (const Value& item : after) {
    std::string line = one_line(item);
    if (const auto same = gone.find(line); same != gone.end()) {
      gone.erase(same);
    } else {
      fresh.push_back(std::move(line));
    }
  }
  for (const std::string& line : gone)
    changes.push_back({path, line, "none", key.applies});
  for (std::string& line : fresh)
    changes.push_back({path, "none", std::move(line), key.applies});
}

void compare(std::span<const Key> keys, const std::string& path, const Document& before,
             const Document& after, std::vector<SettingChange>& changes) {
  for (const Key& key : keys) {
    if (key.input_only || key.output_only) continue;
    const std::string here = join_path(path, key.name);
    if (key.kind == KeyKind::kMapping) {
      compare(key.children, here, before, after, changes);
      continue;
    }
    const Value old_value = export_key(key, &before, ExportForm::kBackup);
    const Value new_value = export_key(key, &after, ExportForm::kBackup);
    if (old_value == new_value) continue;
    if (key.additive) {
      compare_items(old_value, new_value, here, key, changes);
    } else {
      changes.push_back({here, one_line(old_value), one_line(new_value), key.applies});
    }
  }
}

}  // namespace

std::vector<SettingChange> diff_settings(const Schema& schema, const Settings& before,
                                         const Settings& after) {
  std::vector<SettingChange> changes;
  compare(schema.keys(), "", document_of(before), document_of(after), changes);
  return changes;
}

std::string render_changes(std::span<const SettingChange> changes) {
  std::string out;
  for (const SettingChange& change : changes) {
    out += fmt::format("{}: {} -> {} ({})\n", change.path, change.before, change.after,
                       change.applies == Applies::kLive ? "live" : "needs a restart");
  }
  return out;
}

Value changes_to_json(std::span<const SettingChange> changes) {
  Value list = Value::array();
  for (const SettingChange& change : changes) {
    list.push_back({{"path", change.path},
                    {"from", change.before},
                    {"to", change.after},
                    {"applies", change.applies == Applies::kLive ? "live" : "restart"}});
  }
  return list;
}

Outcome<void> require_live(std::span<const SettingChange> changes) {
  std::string blocked;
  for (const SettingChange& change : changes) {
    if (change.applies == Applies::kLive) continue;
    if (!blocked.empty()) blocked += "; ";
    blocked += fmt::format("{} ({} -> {})", change.path, change.before, change.after);
  }
  if (blocked.empty()) return {};
  return failure(Errc::kBusy, fmt::format("needs a restart: {}; nothing was changed", blocked));
}

}  // namespace plnet::runtime
