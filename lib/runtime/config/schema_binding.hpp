// SPDX-License-Identifier: BSD-3-Clause
// Conversions between members and values; only for the files of rows.
#pragma once

#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "lib/base/check.hpp"
#include "lib/base/clock.hpp"
#include "lib/lnet/node/node_config.hpp"
#include "lib/runtime/config/lnet_document.hpp"
#include "lib/runtime/config/schema.hpp"
#include "lib/runtime/config/settings.hpp"
#include "lib/runtime/config/text_form.hpp"
#include "lib/runtime/cpt/number_list.hpp"
#include "lib/runtime/cpt/topology.hpp"

namespace plnet::runtime::binding {

template <std::integral T>
Value to_value(T number) {
  return static_cast<std::int64_t>(number);
}
template <std::integral T>
Value to_value(const std::optional<T>& number) {
  return number ? to_value(*number) : Value(kNotGiven);
}
template <class E>
  requires std::is_enum_v<E>
Value to_value(E word) {
  return std::string(name_of(word));
}
inline Value to_value(const std::string& text) {
  return text;
}
// In milliseconds, as in lnetctl.
[[nodiscard]] Value to_value(Duration duration);
[[nodiscard]] Value to_value(const std::vector<unsigned>& numbers);
[[nodiscard]] Value to_value(const std::vector<NicQueues>& interfaces);
// CPTs of an NI: "[0,1]", "" = all.
[[nodiscard]] Value to_value(const std::vector<std::uint16_t>& cpts);
[[nodiscard]] Value to_value(const std::vector<lnet::LndTunable>& tunables);
// "MODULE.NAME": value.
[[nodiscard]] Value to_value(const std::vector<lnet::ModuleOption>& options);
// Texts with an index from 0, as lnetctl writes a list of them: {0: eth0, 1: eth1}.
template <class T>
Value to_value(const std::vector<T>& items) {
  Value object = Value::object();
  for (std::size_t i = 0; i < items.size(); ++i)
    object[std::to_string(i)] = TextForm<T>::text(items[i]);
  return object;
}

// Values and texts are checked against their row before they are set.
template <class Parsed>
Parsed checked(Outcome<Parsed> parsed) {
  PLNET_CHECK(parsed.has_value(), "texts are checked before they are set");
  return std::move(*parsed);
}

template <std::integral T>
void from_value(const Value& value, T& number) {
  number = static_cast<T>(value.get<std::int64_t>());
}
template <std::integral T>
void from_value(const Value& value, std::optional<T>& number) {
  number.reset();
  if (value != kNotGiven) from_value(value, number.emplace());
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
void from_value(const Value& value, Duration& duration);
void from_value(const Value& value, std::vector<unsigned>& numbers);
void from_value(const Value& value, std::vector<NicQueues>& interfaces);
void from_value(const Value& value, std::vector<std::uint16_t>& cpts);
void from_value(const Value& value, std::vector<lnet::LndTunable>& tunables);
void from_value(const Value& value, std::vector<lnet::ModuleOption>& options);
void from_value(const Value& value, std::vector<std::string>& names);
void from_value(const Value& value, std::vector<lnet::AddressPattern>& patterns);

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

// A number for which 0 stands for "not given".
template <class Record, auto kField>
consteval Binding nonzero() {
  return {
      .get = [](const void* record) -> Value {
        const auto number = kField(*static_cast<const Record*>(record));
        return number == 0 ? Value(kNotGiven) : to_value(number);
      },
      .set =
          [](void* record, const Value& value) {
            from_value(value == kNotGiven ? Value(0) : value,
                       kField(*static_cast<Record*>(record)));
          },
  };
}

// For kText: the form of the text also gives the row's check.
struct TextBinding {
  Binding binding;
  Outcome<void> (*check)(std::string_view text) = nullptr;
};

template <class Record, auto kField>
using MemberOf = std::remove_cvref_t<decltype(kField(std::declval<Record&>()))>;

template <class Record, auto kField, class Form = TextForm<MemberOf<Record, kField>>>
consteval TextBinding text() {
  return {.binding = {.get = [](const void* record) -> Value {
                        return Form::text(kField(*static_cast<const Record*>(record)));
                      },
                      .set =
                          [](void* record, const Value& value) {
                            kField(*static_cast<Record*>(record)) =
                                checked(Form::parse(value.get_ref<const std::string&>()));
                          }},
          .check = check_text<Form>};
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

// NOLINTBEGIN(bugprone-macro-parentheses): members and types take none
#define PLNET_MEMBER(member) [](auto& record) -> auto& { return record.member; }
#define PLNET_FIELD(Record, member) ::plnet::runtime::binding::field<Record, PLNET_MEMBER(member)>()
#define PLNET_TRUTH(Record, member) ::plnet::runtime::binding::truth<Record, PLNET_MEMBER(member)>()
#define PLNET_NONZERO(Record, member) \
  ::plnet::runtime::binding::nonzero<Record, PLNET_MEMBER(member)>()
#define PLNET_TEXT(Record, member) ::plnet::runtime::binding::text<Record, PLNET_MEMBER(member)>()
#define PLNET_TEXT_AS(Form, Record, member) \
  ::plnet::runtime::binding::text<Record, PLNET_MEMBER(member), Form>()
#define PLNET_RECORDS(Record, member) \
  ::plnet::runtime::binding::records<Record, PLNET_MEMBER(member)>()
// For keys in a section of another owner (settings_section.hpp).
#define PLNET_SECTION_FIELD(Section, member) \
  PLNET_FIELD(::plnet::runtime::Document, settings.sections.template of<Section>().member)
#define PLNET_SECTION_RECORDS(Section, member) \
  PLNET_RECORDS(::plnet::runtime::Document, settings.sections.template of<Section>().member)
// For Key::origin.
#define PLNET_ORIGIN(Record, member) \
  [](void* record) -> ::plnet::runtime::Origin& { return static_cast<Record*>(record)->member; }
// NOLINTEND(bugprone-macro-parentheses)
