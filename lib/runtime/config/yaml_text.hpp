// SPDX-License-Identifier: BSD-3-Clause
// Checks of a document before its grammar: size, encoding, directives; and the values of scalars as
// numbers and truth values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lib/base/result.hpp"
#include "lib/runtime/config/config_error.hpp"

namespace plnet::runtime {

struct UnfitText {
  Position at;
  std::string what;
};

// The first reason not to hand this text to a YAML parser: above kMaxYamlBytes, not UTF-8, a
// control character, a directive (%YAML, %TAG).
[[nodiscard]] std::optional<UnfitText> find_unfit_text(std::string_view text);

// Decimal, 0x hexadecimal or 0 octal, with or without a sign, and nothing else. kInvalid: not a
// number; kOutOfRange: too large.
[[nodiscard]] Result<std::int64_t> parse_integer(std::string_view text);

// true, false in any case, and 1, 0.
[[nodiscard]] Result<bool> parse_boolean(std::string_view text);

}  // namespace plnet::runtime
