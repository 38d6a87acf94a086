// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/config/settings_export.hpp"

#include <string>

#include "lib/runtime/config/lnet_document.hpp"

namespace plnet::runtime {
namespace {

bool is_left_out(const Key& key, const Value& value, ExportForm form) {
  if (key.optional && key.kind != KeyKind::kInteger) {
    if (value.is_boolean()) return !value.get<bool>();
    return value.is_string() ? value.get_ref<const std::string&>().empty() : value.empty();
  }
  if (form == ExportForm::kFull) return false;
  if (key.kind == KeyKind::kDictionary) return value.empty();
  return key.optional && value == kNotGiven;
}

}  // namespace

Value export_keys(std::span<const Key> keys, const void* record, ExportForm form) {
  Value mapping = Value::object();
  for (const Key& key : keys) {
    if (key.input_only) continue;
    Value value = export_key(key, record, form);
    if (!is_left_out(key, value, form)) mapping[std::string(key.name)] = std::move(value);
  }
  return mapping;
}

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

Value export_settings(const Schema& schema, const Settings& settings, ExportForm form) {
  const Document document = document_of(settings);
  // A node without LNet leaves LNet's keys out, instead of showing their defaults.
  lnet::NodeConfig nothing;
  nothing.module_options = settings.lnet.module_options;
  const bool with_lnet = settings.lnet != nothing;
  const auto keys = schema.keys();
  return export_keys(with_lnet ? keys : keys.last(1), &document, form);
}

}  // namespace plnet::runtime
