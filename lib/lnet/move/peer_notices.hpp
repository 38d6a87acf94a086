// SPDX-License-Identifier: BSD-3-Clause
// Reports of LNDs about peer NIs and NIs, and pings of other nodes: what they change in the state
// of peers and NIs, and in what the coordinator is told.
#pragma once

#include <optional>

#include "lib/lnet/move/shard_core.hpp"

namespace plnet::lnet {

class PeerNotices {
 public:
  explicit PeerNotices(ShardCore& core) : core_(core) {}

  // Upcalls of the LND of `port`.
  void on_peer(NiPort& port, const Nid& nid, PeerNotice notice, Instant when);
  void on_unreachable(const NiPort& port, const Nid& nid, Errc cause);
  void on_interface(Ni& ni, InterfaceState state);
  // A header has arrived. A ping of another node proves that the NI works.
  void on_header(NiPort& port, const RxOffer& offer);

 private:
  void on_down(NiPort& port, PeerNi& peer_ni);
  void on_alive(const NiPort& port, PeerNi& peer_ni, PeerNotice notice, Instant when);
  void note_reach(const NiPort& port, PeerNi& peer_ni, std::optional<Errc> trouble);
  static void note_connection(const NiPort& port, PeerNi& peer_ni, PeerNotice notice);
  [[nodiscard]] bool has_better_ni(const Peer& gateway, const Ni& ni) const;

  ShardCore& core_;
};

}  // namespace plnet::lnet
