// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/config/schema_binding.hpp"

#include <variant>

#include <fmt/format.h>

#include "lib/base/joined.hpp"
#include "lib/lnet/names/cpt_hash.hpp"
#include "lib/lnet/names/number_list.hpp"

namespace plnet::runtime::binding {

Value to_value(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

Value to_value(const std::vector<unsigned>& numbers) {
  return format_number_list(numbers);
}

Value to_value(const std::vector<NicQueues>& interfaces) {
  Value object = Value::object();
  for (const NicQueues& entry : interfaces)
    object[entry.interface] = format_number_list(entry.queues);
  return object;
}

Value to_value(const std::vector<std::uint16_t>& cpts) {
  if (cpts.empty()) return "";
  return fmt::format("[{}]", joined(cpts, ","));
}

Value to_value(const std::vector<lnet::LndTunable>& tunables) {
  Value object = Value::object();
  for (const lnet::LndTunable& tunable : tunables)
    std::visit([&](const auto& value) { object[tunable.name] = value; }, tunable.value);
  return object;
}

Value to_value(const std::vector<lnet::ModuleOption>& options) {
  Value object = Value::object();
  for (const lnet::ModuleOption& option : options)
    object[fmt::format("{}.{}", option.module, option.name)] = option.value;
  return object;
}

void from_value(const Value& value, Duration& duration) {
  duration = std::chrono::milliseconds(value.get<std::int64_t>());
}

void from_value(const Value& value, std::vector<unsigned>& numbers) {
  numbers = checked(parse_number_list(value.get_ref<const std::string&>(), kMaxCpus));
}

void from_value(const Value& value, std::vector<NicQueues>& interfaces) {
  interfaces.clear();
  for (const auto& [name, queues] : value.items()) {
    NicQueues& entry = interfaces.emplace_back();
    entry.interface = name;
    from_value(queues, entry.queues);
  }
}

void from_value(const Value& value, std::vector<std::uint16_t>& cpts) {
  cpts.clear();
  const auto& text = value.get_ref<const std::string&>();
  if (text.empty() || text == "*" || text == "[*]") return;
  cpts =
      checked(lnet::parse_number_list(lnet::TextPart(text), lnet::kCptsMax - 1, "a CPT")).expand();
  if (cpts.size() == lnet::kCptsMax) cpts.clear();
}

void from_value(const Value& value, std::vector<lnet::LndTunable>& tunables) {
  tunables.clear();
  for (const auto& [name, setting] : value.items()) {
    lnet::LndTunable& tunable = tunables.emplace_back();
    tunable.name = name;
    if (setting.is_string()) {
      tunable.value = setting.get<std::string>();
    } else {
      tunable.value = setting.get<std::int64_t>();
    }
  }
}

void from_value(const Value& value, std::vector<lnet::ModuleOption>& options) {
  options.clear();
  for (const auto& [name, setting] : value.items()) {
    const std::size_t dot = name.find('.');
    PLNET_CHECK(dot != std::string::npos, "names are checked before they are set");
    options.push_back({name.substr(0, dot), name.substr(dot + 1), setting.get<std::string>()});
  }
}

void from_value(const Value& value, std::vector<std::string>& names) {
  names.clear();
  for (const Value& name : value)
    names.push_back(name.get<std::string>());
}

void from_value(const Value& value, std::vector<lnet::AddressPattern>& patterns) {
  patterns.clear();
  for (const Value& text : value)
    patterns.push_back(
        checked(TextForm<lnet::AddressPattern>::parse(text.get_ref<const std::string&>())));
}

}  // namespace plnet::runtime::binding
