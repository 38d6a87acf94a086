// SPDX-License-Identifier: BSD-3-Clause
// LNet's rules for changes of peers, on top of the mechanism of peer_directory.hpp. The writer of
// the directory calls them, and commits afterwards. Checked against lustre-release lnet/lnet/peer.c
// at v2_17_0; each function names its own there.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "lib/base/check.hpp"
#include "lib/lnet/peers/peer_directory.hpp"

namespace plnet::lnet {

// A peer before it is configured.
struct PeerFound {
  bool there = false;
  PeerFlags flags = 0;  // of kPeerConfigured, kPeerLockPrimary, kPeerMultiRail
  std::vector<Nid> nids;
};

class PeerRules {
 public:
  explicit PeerRules(PeerDirectory& directory) : directory_(directory) {}

  // `lnetctl peer add`: a peer with only the primary NID (`nid` any), or another NID for a
  // configured one: lnet_add_peer_ni().
  PeerResult<void> configure(const Nid& primary, const Nid& nid, bool multi_rail, bool lock_primary,
                             Instant now);
  // `lnetctl peer del`; `nid` any: the whole peer: lnet_del_peer_ni(). A peer whose primary NID is
  // locked loses only its other NIDs, unless forced.
  PeerResult<void> unconfigure(const Nid& primary, const Nid& nid, bool force);
  // Undoes configure() for this NID, even of a gateway.
  PeerResult<void> withdraw(const Nid& primary, const Nid& nid);
  // Undoes configure() for the peer: it has the NIDs that it had before, and is removed if it did
  // not exist and is no gateway now. Its next answer brings back NIDs that discovery had found.
  [[nodiscard]] PeerFound found(const Nid& primary);
  PeerResult<void> put_back(const Nid& primary, const PeerFound& before);

  // lnet_peer_add()
  PeerResult<void> add_peer(const Nid& nid, PeerFlags flags, Instant now);
  // lnet_peer_add_nid(): takes the NID from another peer, unless that one was configured; a peer
  // that loses its primary NID in this way is dissolved.
  PeerResult<void> add_nid(PeerRecord& peer, const Nid& nid, PeerFlags flags);
  // lnet_peer_del_nid()
  PeerResult<void> delete_nid(PeerRecord& peer, const Nid& nid, PeerFlags flags);
  // lnet_peer_del()
  PeerResult<void> delete_peer(PeerRecord& peer);
  // lnet_peer_set_primary_nid()
  PeerResult<void> set_primary(PeerRecord& peer, const Nid& nid, PeerFlags flags);
  // lnet_peer_deletion(): the peer keeps only its primary interface. Its other interfaces on our
  // networks become peers of their own, each of which is passed to `apart`; the rest are removed.
  // So a peer that is to be forgotten keeps its connections, as in the kernel.
  template <class Apart>
  void split(PeerRecord& peer, Apart&& apart);
  // lnet_peer_table_cleanup_locked(), after 2.17: the last NI of the network is removed. A peer
  // that is reachable by another network keeps all its NIDs, takes a NID of that network as the
  // first one, and is passed to `stays`. Routes over the network have been deleted before.
  template <class Stays>
  void net_removed(NetId net, Stays&& stays);

  // Marks a peer as multi-rail by discovery or configuration: it has no preferred NI any more.
  static void become_multi_rail(PeerRecord& peer);

 private:
  // The NIDs of a peer in order, so that the peer may change during a walk.
  using NidRoom = std::array<Nid, kNisMax>;
  [[nodiscard]] static std::span<const Nid> nids_of(PeerRecord& peer, NidRoom& room);
  [[nodiscard]] const PeerNiRecord* reached_without(PeerRecord& peer, NetId net) const;
  void keep_reached_primary(PeerRecord& peer);
  [[nodiscard]] static PeerNetRecord* net_of(PeerRecord& peer, NetId net);
  // False: the peer is removed.
  [[nodiscard]] bool leave_net(PeerRecord& peer, NetId net);
  PeerResult<void> reset(PeerRecord& peer);
  PeerResult<void> take_back(PeerRecord& peer, const Nid& nid);
  [[nodiscard]] bool dissolve_for(PeerRecord& peer, PeerNiRecord& ni);
  void apply(PeerRecord& peer, PeerFlags flags);

  PeerDirectory& directory_;
  std::uint32_t locks_ = 0;  // number of primary NIDs locked so far
};

template <class Apart>
void PeerRules::split(PeerRecord& peer, Apart&& apart) {
  PLNET_CHECK(!peer.dead, "a living peer is split");
  keep_reached_primary(peer);
  NidRoom room{};
  for (const Nid& nid : nids_of(peer, room)) {
    if (nid == peer.primary) continue;
    if (directory_.reaches(nid) && directory_.has_peers_for_others()) {
      if (const auto part = directory_.create(nid, peer.created)) {
        apart(**part);
        continue;
      }
    }
    PeerNiRecord* const there = directory_.lookup(nid);
    PLNET_CHECK(there != nullptr, "a NID that stays with its peer is found");
    directory_.detach(*there);
  }
}

template <class Stays>
void PeerRules::net_removed(NetId net, Stays&& stays) {
  directory_.for_each([&](PeerRecord& peer) {
    if (net_of(peer, net) != nullptr && leave_net(peer, net)) stays(peer);
  });
}

}  // namespace plnet::lnet
