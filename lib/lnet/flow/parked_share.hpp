// SPDX-License-Identifier: BSD-3-Clause
// The share that one next hop, and one sender, has of an LND's receives. A parked message keeps its
// receive. On a network of streams a parked message holds back its sender, so each connection parks
// one. On a fabric (kfi) the messages of a sender do not wait for each other: messages for one next
// hop that is dead, or from one sender, could take every receive of the interface, and nothing of
// any other peer would be read.
//
// The rule is that of the router buffers: a holder alone gets half of the receives, ten holders get
// a tenth each and leave a tenth. A message beyond the share is dropped: the fabric has no flow
// control for a single peer, and a message that stays in its receive buffer holds back all of them.
#pragma once

#include <cstddef>

namespace plnet::lnet {

// Whether a holder of `parked` messages may park one more. `free`: receives of the LND that no
// message has; the message in question has one already.
[[nodiscard]] constexpr bool may_park(std::size_t parked, std::size_t free) {
  return parked < free;
}

}  // namespace plnet::lnet
