// SPDX-License-Identifier: BSD-3-Clause
// Reading of single values for console_json.cpp, and the few types that it distinguishes.
#pragma once

#include <concepts>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

#include "lib/base/result.hpp"
#include "lib/lnet/names/nid_text.hpp"
#include "lib/runtime/control/protocol.hpp"
#include "lib/selftest/srpc_wire.hpp"

namespace plnet::lst {

// T, const or not: both directions use one list of fields.
template <class A, class T>
concept same_as_decayed = std::same_as<std::remove_const_t<A>, T>;

// One alternative of a variant, and the field that holds it.
template <class T>
struct Named {
  const char* text;
};

template <class T>
inline constexpr bool is_list = false;
template <class T>
inline constexpr bool is_list<std::vector<T>> = true;

template <class T>
inline constexpr bool is_plain =
    std::is_enum_v<T> || std::is_arithmetic_v<T> || std::is_same_v<T, std::string> ||
    std::is_same_v<T, lnet::ProcessId> || std::is_same_v<T, selftest::Name>;

template <std::integral T>
[[nodiscard]] Outcome<T> integer_of(const runtime::Json& json) {
  const auto bad = [] {
    return failure(Errc::kInvalid,
                   fmt::format("expected a number from {} to {}", std::numeric_limits<T>::min(),
                               std::numeric_limits<T>::max()));
  };
  if (json.is_number_unsigned()) {
    const auto number = json.get<std::uint64_t>();
    if (!std::in_range<T>(number)) return bad();
    return static_cast<T>(number);
  }
  if (!json.is_number_integer()) return bad();
  const auto number = json.get<std::int64_t>();
  if (!std::in_range<T>(number)) return bad();
  return static_cast<T>(number);
}

template <class T>
[[nodiscard]] Outcome<T> plain_of(const runtime::Json& json) {
  if constexpr (std::is_same_v<T, bool>) {
    if (!json.is_boolean()) return failure(Errc::kInvalid, "expected true or false");
    return json.get<bool>();
  } else if constexpr (std::is_enum_v<T>) {
    const auto number = integer_of<std::underlying_type_t<T>>(json);
    if (!number) return std::unexpected(number.error());
    return static_cast<T>(*number);
  } else if constexpr (std::is_arithmetic_v<T>) {
    return integer_of<T>(json);
  } else {
    if (!json.is_string()) return failure(Errc::kInvalid, "expected a string");
    const auto& text = json.get_ref<const std::string&>();
    if constexpr (std::is_same_v<T, lnet::ProcessId>) return lnet::parse_process_id_or_any(text);
    if constexpr (std::is_same_v<T, selftest::Name>) return selftest::name_from(text);
    if constexpr (std::is_same_v<T, std::string>) return text;
  }
}

}  // namespace plnet::lst
