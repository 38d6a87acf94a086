// SPDX-License-Identifier: BSD-3-Clause
// The table of the peers of one LND: a bounded number, each found by its NID, each with a session
// key that makes its tags differ from all tags of the recent past.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <memory>

#include "lib/base/pool.hpp"
#include "lib/kfilnd/peer.hpp"

namespace plnet::kfilnd {

class PeerCache {
 public:
  PeerCache(std::size_t peers_max, std::uint32_t first_session_key, EndpointDriver& driver);

  [[nodiscard]] Peer* find(std::uint64_t nid64) const;
  // Makes a peer in state NEW. kNoMemory: the table is full, and none of the kLookedAtMax peers
  // that this call looks at is idle; other errors: the driver cannot resolve the address.
  [[nodiscard]] Result<Peer*> create(const lnet::Nid& nid, Instant now, Duration timeout);
  // Takes the peer out of the table: this NID gets another record. The record is free when no
  // transaction uses it.
  void remove(Peer& peer);
  void use(Peer& peer) { ++peer.users; }
  void release(Peer& peer);
  // The tags with its local session key may still be used by the peer: the key rests until then.
  void retire_key(const Peer& peer, Instant until);

  [[nodiscard]] std::size_t size() const { return peers_.capacity() - peers_.free_count(); }
  template <class Visit>
  void for_each(Visit&& visit) {
    peers_.for_each_lent(std::forward<Visit>(visit));
  }
  // For reports, slot by slot; nullptr: empty.
  [[nodiscard]] std::uint32_t slots() const {
    return static_cast<std::uint32_t>(peers_.capacity());
  }
  [[nodiscard]] const Peer* at(std::uint32_t slot) const {
    return peers_.is_lent(slot) ? &peers_.at(slot) : nullptr;
  }

  // The peers that one call looks at when the table is full.
  static constexpr std::size_t kLookedAtMax = 64;
  // Peers whose buffers were cancelled within the last few timeouts. With more of them the oldest
  // is forgotten: its key is used again after 65536 further peers.
  static constexpr std::size_t kRetiredMax = 1024;
  // Each peer has its own key in its tags.
  static constexpr std::size_t kPeersMax = UINT16_MAX - kRetiredMax;

 private:
  struct Retired {
    std::uint16_t key = 0;
    Instant until = Instant::min();
  };

  [[nodiscard]] Peer*& bucket(std::uint64_t nid64) const;
  [[nodiscard]] std::uint32_t next_session_key(Instant now);
  [[nodiscard]] bool is_retired(std::uint16_t key, Instant now) const;
  [[nodiscard]] bool make_room(Instant now, Duration timeout);
  void dispose(Peer& peer);

  EndpointDriver& driver_;
  Pool<Peer> peers_;
  std::size_t mask_;
  std::unique_ptr<Peer*[]> buckets_;
  std::uint32_t next_key_;
  std::bitset<std::size_t{UINT16_MAX} + 1> keys_in_use_;  // lower halves; also of removed peers
  std::uint32_t hand_ = 0;                                // the slot that make_room() looks at next
  std::array<Retired, kRetiredMax> retired_{};
  std::size_t next_retired_ = 0;
};

}  // namespace plnet::kfilnd
