// SPDX-License-Identifier: BSD-3-Clause
// What the kfi LNDs of one interface ask of whoever knows where peers live.
#pragma once

#include <cstdint>

#include "lib/base/result.hpp"
#include "lib/lnet/names/nid.hpp"

namespace plnet::kfilnd {

class PeerHomes {
 public:
  virtual ~PeerHomes() = default;
  // Cold. The receive context of the shard to which the core gives what it sends to this peer, who
  // need not be known yet. kAgain: not known now, but it was asked for; what has come waits and
  // asks again, turn by turn. Any other error: nobody will ever send to this peer.
  // Called on each shard of the interface, from inside a poll or flush. The answer for a peer
  // changes only after the core has had the peer released.
  [[nodiscard]] virtual Result<std::uint8_t> home_of(const lnet::Nid& peer) = 0;
};

}  // namespace plnet::kfilnd
