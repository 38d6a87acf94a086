// SPDX-License-Identifier: BSD-3-Clause
// For the files that hold rows of the schema: how members become values and come back.
#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "lib/base/check.hpp"
#include "lib/lnet/node/node_config.hpp"
#include "lib/runtime/config/lnet_document.hpp"
#include "lib/runtime/config/schema.hpp"
#include "lib/runtime/config/settings.hpp"
#include "lib/runtime/cpt/number_list.hpp"
#include "lib/runtime/cpt/topology.hpp"

namespace plnet::runtime::binding {

template <std::integral T>
Value to_value(T number) {
  return static_cast<std::int64_t>(number);
}
template <class E>
  requires std::is_enum_v<E>
Value to_value(E word) {
  return std::string(name_of(word));
}
inline Value to_value(const std::string& text) {
  return text;
}
inline Value to_value(const std::vector<unsigned>& numbers) {
  return format_number_list(numbers);
}
inline Value to_value(const std::vector<NicQueues>& interfaces) {
  Value object = Value::object();
  for (const NicQueues& entry : interfaces)
    object[entry.interface] = format_number_list(entry.queues);
  return object;
}
// CPTs of an NI: "[0,1]", "" = all.
[[nodiscard]] Value to_value(const std::vector<std::uint16_t>& cpts);
// Names counted from 0, as lnetctl writes a list of names: {0: eth0, 1: eth1}.
[[nodiscard]] Value to_value(const std::vector<std::string>& names);
[[nodiscard]] Value to_value(const std::vector<lnet::LndTunable>& tunables);
// "MODULE.NAME": value.
[[nodiscard]] Value to_value(const std::vector<lnet::ModuleOption>& options);

template <std::integral T>
void from_value(const Value& value, T& number) {
  number = static_cast<T>(value.get<std::int64_t>());
}
template <class E>
  requires std::is_enum_v<E>
void from_value(const Value& value, E& word) {
  constexpr unsigned kWordsMax = 16;  // no enumeration here has more
  const auto& wanted = value.get_ref<const std::string&>();
  for (unsigned i = 0; i < kWordsMax; ++i) {
    if (name_of(static_cast<E>(i)) != wanted) continue;
    word = static_cast<E>(i);
    return;
  }
  PLNET_CHECK(false, "the words of the row are the names of the enumeration");
}
inline void from_value(const Value& value, std::string& text) {
  text = value.get_ref<const std::string&>();
}
inline void from_value(const Value& value, std::vector<unsigned>& numbers) {
  auto parsed = parse_number_list(value.get_ref<const std::string&>(), kMaxCpus);
  PLNET_CHECK(parsed.has_value(), "lists are checked before they are set");
  numbers = std::move(*parsed);
}
inline void from_value(const Value& value, std::vector<NicQueues>& interfaces) {
  interfaces.clear();
  for (const auto& [name, queues] : value.items()) {
    NicQueues& entry = interfaces.emplace_back();
    entry.interface = name;
    from_value(queues, entry.queues);
  }
}
void from_value(const Value& value, std::vector<std::uint16_t>& cpts);
void from_value(const Value& value, std::vector<std::string>& names);
void from_value(const Value& value, std::vector<lnet::LndTunable>& tunables);
void from_value(const Value& value, std::vector<lnet::ModuleOption>& options);

// `kField` takes a record (const or not) and returns a reference to the member.
template <class Record, auto kField>
consteval Binding field() {
  return {
      .get =
          [](const void* record) { return to_value(kField(*static_cast<const Record*>(record))); },
      .set = [](void* record,
                const Value& value) { from_value(value, kField(*static_cast<Record*>(record))); },
  };
}

// For kTruth.
template <class Record, auto kField>
consteval Binding truth() {
  return {
      .get = [](const void* record) -> Value {
        return kField(*static_cast<const Record*>(record));
      },
      .set = [](void* record,
                const Value& value) { kField(*static_cast<Record*>(record)) = value.get<bool>(); },
  };
}

template <class Record, auto kField>
consteval Binding records() {
  return {
      .size = [](const void* record) { return kField(*static_cast<const Record*>(record)).size(); },
      .item = [](const void* record, std::size_t index) -> const void* {
        return &kField(*static_cast<const Record*>(record))[index];
      },
      .append = [](void* record) -> void* {
        return &kField(*static_cast<Record*>(record)).emplace_back();
      },
      .clear = [](void* record) { kField(*static_cast<Record*>(record)).clear(); },
  };
}

}  // namespace plnet::runtime::binding

#define PLNET_FIELD(Record, member) \
  binding::field<Record, [](auto& record) -> auto& { return record.member; }>()
#define PLNET_TRUTH(Record, member) \
  binding::truth<Record, [](auto& record) -> auto& { return record.member; }>()
#define PLNET_RECORDS(Record, member) \
  binding::records<Record, [](auto& record) -> auto& { return record.member; }>()
