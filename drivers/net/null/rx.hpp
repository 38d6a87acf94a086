// SPDX-License-Identifier: BSD-3-Clause
// Messages on their way in: offers a header to the core and runs its decision. A parked message
// blocks its peer; a decision that arrives by resume() is run in the next flush().
#pragma once

#include <cstdint>

#include "drivers/net/null/memory.hpp"
#include "drivers/net/null/peer.hpp"
#include "drivers/net/null/stats.hpp"
#include "lib/lnet/api/lnd.hpp"

namespace plnet::drivers {

class NullRx {
 public:
  NullRx(lnet::LndUpcalls& core, NullPeers& peers, NullStats& stats, const NullMemory& memory)
      : core_(core), peers_(peers), stats_(stats), memory_(memory) {}

  // These are offered next.
  void announce(std::span<const lnet::HeaderAhead> next) { core_.on_headers_ahead(next); }
  // Offers one message and, unless it is parked, ends it. The peer must not be blocked.
  void offer(NullPeer& peer, const lnet::MessageHeader& header);

  // The peer of the decision, or null if its message is gone.
  [[nodiscard]] NullPeer* resume(lnet::RxHandle rx, const lnet::RxDecision& decision);
  // Runs the decision that resume() has brought.
  void conclude(NullPeer& peer);
  // The connection is gone, and a parked message with it.
  void abandon(NullPeer& peer, Errc cause);

  [[nodiscard]] static bool blocked(const NullPeer& peer) {
    return peer.rx_state != NullRxState::kFree;
  }

 private:
  void carry_out(NullPeer& peer, lnet::RxHandle rx, const lnet::RxDecision& decision);

  lnet::LndUpcalls& core_;
  NullPeers& peers_;
  NullStats& stats_;
  const NullMemory& memory_;
};

}  // namespace plnet::drivers
