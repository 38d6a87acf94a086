// SPDX-License-Identifier: BSD-3-Clause
// A text that is a number from its first character to its last.
#pragma once

#include <charconv>
#include <concepts>
#include <optional>
#include <string_view>
#include <system_error>

namespace plnet {

// Empty: no digits, other characters beside them, or a value beyond Number. A minus sign is
// accepted where Number has a sign; a plus sign and blanks never.
template <class Number>
[[nodiscard]] std::optional<Number> whole_number(std::string_view text, int base = 10) {
  Number number{};
  const char* const first = text.data();
  const char* const last = first + text.size();
  std::from_chars_result read{};
  if constexpr (std::integral<Number>) {
    read = std::from_chars(first, last, number, base);
  } else {
    read = std::from_chars(first, last, number);
  }
  if (read.ec != std::errc{} || read.ptr != last) return std::nullopt;
  return number;
}

}  // namespace plnet
