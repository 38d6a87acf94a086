// SPDX-License-Identifier: BSD-3-Clause
// Settings as a document, in the order of the schema; print_yaml() of lib/runtime/control turns it
// to text. Reading an export gives the same settings, whatever they were before.
#pragma once

#include <cstdint>
#include <span>

#include "lib/runtime/config/schema.hpp"
#include "lib/runtime/config/settings.hpp"

namespace plnet::runtime {

enum class ExportForm : std::uint8_t {
  kFull,    // everything; values that are not given in a list show as -1
  kBackup,  // lnetctl export --backup: all that an import needs
};

[[nodiscard]] Value export_settings(const Schema& schema, const Settings& settings,
                                    ExportForm form);

// The part of one key, or of several; `record` is the record that their bindings access.
[[nodiscard]] Value export_key(const Key& key, const void* record, ExportForm form);
[[nodiscard]] Value export_keys(std::span<const Key> keys, const void* record, ExportForm form);

}  // namespace plnet::runtime
