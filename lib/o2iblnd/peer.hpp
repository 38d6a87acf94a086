// SPDX-License-Identifier: BSD-3-Clause
// A peer, as one LND knows it.
#pragma once

#include <cstdint>

#include "lib/base/clock.hpp"
#include "lib/base/intrusive_list.hpp"
#include "lib/lnet/api/lnd.hpp"
#include "lib/o2iblnd/connection.hpp"
#include "lib/o2iblnd/tx.hpp"

namespace plnet::o2iblnd {

struct Peer : ListNode<> {  // in the list of peers with lanes to announce
  Peer* next_in_bucket = nullptr;
  lnet::PeerLink* link = nullptr;
  lnet::Nid nid;
  std::uint64_t nid64 = 0;
  unsigned users = 0;  // connections, whatever their state
  bool releasing = false;
  bool closed = false;  // for its release: nothing new begins

  IntrusiveList<Connection, OfPeer> connections;  // established; the first is next to send
  IntrusiveList<Connection, OfPeer> away;         // established on other shards
  IntrusiveList<Tx> waiting;                      // for a connection of this shard
  bool elsewhere = false;        // its home is another shard, which has connections on this one
  std::uint64_t lanes_told = 0;  // lanes that the core knows, by shard

  // Known since the first connection: forgotten with the last one, or when the last attempt has
  // failed.
  std::uint16_t version = 0;  // 0: not known
  std::uint64_t incarnation = 0;
  std::uint16_t queue_depth = 0;  // most to ask for; 0: as much as we may
  std::uint16_t max_frags = kFragmentsMax;
  unsigned connecting = 0;  // attempts of ours under way
  unsigned accepting = 0;
  unsigned reconnecting = 0;  // to be made when retry_at has come
  unsigned reconnects = 0;    // in a row
  unsigned races = 0;         // requests of the peer rejected in a row
  Instant retry_at = Instant::min();

  std::uint64_t last_incarnation = 0;  // outlives it, to tell a restart
  Instant last_alive{};

  [[nodiscard]] bool is_connecting() const {
    return connecting != 0 || accepting != 0 || reconnecting != 0;
  }
  [[nodiscard]] bool is_open() const { return !connections.empty() || !away.empty(); }
  [[nodiscard]] bool is_known() const { return is_connecting() || is_open(); }
};

}  // namespace plnet::o2iblnd
