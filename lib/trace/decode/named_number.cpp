// SPDX-License-Identifier: BSD-3-Clause
#include "lib/trace/decode/named_number.hpp"

#include <fmt/format.h>

namespace plnet::trace {

namespace {

constexpr char lower(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

}  // namespace

bool same_word(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, lower, lower);
}

std::optional<std::uint64_t> number_in(NameTable table, std::string_view name) {
  const auto found = std::ranges::find_if(
      table, [&](const NamedNumber& entry) { return same_word(entry.name, name); });
  if (found == table.end()) return std::nullopt;
  return found->number;
}

std::string name_or_number(NameTable table, std::uint64_t number) {
  const std::string_view name = name_in(table, number);
  return name.empty() ? fmt::format("{}", number) : std::string(name);
}

std::string flag_names(NameTable table, std::uint64_t flags) {
  std::string text;
  const auto append = [&](std::string_view name) {
    if (!text.empty()) text += '|';
    text += name;
  };
  for (const NamedNumber& entry : table) {
    if ((flags & entry.number) == 0) continue;
    append(entry.name);
    flags &= ~entry.number;
  }
  if (flags != 0) append(fmt::format("{:#x}", flags));
  return text;
}

}  // namespace plnet::trace
