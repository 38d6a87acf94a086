// SPDX-License-Identifier: BSD-3-Clause
// The peers of one LND: a bounded number, each found by its NID.
#pragma once

#include <memory>
#include <vector>

#include "lib/base/pool.hpp"
#include "lib/o2iblnd/environment.hpp"
#include "lib/o2iblnd/peer.hpp"

namespace plnet::o2iblnd {

class Peers {
 public:
  explicit Peers(Environment& environment);

  [[nodiscard]] Peer* find(std::uint64_t nid64) const;
  // nullptr: there are as many as may be.
  [[nodiscard]] Peer* find_or_make(const lnet::Nid& nid);
  // The peer of a link, which is bound to it. kInvalid: the NID is of another network; kNoMemory.
  [[nodiscard]] Result<Peer*> of_link(lnet::PeerLink& link);
  void bind(Peer& peer, lnet::PeerLink* link);
  // Gives the record back if nothing refers to the peer.
  void release_unused(Peer& peer);
  // No connection is left and none is under way: forgets the agreed parameters.
  static void forget(Peer& peer);

  // The peer may have connections on other shards than the core knows.
  void announce_soon(Peer& peer) {
    if (environment_.config.lanes != nullptr && !peer.linked()) to_announce_.push_back(peer);
  }
  [[nodiscard]] Peer* next_to_announce() { return to_announce_.pop_front(); }
  [[nodiscard]] bool has_to_announce() const { return !to_announce_.empty(); }

  void start_release(lnet::PeerLink& link);
  [[nodiscard]] bool is_releasing(const lnet::PeerLink& link) const;
  [[nodiscard]] std::vector<lnet::PeerLink*>& releasing() { return releasing_; }
  [[nodiscard]] const std::vector<lnet::PeerLink*>& releasing() const { return releasing_; }

  [[nodiscard]] std::size_t size() const { return pool_.capacity() - pool_.free_count(); }
  [[nodiscard]] std::uint32_t slots() const { return static_cast<std::uint32_t>(pool_.capacity()); }
  [[nodiscard]] Peer* at(std::uint32_t slot) {
    return pool_.is_lent(slot) ? &pool_.at(slot) : nullptr;
  }
  [[nodiscard]] const Peer* at(std::uint32_t slot) const {
    return pool_.is_lent(slot) ? &pool_.at(slot) : nullptr;
  }

 private:
  [[nodiscard]] Peer*& bucket(std::uint64_t nid64) const;

  Environment& environment_;
  Pool<Peer> pool_;
  std::size_t mask_;
  std::unique_ptr<Peer*[]> buckets_;
  IntrusiveList<Peer> to_announce_;
  std::vector<lnet::PeerLink*> releasing_;
};

}  // namespace plnet::o2iblnd
