// SPDX-License-Identifier: BSD-3-Clause
// The settings of this host that belong to a placement: interrupts, frequency governor, huge pages.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "apps/lnet-pin/plan/placement.hpp"
#include "apps/lnet-pin/run/changes.hpp"

namespace plnet::pin {

using Setting = std::pair<std::string, std::string>;  // a file of /proc or /sys, its text

// `interfaces`: cards of the machine whose interrupts are placed.
[[nodiscard]] std::vector<Setting> settings_of(const Placement& placement, const Machine& machine,
                                               const std::vector<std::string>& interfaces);

// Makes them through `changes`, which restores them. `root`: of /proc and /sys; "" except in tests.
// The error: a file cannot be written, or the kernel has reserved fewer huge pages than requested.
[[nodiscard]] Outcome<void> make_settings(const std::vector<Setting>& settings, Changes& changes,
                                          const std::string& root);

}  // namespace plnet::pin
