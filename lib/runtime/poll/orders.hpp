// SPDX-License-Identifier: BSD-3-Clause
// Orders that go to every shard.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "lib/base/check.hpp"
#include "lib/base/result.hpp"
#include "lib/runtime/poll/poller.hpp"

namespace plnet::runtime {

// Admin thread. Every shard gets its order or none does (kAgain), so that no change is carried out
// by half of them: one change is one order. `order(i)` makes the order for pollers[i].
template <class Order>
[[nodiscard]] Outcome<void> order_all(std::span<Poller* const> pollers, Order order) {
  for (Poller* poller : pollers)
    poller->commands().drain();  // completed orders make room
  for (const Poller* poller : pollers) {
    if (poller->commands().outstanding() < CommandChannel::kCommandsMax) continue;
    return failure(Errc::kAgain, "poller " + std::string(poller->name()) +
                                     " has not run its last " +
                                     std::to_string(CommandChannel::kCommandsMax) +
                                     " orders, expected one that turns; nothing was changed");
  }
  for (std::size_t i = 0; i < pollers.size(); ++i) {
    const auto sent = pollers[i]->commands().submit(order(i));
    PLNET_CHECK(sent.has_value(), "there was room for one more");
  }
  return {};
}

}  // namespace plnet::runtime
