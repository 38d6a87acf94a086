// SPDX-License-Identifier: BSD-3-Clause
// Times as a site file and a command line write them: "10s", "20ms", "5us".
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "lib/base/clock.hpp"

namespace plnet::sim {

// Empty: no such time.
[[nodiscard]] inline std::optional<Duration> parse_duration(std::string_view text) {
  constexpr std::uint64_t kMost = 1'000'000'000;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  const std::array<std::pair<std::string_view, Duration>, 3> units{
      {{"s", std::chrono::seconds(1)},
       {"ms", std::chrono::milliseconds(1)},
       {"us", std::chrono::microseconds(1)}}};
  const auto found = std::ranges::find(units, unit, &decltype(units)::value_type::first);
  if (error != std::errc{} || found == units.end() || value > kMost) return std::nullopt;
  return found->second * static_cast<std::int64_t>(value);
}

}  // namespace plnet::sim
