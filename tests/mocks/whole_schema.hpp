// SPDX-License-Identifier: BSD-3-Clause
// Documents in the programs' form: by the schema with the sections of all families.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/runtime/config/schema_rendering.hpp"
#include "lib/runtime/config/settings_check.hpp"
#include "lib/runtime/config/settings_diff.hpp"
#include "lib/runtime/config/settings_export.hpp"
#include "lib/runtime/config/settings_reader.hpp"
#include "node/net/family_facts.hpp"

namespace plnet::runtime {

inline const Schema& whole_schema() {
  static const Schema kSchema(node::family_sections());
  return kSchema;
}

inline ParseResult read_settings(std::string_view text, std::string_view file_name,
                                 const Settings& base = {}) {
  return read_settings(whole_schema(), text, file_name, base);
}
inline ParseResult reset_settings(std::string_view text, std::string_view file_name,
                                  const Settings& base) {
  return reset_settings(whole_schema(), text, file_name, base);
}
inline auto read_named(std::string_view text, std::string_view file_name) {
  return read_named(whole_schema(), text, file_name);
}
inline Value export_settings(const Settings& settings, ExportForm form) {
  return export_settings(whole_schema(), settings, form);
}
inline std::vector<SettingChange> diff_settings(const Settings& before, const Settings& after) {
  return diff_settings(whole_schema(), before, after);
}
inline std::vector<SettingsIssue> check_settings(const Settings& settings) {
  return check_settings(whole_schema(), settings);
}

}  // namespace plnet::runtime
