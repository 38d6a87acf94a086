// SPDX-License-Identifier: BSD-3-Clause
// Which options LNet's kernel modules have, and what becomes of each of them here: kept under
// `plnet.module_options`, a key of the document, or nothing.
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
// lnet_peer_discovery_disabled is the other way round and stands by itself.
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

inline constexpr auto kUselessOfLnet = std::to_array<std::string_view>(
    {"config_on_load", "enable_sysctl_setup", "rnet_htable_size", "use_tcp_bonding",
     "local_nid_dist_zero", "cpu_npartitions", "cpu_pattern", "lock_prim_nid", "portal_rotor"});

[[nodiscard]] inline bool is_in(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// Options that are kept for those parts that look them up; empty: no module of LNet's.
[[nodiscard]] std::span<const std::string_view> kept_of(std::string_view module);

// "MODULE.OPTION" as `plnet.module_options` may name it: one that is kept, or was. kInvalid says
// what was meant, or which key of the document it has.
[[nodiscard]] Outcome<void> check_module_option(std::string_view name);

}  // namespace plnet::runtime
