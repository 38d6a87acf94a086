// SPDX-License-Identifier: BSD-3-Clause
// The peer NIs that announced messages go to, from their announcement until they are offered in the
// same turn and order. What nobody offers then is forgotten.
#pragma once

#include <array>
#include <cstddef>

#include "lib/base/check.hpp"
#include "lib/lnet/peers/peer.hpp"

namespace plnet::lnet {

class LookedAhead {
 public:
  // What more than these fetch pushes out of the cache what the first did.
  static constexpr std::size_t kMost = 32;

  void clear() { next_ = count_ = 0; }
  void add(PeerNi& found) {
    PLNET_CHECK(count_ < kMost, "no more are looked at together");
    found_[count_++] = &found;
  }
  // Null: `nid` is not the next one's.
  [[nodiscard]] PeerNi* take(const Nid& nid) {
    if (next_ == count_ || found_[next_]->nid != nid) return nullptr;
    return found_[next_++];
  }

 private:
  std::array<PeerNi*, kMost> found_{};
  std::size_t next_ = 0;
  std::size_t count_ = 0;
};

}  // namespace plnet::lnet
