// SPDX-License-Identifier: BSD-3-Clause
// Tables of numbers with names, sorted by number: looked up both ways.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace plnet::trace {

struct NamedNumber {
  std::uint64_t number = 0;
  std::string_view name;
};
using NameTable = std::span<const NamedNumber>;

// Empty: the number has no name.
[[nodiscard]] inline std::string_view name_in(NameTable table, std::uint64_t number) {
  const auto found = std::ranges::lower_bound(table, number, {}, &NamedNumber::number);
  return found != table.end() && found->number == number ? found->name : std::string_view();
}

// Letters count the same in either case.
[[nodiscard]] std::optional<std::uint64_t> number_in(NameTable table, std::string_view name);

// The name, or the number in decimal.
[[nodiscard]] std::string name_or_number(NameTable table, std::uint64_t number);

// The names in a word of flags: "RESENT|REPLAY|0x8000". Empty for 0.
[[nodiscard]] std::string flag_names(NameTable table, std::uint64_t flags);

[[nodiscard]] bool same_word(std::string_view a, std::string_view b);

}  // namespace plnet::trace
