// SPDX-License-Identifier: BSD-3-Clause
// Peers whose connections an access rule has refused, on their way from a shard to the admin
// thread. Counters count all refusals; of a burst, some are not reported.
#pragma once

#include <cstddef>

#include "lib/base/ring.hpp"
#include "lib/lnet/names/nid.hpp"

namespace plnet::lnet {

struct RefusedPeer {
  Nid peer = Nid::any();
  Nid ours = Nid::any();  // the NI that it wants to connect to
  std::size_t rule = 0;   // its index at that moment
};

// One shard adds, the admin thread takes.
class RefusedPeerBook {
 public:
  // Between two looks of the admin thread, which are 100 ms apart.
  static constexpr std::size_t kWaitingMax = 16;

  void add(const RefusedPeer& refused) { (void)waiting_.push(refused); }
  [[nodiscard]] bool take(RefusedPeer& refused) { return waiting_.pop(refused); }

 private:
  SpscRing<RefusedPeer> waiting_{kWaitingMax};
};

}  // namespace plnet::lnet
