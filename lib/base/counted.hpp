// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <concepts>
#include <string>
#include <string_view>

namespace plnet {

// The plural of a regular English noun: messages, addresses, retries, relays.
[[nodiscard]] inline std::string plural_of(std::string_view noun) {
  const auto before_last = noun.size() < 2 ? ' ' : noun[noun.size() - 2];
  if (noun.ends_with('y') && std::string_view("aeiou").find(before_last) == std::string_view::npos)
    return std::string(noun.substr(0, noun.size() - 1)) + "ies";
  for (const std::string_view end : {"s", "x", "ch", "sh"}) {
    if (noun.ends_with(end)) return std::string(noun) + "es";
  }
  return std::string(noun) + "s";
}

// A count and its noun in texts for people: "1 message", "2 messages", "0 messages".
[[nodiscard]] std::string counted(std::integral auto count, std::string_view noun) {
  return std::to_string(count) + ' ' + (count == 1 ? std::string(noun) : plural_of(noun));
}

// "1 of 1 route", "1 of 3 routes".
[[nodiscard]] std::string counted(std::integral auto part, std::integral auto all,
                                  std::string_view noun) {
  return std::to_string(part) + " of " + counted(all, noun);
}

// The form of a verb that agrees with a count: agreeing(1, "is", "are").
[[nodiscard]] constexpr std::string_view agreeing(std::integral auto count, std::string_view one,
                                                  std::string_view many) {
  return count == 1 ? one : many;
}

}  // namespace plnet
