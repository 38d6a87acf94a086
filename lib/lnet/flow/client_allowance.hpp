// SPDX-License-Identifier: BSD-3-Clause
// The number of messages of one client that this node forwards at a time.
#pragma once

#include <cstdint>

#include "lib/base/check.hpp"
#include "lib/lnet/api/parameters.hpp"
#include "lib/lnet/peers/net_interface.hpp"

namespace plnet::lnet {

struct ClientAllowance {
  std::int32_t credits = 0;
  bool is_set = false;  // by the configuration: the client borrows none
};

// lustre-release include/linux/lnet/lib-lnet.h: lnet_peer_buffer_credits()
[[nodiscard]] inline ClientAllowance allowance_of(const NiTunables& tunables,
                                                  const Parameters& parameters) {
  PLNET_DEBUG_CHECK(parameters.peer_buffer_credits.get() >= 0,
                    "a number of credits is not negative");
  if (tunables.peer_buffer_credits > 0) return {tunables.peer_buffer_credits, true};
  const std::int32_t of_node = parameters.peer_buffer_credits.get();
  return of_node > 0 ? ClientAllowance{of_node, true}
                     : ClientAllowance{tunables.peer_credits, false};
}

}  // namespace plnet::lnet
