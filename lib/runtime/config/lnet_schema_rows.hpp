// SPDX-License-Identifier: BSD-3-Clause
// Makers of rows for LNet's keys; only for the files of rows.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "lib/lnet/names/cpt_hash.hpp"
#include "lib/runtime/config/schema.hpp"
#include "lib/runtime/config/schema_binding.hpp"

namespace plnet::runtime::schema_rows {

inline constexpr std::int64_t kNumberMax = 0x7fffffff;

consteval Key live(std::string_view name, KeyKind kind, std::string_view help) {
  Key key;
  key.name = name;
  key.kind = kind;
  key.applies = Applies::kLive;
  key.help = help;
  return key;
}
consteval Key text(std::string_view name, std::string_view help, std::string_view example,
                   binding::TextBinding member) {
  Key key = live(name, KeyKind::kText, help);
  key.check = member.check;
  key.example = example;
  key.binding = member.binding;
  key.optional = true;
  return key;
}
consteval Key number(std::string_view name, std::string_view help, std::int64_t low,
                     std::int64_t high, Binding binding) {
  Key key = live(name, KeyKind::kInteger, help);
  key.low = low;
  key.high = high;
  key.binding = binding;
  return key;
}
consteval Key word(std::string_view name, std::string_view help,
                   std::span<const std::string_view> words, Binding binding) {
  Key key = live(name, KeyKind::kWord, help);
  key.words = words;
  key.binding = binding;
  return key;
}
consteval Key optional(Key key) {
  key.optional = true;
  return key;
}
consteval Key input_only(Key key) {
  key.input_only = true;
  return key;
}
consteval Key section(std::string_view name, std::string_view help, std::span<const Key> children) {
  Key key = live(name, KeyKind::kMapping, help);
  key.children = children;
  return key;
}
consteval Key list(std::string_view name, std::string_view help, std::int64_t most,
                   std::span<const Key> children, Binding binding) {
  Key key = live(name, KeyKind::kRecords, help);
  key.high = most;
  key.children = children;
  key.binding = binding;
  key.optional = true;
  return key;
}
// At the top level of a document.
consteval Key items(Key key) {
  key.additive = true;
  return key;
}
consteval Key dictionary(std::string_view name, std::string_view help, std::int64_t most,
                         Outcome<void> (*check)(std::string_view), std::span<const Key> child,
                         std::string_view example, Binding binding) {
  Key key = live(name, KeyKind::kDictionary, help);
  key.high = most;
  key.check = check;
  key.children = child;
  key.example = example;
  key.binding = binding;
  key.optional = true;
  return key;
}
consteval Key cpt_list(std::string_view help, Binding binding) {
  Key key = live("CPT", KeyKind::kCptList, help);
  key.high = lnet::kCptsMax - 1;
  key.example = "\"[0,1]\"";
  key.binding = binding;
  key.optional = true;
  return key;
}

consteval Key truth(std::string_view name, std::string_view help, Binding binding) {
  Key key = live(name, KeyKind::kTruth, help);
  key.binding = binding;
  return key;
}

}  // namespace plnet::runtime::schema_rows
