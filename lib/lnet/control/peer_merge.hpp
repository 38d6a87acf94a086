// SPDX-License-Identifier: BSD-3-Clause
// Updates a peer from a ping buffer. Checked against lustre-release lnet/lnet/peer.c:
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

// The effects of discovery on other parts. Called inside Discovery::step().
class DiscoveryObserver {
 public:
  virtual ~DiscoveryObserver() = default;
  // The status of the NI went from up to down, and its health was lowered: recovery pings.
  virtual void on_peer_ni_down(PeerNi& /*ni*/) {}
  // For router aliveness.
  virtual void on_gateway_heard(Peer& /*gateway*/, const PingView& /*buffer*/) {}
  virtual void on_gateway_discovered(Peer& /*gateway*/, Result<void> /*outcome*/) {}
  // `from` has named the primary NID of `to`: interfaces of `from` may belong to `to` now. Both
  // stay.
  virtual void on_handed_over(PeerRecord& /*from*/, PeerRecord& /*to*/) {}
};

// Discovery must not change the NIDs of the peer (lnet_is_discovery_disabled()).
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

  // Leaves out and counts NIDs without room. True: a NID is still being removed elsewhere, or is
  // claimed by another node; merge again later. May dissolve other peers. The caller commits.
  [[nodiscard]] bool merge(PeerRecord& peer, const PingView& buffer);
  // `from` reports the primary NID of `owner` as its own. False: `owner` has not listed `from`, and
  // must be asked.
  [[nodiscard]] bool may_join(PeerRecord& from, PeerRecord& owner);
  void note_word(const PeerRecord& peer, const Nid& primary) {
    (void)claims_.set_primary(peer.number, primary);
  }
  void forget(const PeerRecord& peer) { claims_.forget(peer.number); }
  // NIDs of peers that must confirm claims of other peers. To be asked.
  [[nodiscard]] std::vector<Nid>& to_ask() { return to_ask_; }

 private:
  // The most entries of a slot.
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
  // Sized at start; in most nodes hardly any of it is ever touched.
  std::vector<PingEntry> entries_;
  std::vector<Nid> known_;
  PeerClaims claims_;
  std::vector<Nid> to_ask_;
};

}  // namespace plnet::lnet
