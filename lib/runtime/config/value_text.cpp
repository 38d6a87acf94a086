// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/config/value_text.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <fmt/format.h>

#include "lib/lnet/names/number_list.hpp"
#include "lib/runtime/config/config_error.hpp"
#include "lib/runtime/config/yaml_text.hpp"
#include "lib/runtime/cpt/number_list.hpp"

namespace plnet::runtime {

std::string did_you_mean(std::string_view given, std::span<const std::string_view> known) {
  const std::string_view nearest = nearest_word(given, known);
  return nearest.empty() ? std::string{} : fmt::format("; did you mean '{}'?", nearest);
}

std::expected<Value, std::string> parse_value(const std::string& text, const Key& key) {
  const auto refuse = [&](std::string_view what) {
    return std::unexpected(
        fmt::format("'{}' {}, expected {}", shown(text), what, expected_value(key)));
  };
  switch (key.kind) {
    case KeyKind::kInteger: {
      const auto number = parse_integer(text);
      if (!number && number.error() != Errc::kOutOfRange) return refuse("is not a number");
      const bool absent = number && key.optional && *number == kNotGiven;
      if (!number || (!absent && (*number < key.low || *number > key.high))) {
        return refuse("is out of range");
      }
      return Value(*number);
    }
    case KeyKind::kBoolean: {
      const auto state = parse_integer(text);
      if (state && *state > 1 && *state <= key.high) return Value(*state % 2);
      const auto truth = parse_boolean(text);
      if (!truth) return refuse("is neither true nor false");
      return Value(std::int64_t{*truth});
    }
    case KeyKind::kTruth: {
      const auto truth = parse_boolean(text);
      if (!truth) return refuse("is neither true nor false");
      return Value(*truth);
    }
    case KeyKind::kCptList: {
      if (text.empty() || text == "[]") return Value("");
      const lnet::TextPart part(text);
      const auto cpts =
          lnet::parse_number_list(part, static_cast<std::uint32_t>(key.high), "a CPT");
      if (!cpts) return std::unexpected(cpts.error().what);
      return Value(text);
    }
    case KeyKind::kPlain: {
      constexpr std::size_t kPlainMax = 256;
      if (const auto number = parse_integer(text)) return Value(*number);
      if (text.size() > kPlainMax) return refuse("is too long");
      return Value(text);
    }
    case KeyKind::kWord: {
      if (std::ranges::find(key.words, text) != key.words.end()) return Value(text);
      return std::unexpected(fmt::format("'{}' is not known, expected {}{}", shown(text),
                                         expected_value(key), did_you_mean(text, key.words)));
    }
    case KeyKind::kText: {
      const auto sound = key.check(text);
      if (!sound) return std::unexpected(sound.error().what);
      return Value(text);
    }
    case KeyKind::kNumberList: {
      const auto numbers = parse_number_list(text, static_cast<unsigned>(key.high));
      if (!numbers) return std::unexpected(numbers.error().what);
      return Value(text);
    }
    default: return refuse("does not fit");
  }
}

}  // namespace plnet::runtime
