// SPDX-License-Identifier: BSD-3-Clause
// Which changes of peers LNet allows to whom, over the mechanism of peer_directory.hpp. The writer
// of the directory calls, and commits afterwards.
// Checked against lustre-release lnet/lnet/peer.c at v2_17_0; each function names its own there.
#pragma once

#include <array>
#include <span>
#include <vector>

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

  // What `lnetctl peer add` asks: a peer of the primary NID alone (`nid` any), or another NID for
  // one that was configured: lnet_add_peer_ni().
  PeerResult<void> configure(const Nid& primary, const Nid& nid, bool multi_rail, bool lock_primary,
                             Instant now);
  // `lnetctl peer del`; `nid` any: all of the peer: lnet_del_peer_ni(). A peer whose primary NID is
  // locked loses its other NIDs only, unless forced.
  PeerResult<void> unconfigure(const Nid& primary, const Nid& nid, bool force);
  // As if configure() had not been asked for this NID, though it is a gateway's.
  PeerResult<void> withdraw(const Nid& primary, const Nid& nid);
  // As if it had not been asked for the peer: it has no more than it had before, and goes if it was
  // not there and is no gateway by now. What it was found to have and has lost its next answer
  // brings.
  [[nodiscard]] PeerFound found(const Nid& primary);
  PeerResult<void> put_back(const Nid& primary, const PeerFound& before);

  // lnet_peer_add()
  PeerResult<void> add_peer(const Nid& nid, PeerFlags flags, Instant now);
  // lnet_peer_add_nid(): takes the NID from another peer unless that was configured; a peer that
  // loses its primary NID so is dissolved.
  PeerResult<void> add_nid(PeerRecord& peer, const Nid& nid, PeerFlags flags);
  // lnet_peer_del_nid()
  PeerResult<void> delete_nid(PeerRecord& peer, const Nid& nid, PeerFlags flags);
  // lnet_peer_del()
  PeerResult<void> delete_peer(PeerRecord& peer);
  // lnet_peer_set_primary_nid()
  PeerResult<void> set_primary(PeerRecord& peer, const Nid& nid, PeerFlags flags);
  // It has no other interfaces than its primary one any more: those that we reach live on as peers
  // of their own, of which `apart` hears one by one, and the others go. A peer that is to be
  // forgotten keeps its connections so, as the kernel's do: lnet_peer_deletion().
  template <class Apart>
  void split(PeerRecord& peer, Apart&& apart);
  // The last local NI of the network goes. Who is reached by another one stays with all its NIDs,
  // by one of that from now on, and `stays` hears of it: lnet_peer_table_cleanup_locked(), after
  // 2.17. Routes over it have been deleted before.
  template <class Stays>
  void net_removed(NetId net, Stays&& stays);

  // Sets what discovery or configuration found out: no preference for a local NI any more.
  static void become_multi_rail(PeerRecord& peer);

 private:
  // Its NIDs in order, so that it may change while they are gone through.
  using NidRoom = std::array<Nid, kNisMax>;
  [[nodiscard]] static std::span<const Nid> nids_of(PeerRecord& peer, NidRoom& room);
  [[nodiscard]] const PeerNiRecord* reached_without(PeerRecord& peer, NetId net) const;
  void keep_reached_primary(PeerRecord& peer);
  [[nodiscard]] static PeerNetRecord* net_of(PeerRecord& peer, NetId net);
  // False: it has gone.
  [[nodiscard]] bool leave_net(PeerRecord& peer, NetId net);
  PeerResult<void> reset(PeerRecord& peer);
  PeerResult<void> take_back(PeerRecord& peer, const Nid& nid);
  [[nodiscard]] bool dissolve_for(PeerRecord& peer, PeerNiRecord& ni);
  void apply(PeerRecord& peer, PeerFlags flags);

  PeerDirectory& directory_;
  std::uint32_t locks_ = 0;  // primary NIDs locked so far
};

template <class Apart>
void PeerRules::split(PeerRecord& peer, Apart&& apart) {
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
    directory_.detach(*directory_.lookup(nid));
  }
}

template <class Stays>
void PeerRules::net_removed(NetId net, Stays&& stays) {
  directory_.for_each([&](PeerRecord& peer) {
    if (net_of(peer, net) != nullptr && leave_net(peer, net)) stays(peer);
  });
}

}  // namespace plnet::lnet
