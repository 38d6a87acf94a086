// SPDX-License-Identifier: BSD-3-Clause
// Pings peer NIs that messages avoid until they have full health: without messages, nothing else
// would show that they work again.
// - An NI that has lost health, one of several of its peer: each answer gives some back.
// - A next hop that forwarded messages were refused for because it is down. Messages of the node
//   itself go to peers that are down; forwarded ones do not.
//
// Used by the coordinator. Checked against lustre-release lnet/lnet/lib-move.c:
// lnet_recover_peer_nis(), lnet/lnet/peer.c: lnet_peer_ni_add_to_recoveryq_locked();
// lnet/include/lnet/lib-lnet.h: lnet_get_next_recovery_ping().
//
// Departures from the kernel: next hops that are down are pinged even if no message ever came from
// them, and only while messages are refused for them. No message goes there until a ping is
// answered, so these pings are at most kHopIntervalMax apart, like those to gateways. Pings to
// other interfaces are up to max_recovery_ping_interval apart.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "lib/base/clock.hpp"
#include "lib/base/counters.hpp"
#include "lib/lnet/api/parameters.hpp"
#include "lib/lnet/control/node_ping.hpp"
#include "lib/lnet/peers/peer_directory.hpp"

namespace plnet::lnet {

#define PLNET_RECOVERY_COUNTERS(X)                                                                 \
  X(kPeerNis, "peer_nis", "interfaces", kGauge, "peer NIs in recovery: down or below full health") \
  X(kBegun, "begun", "interfaces", kCount, "peer NIs that entered recovery")                       \
  X(kNoRoom, "no_room", "requests", kCount,                                                        \
    "peer NIs not pinged: recovery is full, and they are tried again")                             \
  X(kPings, "pings", "pings", kCount, "recovery pings sent")                                       \
  X(kAnswered, "pings_answered", "pings", kCount, "recovery pings answered")                       \
  X(kFailed, "pings_failed", "pings", kCount, "recovery pings not answered in time or not sent")   \
  X(kRecovered, "recovered", "interfaces", kCount,                                                 \
    "peer NIs that are up and at full health again")                                               \
  X(kLetGo, "let_go", "interfaces", kCount,                                                        \
    "peer NIs that left recovery unrecovered: removed, unused or too old")

PLNET_COUNTERS(RecoveryTable, PLNET_RECOVERY_COUNTERS);
using RecoveryCounters = Counters<RecoveryTable>;
using RecoveryCounter = RecoveryTable::Id;

class PeerRecovery {
 public:
  // A router serves some hundred servers, or its clients come back one by one; a request without
  // room is repeated with the next refused message.
  static constexpr std::size_t kPeerNisMax = 256;
  // Recovery uses at most this part of the slots for pings, or kUnderWayLeast: the rest is for
  // discovery and `lnetctl ping`.
  static constexpr std::size_t kUnderWayPart = 4;
  static constexpr std::size_t kUnderWayLeast = 8;
  // Includes pings that were given up: an LND may keep one for a minute, and pings to silent peers
  // must not take the slots of others.
  static constexpr std::size_t kOutPart = 2;
  static constexpr std::size_t kOutLeast = 24;
  static constexpr Duration kFirst = std::chrono::seconds(1);
  static constexpr Duration kHopIntervalMax = std::chrono::seconds(60);
  // A ping that its LND keeps for longer is not waited for.
  static constexpr Duration kLndWait = std::chrono::seconds(60);
  // Time for four repeats of a connection request by the system.
  static constexpr Duration kPingTimeout = std::chrono::seconds(10);
  // Time after the last refused message for which a next hop is pinged.
  static constexpr Duration kWantedFor = std::chrono::minutes(5);
  static constexpr Duration kLookAtAll = std::chrono::minutes(1);
  // Traffic restores health, too, long before the next ping may be due.
  static_assert(kFirst <= kHopIntervalMax && kPingTimeout < kLndWait,
                "a ping ends before its LND gives it up");
  static constexpr Duration kLookAtLeast = std::chrono::seconds(10);

