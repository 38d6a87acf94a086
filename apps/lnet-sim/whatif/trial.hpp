// SPDX-License-Identifier: BSD-3-Clause
// One run of a site for a question "what if": with the events, or without them.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/lnet-sim/books/rpc_book.hpp"
#include "apps/lnet-sim/plan/site_config.hpp"
#include "apps/lnet-sim/watch/route_sight.hpp"

namespace plnet::sim {

// The times of a trial, from the start of the nodes.
struct TrialTimes {
  Duration from{};    // measured since then: the nodes know one another
  Duration begin{};   // the first event
  Duration during{};  // loads during the events are measured since then
  Duration end{};     // the last event is over
  // All routes are up again, and the end of the run. Unset: the trial finds them.
  std::optional<Duration> restored{};
  std::optional<Duration> over{};
  bool is_restored = true;  // false: some route was still down at the end

  // The trial has run.
  [[nodiscard]] Duration restored_at() const { return restored.value_or(end); }
  [[nodiscard]] Duration over_at() const { return over.value_or(end); }
};
[[nodiscard]] TrialTimes times_of(const SiteConfig& site);

enum class Phase : std::uint8_t { kBefore, kDuring, kAfter };
inline constexpr std::array<std::string_view, 3> kPhaseNames{"before", "during", "after"};

// Messages and bytes that a router forwarded in each phase.
struct RouterLoad {
  std::uint32_t router = 0;
  std::array<Host::Relayed, kPhaseNames.size()> phases{};
};

struct Trial {
  std::string violation{};  // empty: none
  TrialTimes times{};
  std::uint64_t trace = 0;
  std::uint64_t drains_begun = 0;
  std::vector<RouterLoad> loads{};
  RpcBook rpcs;
  std::map<std::string_view, std::uint64_t> causes{};  // lost messages, by the core's counters
  std::uint64_t resent = 0;                            // sent again, and arrived
  std::uint64_t resent_in_vain = 0;
  // For each router with an event: the view of the nodes that use it.
  std::map<std::uint32_t, std::vector<RouteSight::Seen>> sights{};
};

// Runs the site's traffic for as long as it takes, with the site's events.
[[nodiscard]] Trial run_trial(const SiteConfig& site, const TrialTimes& times);

}  // namespace plnet::sim
