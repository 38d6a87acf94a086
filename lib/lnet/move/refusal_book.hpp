// SPDX-License-Identifier: BSD-3-Clause
// Messages that a shard drops because of the node's configuration: it does not route, has no route,
// or an access rule forbids to forward them. Counters have their numbers; the admin thread gets one
// message each second, for each cause and network.
#pragma once

#include <array>
#include <chrono>
#include <optional>

#include "lib/base/clock.hpp"
#include "lib/base/ring.hpp"
#include "lib/lnet/move/statistics.hpp"
#include "lib/lnet/names/nid.hpp"

namespace plnet::lnet {

struct RefusedMessage {
  Cause cause{};
  Nid source = Nid::any();
  Nid destination = Nid::any();
};

class RefusalBook {
 public:
  static constexpr std::array kCauses{Cause::kDroppedNotRouting, Cause::kDroppedAccess,
                                      Cause::kDroppedForwardNoPath, Cause::kTxNoPath};
  static constexpr Duration kEach = std::chrono::seconds(1);
  static constexpr std::size_t kWaitingMax = 16;
  static_assert(kCauses.size() < kWaitingMax, "one burst of every cause finds room");

  void note(Cause cause, const Nid& source, const Nid& destination, Instant now) {
    for (std::size_t row = 0; row < kCauses.size(); ++row) {
      if (kCauses[row] != cause) continue;
      Last& last = last_[row];
      if (last.net == destination.net() && now < last.again_at) continue;
      if (waiting_.push({cause, source, destination}))
        last = {.net = destination.net(), .again_at = now + kEach};
    }
  }
  // Called by the admin thread.
  [[nodiscard]] bool take(RefusedMessage& refused) { return waiting_.pop(refused); }

 private:
  struct Last {
    NetId net = 0;
    Instant again_at{};
  };

  std::array<Last, kCauses.size()> last_{};
  SpscRing<RefusedMessage> waiting_{kWaitingMax};
};

}  // namespace plnet::lnet
