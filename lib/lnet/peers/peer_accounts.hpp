// SPDX-License-Identifier: BSD-3-Clause
// The account of each peer: the other peers that exist only since its messages named them. A sender
// can name any NID as a destination, and a router any NID as a source, so each has a share of the
// table and a rate. Used by the coordinator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lib/base/clock.hpp"

namespace plnet::lnet {

// By number of a peer.
class PeerAccounts {
 public:
  static constexpr std::uint32_t kNobody = UINT32_MAX;

  explicit PeerAccounts(std::size_t peers) : accounts_(peers) {}

  // Peers on this account now.
  [[nodiscard]] std::size_t held_by(std::uint32_t payer) const { return accounts_[payer].held; }
  // One more peer is within the rate of one in each `each`. The account may run ahead by a second.
  [[nodiscard]] bool in_time(std::uint32_t payer, Duration each, Instant now);
  void charge(std::uint32_t peer, std::uint32_t payer);
  // A message has arrived from the peer itself: it leaves the account of its namer.
  void discharge(std::uint32_t peer);
  // kNobody: the peer is on no account, or the namer is gone.
  [[nodiscard]] std::uint32_t payer_of(std::uint32_t peer) const;
  // The number is free for another peer.
  void close(std::uint32_t peer);

 private:
  struct Account {
    Instant next{};  // the earliest time of the next peer
    std::uint32_t held = 0;
    std::uint32_t owner = 0;  // grows with each peer of this number
    std::uint32_t payer = kNobody;
    std::uint32_t payer_owner = 0;
  };

  std::vector<Account> accounts_;
};

}  // namespace plnet::lnet
