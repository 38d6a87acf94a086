// SPDX-License-Identifier: BSD-3-Clause
// Limits of a simulated node's coordinator: room for exactly the possible peers of the site.
#pragma once

#include <cstddef>

#include "lib/lnet/control/coordinator.hpp"

namespace plnet::sim {

// `exchanges`: own pings and pushes at the same time.
[[nodiscard]] inline lnet::CoordinatorLimits coordinator_limits(std::size_t peers,
                                                                std::size_t exchanges) {
  lnet::CoordinatorLimits limits;
  limits.peers = {.peers = peers,
                  .peer_nis = peers,
                  .peers_over_2 = peers / 2 + 1,
                  .peers_over_8 = 1,
                  .peers_over_40 = 0,
                  .strangers_per_second = 1'000'000'000,
                  .kept_for_own = 0};
  limits.exchanges = exchanges;
  limits.notes = 32;
  return limits;
}

}  // namespace plnet::sim
