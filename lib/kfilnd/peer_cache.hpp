// SPDX-License-Identifier: BSD-3-Clause
// The peers of one LND: a bounded number, each found by its NID, each with a session key that no
// tag of the recent past can be mistaken for.
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
  // One more, in state NEW. kNoMemory: there are as many as may be, none idle among the
  // kLookedAtMax that this call looks at; else what the driver says of its address.
  [[nodiscard]] Result<Peer*> create(const lnet::Nid& nid, Instant now, Duration timeout);
  // Out of the cache: whoever asks for this NID from now on gets another peer. It is free when no
  // transaction uses it.
  void remove(Peer& peer);
  void use(Peer& peer) { ++peer.users; }
  void release(Peer& peer);
  // Its local session key named a buffer that a peer may still look for: not soon again.
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

  // When the table is full: whoever asks next looks at the next ones.
  static constexpr std::size_t kLookedAtMax = 64;
  // Peers whose buffers were taken back within the last few timeouts. Beyond that many the oldest
  // is forgotten: it takes 65536 further peers until its key comes round.
  static constexpr std::size_t kRetiredMax = 1024;
  // Each has a key of its own in its tags.
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
  std::uint32_t hand_ = 0;                                // where make_room() goes on
  std::array<Retired, kRetiredMax> retired_{};
  std::size_t next_retired_ = 0;
};

}  // namespace plnet::kfilnd
