// SPDX-License-Identifier: BSD-3-Clause
// The claims of each peer: its primary NID by its own report, and the peer that last listed a NID
// of it as its own. A NID from which messages have arrived changes its peer only when both agree,
// since a ping buffer can list any NID. The kernel believes the first report (lustre-release
// lnet/lnet/peer.c: lnet_peer_data_present()).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lib/base/check.hpp"
#include "lib/lnet/names/nid.hpp"

namespace plnet::lnet {

// By number of a peer.
class PeerClaims {
 public:
  explicit PeerClaims(std::size_t peers) : claims_(peers) {}

  // True: the claim is new.
  [[nodiscard]] bool set_primary(std::uint32_t peer, const Nid& primary) {
    PLNET_CHECK(peer < claims_.size() && !primary.is_any(),
                "a peer reports a NID as its primary one");
    return set(claims_[peer].primary, primary);
  }
  // True: this peer has not claimed it before.
  [[nodiscard]] bool claim(std::uint32_t peer, const Nid& by_primary) {
    PLNET_CHECK(peer < claims_.size() && !by_primary.is_any(),
                "a claim names the peer that makes it");
    return set(claims_[peer].claimed_by, by_primary);
  }
  // Any: no claim.
  [[nodiscard]] const Nid& primary_of(std::uint32_t peer) const { return claims_[peer].primary; }
  [[nodiscard]] const Nid& claimer_of(std::uint32_t peer) const { return claims_[peer].claimed_by; }
  void forget(std::uint32_t peer) {
    PLNET_CHECK(peer < claims_.size(), "numbers of peers are dense");
    claims_[peer] = {};
  }

 private:
  struct Word {
    Nid primary = Nid::any();
    Nid claimed_by = Nid::any();
  };

  [[nodiscard]] static bool set(Nid& old, const Nid& fresh) {
    const bool differs = old != fresh;
    old = fresh;
    return differs;
  }

  std::vector<Word> claims_;
};

}  // namespace plnet::lnet
