// SPDX-License-Identifier: BSD-3-Clause
// Destinations of announced messages, with the gateways that lead there, from the announcement
// until the messages are offered in the same turn and order. Entries of messages that are not
// offered expire with the turn.
#pragma once

#include <array>
#include <cstddef>

#include "lib/base/check.hpp"
#include "lib/lnet/paths/path_selection.hpp"
#include "lib/lnet/peers/peer.hpp"

namespace plnet::lnet {

class LookedAhead {
 public:
  // Prefetches for more messages than these would evict the lines of the first ones.
  static constexpr std::size_t kMost = 32;

  struct Destination {
    PeerNi* peer_ni = nullptr;
    OnlyHop gateway;  // the only one that leads to its remote network, if there is one
  };

  void clear() { next_ = count_ = 0; }
  // The caller sets the gateway.
  Destination& add(PeerNi& found) {
    PLNET_CHECK(count_ < kMost, "no more are looked at together");
    return found_[count_++] = {.peer_ni = &found, .gateway = {}};
  }
  // Without a peer NI: the next entry is for another NID.
  [[nodiscard]] Destination take(const Nid& nid) {
    if (next_ == count_ || found_[next_].peer_ni->nid != nid) return {};
    PLNET_CHECK(next_ < count_, "the next destination exists");
    return found_[next_++];
  }

 private:
  std::array<Destination, kMost> found_{};
  std::size_t next_ = 0;
  std::size_t count_ = 0;
};

}  // namespace plnet::lnet
