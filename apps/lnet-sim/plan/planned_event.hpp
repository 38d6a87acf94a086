// SPDX-License-Identifier: BSD-3-Clause
// An event at a given time, of a given node: an administrator's "what if".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lib/base/clock.hpp"

namespace plnet::sim {

enum class PlannedKind : std::uint8_t {
  kLose,     // the node loses power, and comes back after `lasting`
  kRestart,  // the router is drained, then restarted; it is off for `lasting`
  kDrain,    // the router is drained, and undrained after `lasting`
  kCut,      // the node's link to `net` is down for `lasting`
};
inline constexpr std::array<std::string_view, 4> kEventNames{"lose", "restart", "drain", "cut"};
inline constexpr std::size_t kEventsMax = 32;
inline constexpr Duration kEventLongest = std::chrono::hours(24);

[[nodiscard]] constexpr std::string_view name_of(PlannedKind kind) {
  return kEventNames[static_cast<std::size_t>(kind)];
}

struct PlannedEvent {
  PlannedKind kind = PlannedKind::kLose;
  std::uint32_t node = 0;
  unsigned net = 0;  // kCut
  Duration at = std::chrono::seconds(60);
  Duration lasting = std::chrono::seconds(60);

  friend bool operator==(const PlannedEvent&, const PlannedEvent&) = default;
};

[[nodiscard]] constexpr bool is_drain(const PlannedEvent& event) {
  return event.kind == PlannedKind::kRestart || event.kind == PlannedKind::kDrain;
}

// A restart takes less time than an outage.
[[nodiscard]] constexpr Duration usual_length_of(PlannedKind kind) {
  return std::chrono::seconds(kind == PlannedKind::kRestart ? 5 : 60);
}

}  // namespace plnet::sim
