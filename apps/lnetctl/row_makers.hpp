// SPDX-License-Identifier: BSD-3-Clause
// For the files that hold rows of commands: what most rows and options are.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "apps/lnetctl/command_row.hpp"

namespace plnet::apps::row_makers {

constexpr OptionRow text(std::string_view name, char short_name, std::string_view value,
                         std::string_view help) {
  return {name, short_name, OptionKind::kText, value, help};
}
constexpr OptionRow number(std::string_view name, char short_name, std::string_view value,
                           std::string_view help) {
  return {name, short_name, OptionKind::kNumber, value, help};
}
// May be given several times; the values are joined with commas.
constexpr OptionRow texts(std::string_view name, char short_name, std::string_view value,
                          std::string_view help) {
  return {name, short_name, OptionKind::kTexts, value, help};
}
constexpr OptionRow flag(std::string_view name, char short_name, std::string_view help) {
  return {name, short_name, OptionKind::kFlag, {}, help};
}
inline constexpr OptionRow kLevel{"verbose", 'v', OptionKind::kLevel, "N",
                                  "more of it, up to 4; without a number the same as 1"};

inline std::string print_nothing(const Json&) {
  return {};
}

// A row of a verb that changes something and is silent about it.
constexpr CommandRow change(std::string_view words, std::string_view help,
                            std::span<const OptionRow> options, std::string_view operation,
                            std::string_view entity) {
  CommandRow row;
  row.words = words;
  row.help = help;
  row.options = options;
  row.operation = operation;
  row.entity = entity;
  row.print = print_nothing;
  row.patience = kChangePatience;
  return row;
}
constexpr CommandRow show(std::string_view words, std::string_view help,
                          std::span<const OptionRow> options, std::string_view entity) {
  CommandRow row;
  row.words = words;
  row.help = help;
  row.options = options;
  row.entity = entity;
  return row;
}
}  // namespace plnet::apps::row_makers
