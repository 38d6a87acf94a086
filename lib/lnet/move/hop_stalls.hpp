// SPDX-License-Identifier: BSD-3-Clause
// Next hops that have stalled. A hop is stalled if it takes nothing for kHopStall while messages
// wait on its account and its LND has been given something. Its clients get back the client credits
// of messages to it, at once when more arrive, so this router goes on to read them. A message that
// would have to wait for it is dropped; messages within its share stay until its LND gives up. The
// first message that ends there, with any result, gives the hop another try.
#pragma once

#include "lib/base/clock.hpp"
#include "lib/lnet/move/receive.hpp"

namespace plnet::lnet {

struct ShardCore;

// Longer than a transport takes to repeat lost bytes, well below the timeout of any LND.
inline constexpr Duration kHopStall = std::chrono::seconds(5);

class HopStalls {
 public:
  explicit HopStalls(ShardCore& core) : core_(core) {}

  // Finds hops that have stalled. Now and then, while messages wait.
  void sweep();

 private:
  template <class Visit>
  void for_each_without_ni_credit(Visit&& visit);
  [[nodiscard]] bool has_stalled(const Receive& receive) const;
  void stall(PeerPort& hop);

  ShardCore& core_;
};

}  // namespace plnet::lnet
