// SPDX-License-Identifier: BSD-3-Clause
// The options of LNet's kernel modules, and their use here: kept under `plnet.module_options`, a
// key of the document, or none.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "lib/base/result.hpp"

namespace plnet::runtime {

struct VariableOption {
  std::string_view name;
  std::string_view variable;
};
// lnet_peer_discovery_disabled is not here, since its meaning is inverted.
inline constexpr auto kVariables = std::to_array<VariableOption>({
    {"lnet_numa_range", "numa_range"},
    {"lnet_interfaces_max", "max_interfaces"},
    {"lnet_drop_asym_route", "drop_asym_route"},
    {"lnet_retry_count", "retry_count"},
    {"lnet_transaction_timeout", "transaction_timeout"},
    {"lnet_health_sensitivity", "health_sensitivity"},
    {"lnet_recovery_interval", "recovery_interval"},
    {"router_sensitivity_percentage", "router_sensitivity"},
    {"lnet_response_tracking", "response_tracking"},
    {"lnet_recovery_limit", "recovery_limit"},
    {"lnet_max_recovery_ping_interval", "max_recovery_ping_interval"},
});

[[nodiscard]] inline bool is_in(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

inline constexpr std::string_view kSelftestModule = "lnet_selftest";

// An option of the kernel that has no effect here.
struct UselessOption {
  std::string_view module;
  std::string_view name;
  std::string_view why;
};
// Null: it has one, or is not known. Without a module: of any.
[[nodiscard]] const UselessOption* find_useless_option(std::string_view module,
                                                       std::string_view name);

// Options that are kept for the parts that read them; empty: LNet has no such module.
[[nodiscard]] std::span<const std::string_view> kept_of(std::string_view module);

// Checks "MODULE.OPTION" as a name of `plnet.module_options`: a kept option, or one that earlier
// versions kept. kInvalid suggests the right name or the key of the document, or says why the
// option has no effect.
[[nodiscard]] Outcome<void> check_module_option(std::string_view name);

}  // namespace plnet::runtime
