// SPDX-License-Identifier: BSD-3-Clause
// The peers of one LND: found by link or NID, heard of, and lost. lustre-release
// lnet/klnds/kfilnd/kfilnd_peer.c.
#pragma once

#include <cstdint>

#include "lib/base/intrusive_list.hpp"
#include "lib/kfilnd/environment.hpp"
#include "lib/kfilnd/peer_cache.hpp"
#include "lib/kfilnd/transactions.hpp"

namespace plnet::kfilnd {

class Peers {
 public:
  Peers(Environment& environment, Transactions& transactions, PeerCache& cache)
      : environment_(environment), transactions_(transactions), cache_(cache) {}

  // nullptr: unknown.
  [[nodiscard]] Peer* find(std::uint64_t nid64) const { return cache_.find(nid64); }
  [[nodiscard]] Result<Peer*> find_or_make(const lnet::Nid& nid, std::uint64_t nid64);
  // The peer of a link, which is bound to it. kInvalid: the NID is of another network.
  [[nodiscard]] Result<Peer*> of_link(lnet::PeerLink& link);
  // Null: the peer has no link any more.
  static void bind(Peer& peer, lnet::PeerLink* link);

  // The peer has sent or acknowledged something. Its time is the end of this turn, since events
  // bring no time.
  void on_heard(Peer& peer);
  // Sets the time of those that were heard of since the last flush.
  void stamp_heard();
  [[nodiscard]] bool has_heard() const { return !heard_.empty(); }

  // Runs the transactions that wait for a HELLO.
  void wake(Peer& peer) { transactions_.run_soon(peer.throttled); }
  void wake_all();
  // No HELLO of ours is under way any more.
  void end_hello(Peer& peer);

  // The home of a guest is another receive context. Its messages are received and its buffers are
  // read and written here; it gets no HELLO from here.
  void make_guest(Peer& peer);
  // The core sends to the peer from here, or calls this its home: it begins anew.
  static void make_resident(Peer& peer);

  // A transaction with the peer has failed. `tag_exposed`: the peer may still know the tag of a
  // buffer that is not laid open any more.
  void on_failure(Transaction& one, Errc cause, bool tag_exposed);

 private:
  // `broken_off`: by us, and nothing is wrong with the peer.
  void remove(Peer& peer, bool broken_off);

  // A session key rests for so many timeouts before its tags may be used again.
  static constexpr int kRetiredTimeouts = 3;

  Environment& environment_;
  Transactions& transactions_;
  PeerCache& cache_;
  IntrusiveList<Peer, ForStamp> heard_;
};

}  // namespace plnet::kfilnd
