// SPDX-License-Identifier: BSD-3-Clause
// Events as a command line names them: "r2 at 60s for 30s", "r2 tcp at 60s", and their checks.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "apps/lnet-sim/plan/site_config.hpp"
#include "lib/base/result.hpp"

namespace plnet::sim {

// Several events of a kind may follow one another. Without `at` and `for` an event has the usual
// times.
[[nodiscard]] Outcome<std::vector<PlannedEvent>> parse_events(const SiteConfig& site,
                                                              PlannedKind kind,
                                                              std::span<const std::string> words);
// Whether the site can have the event.
[[nodiscard]] Outcome<void> check_event(const SiteConfig& site, const PlannedEvent& event);

}  // namespace plnet::sim
