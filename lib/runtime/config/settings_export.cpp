// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/config/settings_export.hpp"

#include <string>

namespace plnet::runtime {
namespace {

bool is_left_out(const Key& key, const Value& value, ExportForm form) {
  if (form == ExportForm::kFull) return false;
  if (key.kind == KeyKind::kDictionary) return value.empty();
  return key.optional && value == kNotGiven;
}

Value export_keys(std::span<const Key> keys, const void* record, ExportForm form) {
  Value mapping = Value::object();
  for (const Key& key : keys) {
    Value value = export_key(key, record, form);
    if (!is_left_out(key, value, form)) mapping[std::string(key.name)] = std::move(value);
  }
  return mapping;
}

}  // namespace

Value export_key(const Key& key, const void* record, ExportForm form) {
  if (key.kind == KeyKind::kMapping) return export_keys(key.children, record, form);
  if (key.kind != KeyKind::kRecords) return key.binding.get(record);
  Value list = Value::array();
  const std::size_t count = key.binding.size(record);
  for (std::size_t i = 0; i < count; ++i) {
    list.push_back(export_keys(key.children, key.binding.item(record, i), form));
  }
  return list;
}

Value export_settings(const Settings& settings, ExportForm form) {
  return export_keys(schema(), &settings, form);
}

}  // namespace plnet::runtime