  // Allocates; start-up only.
  PeerRecovery(PeerDirectory& directory, const Parameters& parameters, NodePing& pings,
               std::size_t peer_nis = kPeerNisMax)
      : directory_(directory), parameters_(parameters), pings_(pings), entries_(peer_nis) {
    for (Entry& entry : entries_)
      entry.owner = this;
  }
  PeerRecovery(const PeerRecovery&) = delete;
  PeerRecovery& operator=(const PeerRecovery&) = delete;

  // The NI lacks health, and its health matters.
  [[nodiscard]] bool lacks_health(const PeerNi& ni) const;
  // The peer NI lacks health, or a message to it was refused because it is down. Without room it
  // takes the place of one without a recent request.
  void add(const Nid& nid, Instant now);
  // The same for an NI that lacks health and has no request, if it is not pinged yet.
  void keep(const Nid& nid, Instant now);
  // Some NI that lacks health may not be pinged: looks at all peers, once in kLookAtAll.
  void request_look_at_all() { look_at_all_ = !entries_.empty(); }
  // Begins due pings, and removes NIs that are up or no longer wanted. Returns the work done.
  unsigned step(Instant now);
  [[nodiscard]] Instant next_deadline() const {
    return look_at_all_ ? std::min(next_look_, next_look_at_all_) : next_look_;
  }

  [[nodiscard]] std::size_t under_way_max() const {
    return std::max(pings_.slots() / kUnderWayPart, kUnderWayLeast);
  }
  [[nodiscard]] std::size_t out_max() const {
    return std::max(pings_.slots() / kOutPart, kOutLeast);
  }
  [[nodiscard]] const RecoveryCounters& counters() const { return counters_; }
  // The NIDs that it pings.
  [[nodiscard]] std::vector<Nid> targets() const;
  // The state of the pings to one NI.
  struct Effort {
    Nid nid;
    unsigned pings = 0;  // so far
    Instant next{};      // the next one; Instant::min(): none, the last one was answered
  };
  [[nodiscard]] std::vector<Effort> efforts() const;

 private:
  struct Entry final : PingRequest {
    void done(Result<void> outcome, const PingView* buffer) override {
      owner->answered(*this, outcome, buffer);
    }

    PeerRecovery* owner = nullptr;
    bool used = false;
    bool under_way = false;
    bool heard = false;  // the last ping was answered
    unsigned pings = 0;  // so far (lpni_ping_count)
    Instant next{};      // the next one
    Instant wanted{};    // time of the last request
    Instant begun{};     // the last ping
  };

  [[nodiscard]] Duration interval_max(const PeerNi* ni) const;
  [[nodiscard]] Duration interval_after(const Entry& entry) const;
  void add_known(Entry& entry, Instant now);
  [[nodiscard]] bool is_over(const Entry& entry, Instant now);
  [[nodiscard]] Entry* find(const Nid& nid);
  [[nodiscard]] bool begin(const Nid& nid, Instant now);
  [[nodiscard]] Entry* place(Instant now);
  [[nodiscard]] bool begin_ill_of(const PeerRecord& peer, Instant now);
  void look_at_all(Instant now);
  [[nodiscard]] bool may_begin(Entry& entry, Instant now);
  void remove(Entry& entry);
  void begin_ping(Entry& entry, Instant now);
  void answered(Entry& entry, Result<void> outcome, const PingView* buffer);

  RecoveryCounters counters_;  // first: lies on lines of its own
  PeerDirectory& directory_;
  const Parameters& parameters_;
  NodePing& pings_;
  std::vector<Entry> entries_;
  // The round begins behind the entry that was pinged last, since silent entries are due again
  // before all others had their turn.
  std::size_t turn_ = 0;
  std::size_t under_way_ = 0;
  Instant next_look_ = Instant::max();
  bool look_at_all_ = false;
  std::uint32_t look_at_ = 0;  // the number of the next peer
  Instant next_look_at_all_{};
};

}  // namespace plnet::lnet
