// SPDX-License-Identifier: BSD-3-Clause
// The options of module lnet about checks of gateways, under the kernel's names.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "lib/lnet/api/parameters.hpp"

namespace plnet::lnet {

struct RouterOption {
  std::string_view name;
  Relaxed<std::int32_t> Parameters::* member;
  std::int64_t least;
  std::int64_t most;
  bool live;  // root may change it under /sys/module/lnet/parameters
};

inline constexpr std::int64_t kRouterSecondsMax = 86'400;

inline constexpr std::array<RouterOption, 5> kRouterOptions{{
    {"alive_router_check_interval", &Parameters::alive_router_check_interval_s, INT32_MIN,
     kRouterSecondsMax, true},
    {"router_ping_timeout", &Parameters::router_ping_timeout_s, 1, kRouterSecondsMax, true},
    {"check_routers_before_use", &Parameters::check_routers_before_use, 0, 1, false},
    {"avoid_asym_router_failure", &Parameters::avoid_asym_router_failure, 0, 1, true},
    {"auto_down", &Parameters::auto_down, 0, 1, false},
}};

}  // namespace plnet::lnet
