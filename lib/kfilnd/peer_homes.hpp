// SPDX-License-Identifier: BSD-3-Clause
// The homes of peers, as the kfi LNDs of one interface ask for them.
#pragma once

#include <cstdint>

#include "lib/base/result.hpp"
#include "lib/lnet/names/nid.hpp"

namespace plnet::kfilnd {

class PeerHomes {
 public:
  virtual ~PeerHomes() = default;
  // Cold. The receive context of the shard to which the core gives messages for this peer, which
  // need not be known yet. kAgain: not known now, but a question is under way; the message of the
  // peer waits and asks again in each turn. Any other error: no message will ever go to this peer.
  // Called on each shard of the interface, from inside a poll or flush. The answer for a peer
  // changes only after the core has released the peer.
  [[nodiscard]] virtual Result<std::uint8_t> home_of(const lnet::Nid& peer) = 0;
};

}  // namespace plnet::kfilnd
