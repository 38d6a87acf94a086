// SPDX-License-Identifier: BSD-3-Clause
// Settings to a document, in the order of the schema; print_yaml() of lib/runtime/control makes
// text of it. What is exported and read again, over whatever there was, gives the same settings.
#pragma once

#include <cstdint>
#include <span>

#include "lib/runtime/config/schema.hpp"
#include "lib/runtime/config/settings.hpp"

namespace plnet::runtime {

enum class ExportForm : std::uint8_t {
  kFull,    // everything; what was not given in a list shows as -1
  kBackup,  // lnetctl export --backup: what a re-import needs
};

[[nodiscard]] Value export_settings(const Schema& schema, const Settings& settings,
                                    ExportForm form);

// The part of one key, or of several; `record` is what their bindings reach into.
[[nodiscard]] Value export_key(const Key& key, const void* record, ExportForm form);
[[nodiscard]] Value export_keys(std::span<const Key> keys, const void* record, ExportForm form);

}  // namespace plnet::runtime
