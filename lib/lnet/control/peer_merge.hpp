// SPDX-License-Identifier: BSD-3-Clause
// Makes a peer what a ping buffer says it is. Checked against lustre-release lnet/lnet/peer.c:
// lnet_peer_merge_data(), handle_disc_lpni_health().
#pragma once

#include <span>
#include <vector>

#include "lib/lnet/api/parameters.hpp"
#include "lib/lnet/control/discovery_counters.hpp"
#include "lib/lnet/control/peer_claims.hpp"
#include "lib/lnet/peers/peer_rules.hpp"
#include "lib/lnet/wire/ping_buffer.hpp"

namespace plnet::lnet {

// What others make of what discovery finds out. Inside Discovery::step().
class DiscoveryObserver {
 public:
  virtual ~DiscoveryObserver() = default;
  // Its status went from up to down: its health is lower now. Place for recovery pings.
  virtual void on_peer_ni_down(PeerNi& /*ni*/) {}
  // Place for router aliveness.
  virtual void on_gateway_heard(Peer& /*gateway*/, const PingView& /*buffer*/) {}
  virtual void on_gateway_discovered(Peer& /*gateway*/, Result<void> /*outcome*/) {}
  // What `from` said was the other's: interfaces of it may be that one's now. Both stay.
  virtual void on_handed_over(PeerRecord& /*from*/, PeerRecord& /*to*/) {}
};

// Whether discovery leaves the NIDs of a peer alone (lnet_is_discovery_disabled()).
[[nodiscard]] inline bool discovery_is_off(const PeerRecord& peer, const Parameters& parameters) {
  return parameters.discovery.get() == 0 || !peer.has(kPeerMultiRail) || peer.has(kPeerNoDiscovery);
}

class PeerMerge {
 public:
  PeerMerge(PeerDirectory& directory, PeerRules& rules, const Parameters& parameters,
            DiscoveryObserver& observer, DiscoveryCounters& counters)
      : directory_(directory),
        rules_(rules),
        parameters_(parameters),
        observer_(observer),
        counters_(counters),
        claims_(directory.numbers()) {
    entries_.reserve(kEntriesMax);
    known_.reserve(kNisMax);
  }

  // What there is no room for is left out, and counted. True: a NID is still on its way out
  // elsewhere, or another node's, merge again later. May dissolve other peers. The caller commits.
  [[nodiscard]] bool merge(PeerRecord& peer, const PingView& buffer);
  // `from` has said itself that its primary NID is `primary`, which `owner` has. False: `owner` has
  // not listed it, and is to be asked.
  [[nodiscard]] bool may_join(PeerRecord& from, PeerRecord& owner);
  void note_word(const PeerRecord& peer, const Nid& primary) {
    (void)claims_.set_primary(peer.number, primary);
  }
  void forget(const PeerRecord& peer) { claims_.forget(peer.number); }
  // Peers, by a NID, of which another one has said what only they can confirm. To be asked.
  [[nodiscard]] std::vector<Nid>& to_ask() { return to_ask_; }

 private:
  // Everything that can be in a slot.
  static constexpr std::size_t kEntriesMax = (kPingBytesMax + 63) / 12 + 1;

  [[nodiscard]] std::span<const PingEntry> read(const PingView& buffer);
  void update(const Nid& nid, std::uint32_t status);
  [[nodiscard]] static bool is_heard(PeerRecord& peer);
  [[nodiscard]] bool may_take(const PeerRecord& peer, const Nid& nid);
  void ask(const PeerRecord& peer);
  [[nodiscard]] PeerResult<void> add(PeerRecord& peer, const Nid& nid, PeerFlags flags);
  [[nodiscard]] bool add_all(PeerRecord& peer, std::span<const PingEntry> entries,
                             std::span<const Nid> known, PeerFlags flags);
  void remove(PeerRecord& peer, std::span<const PingEntry> entries, std::span<const Nid> known,
              PeerFlags flags);

  PeerDirectory& directory_;
  PeerRules& rules_;
  const Parameters& parameters_;
  DiscoveryObserver& observer_;
  DiscoveryCounters& counters_;
  // Have all their room from the start; in most nodes hardly any of it is ever touched.
  std::vector<PingEntry> entries_;
  std::vector<Nid> known_;
  PeerClaims claims_;
  std::vector<Nid> to_ask_;
};

}  // namespace plnet::lnet
