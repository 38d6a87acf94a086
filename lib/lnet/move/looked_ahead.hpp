// SPDX-License-Identifier: BSD-3-Clause
// The peer NIs that announced messages go to, and the gateways that lead there, from their
// announcement until they are offered in the same turn and order. What nobody offers then is
// forgotten.
#pragma once

#include <array>
#include <cstddef>

#include "lib/base/check.hpp"
#include "lib/lnet/paths/path_selection.hpp"
#include "lib/lnet/peers/peer.hpp"

namespace plnet::lnet {

class LookedAhead {
 public:
  // What more than these fetch pushes out of the cache what the first did.
  static constexpr std::size_t kMost = 32;

  struct Destination {
    PeerNi* peer_ni = nullptr;
    OnlyHop gateway;  // if its net is not ours and only one leads there
  };

  void clear() { next_ = count_ = 0; }
  // Its gateway is for the caller to add.
  Destination& add(PeerNi& found) {
    PLNET_CHECK(count_ < kMost, "no more are looked at together");
    return found_[count_++] = {.peer_ni = &found, .gateway = {}};
  }
  // Without a peer NI: `nid` is not the next one's.
  [[nodiscard]] Destination take(const Nid& nid) {
    if (next_ == count_ || found_[next_].peer_ni->nid != nid) return {};
    return found_[next_++];
  }

 private:
  std::array<Destination, kMost> found_{};
  std::size_t next_ = 0;
  std::size_t count_ = 0;
};

}  // namespace plnet::lnet
