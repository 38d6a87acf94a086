// SPDX-License-Identifier: BSD-3-Clause
// Peer NIs that are not well, which messages avoid, so that none would find out that they are
// again: each is pinged until it is.
// - One of several of a peer that has lost health: whatever comes from it gives it some back.
// - A next hop that forwarded messages were refused for, because it is down. A message that the
//   node itself makes goes to a peer that is down, those that it forwards do not.
// The coordinator's.
// Checked against lustre-release lnet/lnet/lib-move.c: lnet_recover_peer_nis(), lnet/lnet/peer.c:
// lnet_peer_ni_add_to_recoveryq_locked(); lnet/include/lnet/lib-lnet.h:
// lnet_get_next_recovery_ping().
//
// Where it departs from the kernel: next hops that are down are pinged though they were never heard
// of, and only for as long as somebody wants to reach them. Until one of their pings is answered
// nothing goes there, so these are at most kHopIntervalMax apart, as are those to gateways. Pings
// to other interfaces go up to max_recovery_ping_interval apart.
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

#define PLNET_RECOVERY_COUNTERS(X)                                                         \
  X(kPeerNis, "peer_nis", "interfaces", kGauge, "down or not well, and are pinged")        \
  X(kBegun, "begun", "interfaces", kCount, "found down or not well")                       \
  X(kNoRoom, "no_room", "requests", kCount, "not pinged: too many are; asked again")       \
  X(kPings, "pings", "pings", kCount, "pings to them")                                     \
  X(kAnswered, "pings_answered", "pings", kCount, "of them, answered")                     \
  X(kFailed, "pings_failed", "pings", kCount, "of them, not answered in time or not sent") \
  X(kRecovered, "recovered", "interfaces", kCount, "up and well again")                    \
  X(kLetGo, "let_go", "interfaces", kCount, "pinged no more: gone, wanted by nobody, or aged")

PLNET_COUNTERS(RecoveryTable, PLNET_RECOVERY_COUNTERS);
using RecoveryCounters = Counters<RecoveryTable>;
using RecoveryCounter = RecoveryTable::Id;

class PeerRecovery {
 public:
  // A router serves some hundred servers, or its clients come back one by one; whoever finds no
  // room asks again with the next message that is refused.
  static constexpr std::size_t kPeerNisMax = 256;
  // One in so many of the slots for pings, or as many as that at least: discovery and `lnetctl
  // ping` are to have theirs.
  static constexpr std::size_t kUnderWayPart = 4;
  static constexpr std::size_t kUnderWayLeast = 8;
  // Also of those that were given up: an LND may hold on to one for a minute, and peers that are
  // silent must not keep one that is back from its ping.
  static constexpr std::size_t kOutPart = 2;
  static constexpr std::size_t kOutLeast = 24;
  static constexpr Duration kFirst = std::chrono::seconds(1);
  static constexpr Duration kHopIntervalMax = std::chrono::seconds(60);
  // A ping that its LND has not given up for so long is not waited for.
  static constexpr Duration kLndWait = std::chrono::seconds(60);
  // The system repeats a connection request four times until then.
  static constexpr Duration kPingTimeout = std::chrono::seconds(10);
  // One that nothing was to be forwarded to for so long is nobody's next hop any more.
  static constexpr Duration kWantedFor = std::chrono::minutes(5);
  static constexpr Duration kLookAtAll = std::chrono::minutes(1);
  // Traffic makes interfaces well, too, long before their next ping may be due.
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

  // It has less health than it could have, and that matters.
  [[nodiscard]] bool lacks_health(const PeerNi& ni) const;
  // It is not well, or a message for it was refused, since it is down. Where there is no room one
  // that nobody has asked for lately makes some.
  void add(const Nid& nid, Instant now);
  // The same for one that is not well, if it is not pinged yet: nobody asks for it.
  void keep(const Nid& nid, Instant now);
  // Somebody who is not well may be none of these: all peers are looked at, once in kLookAtAll.
  void request_look_at_all() { look_at_all_ = !entries_.empty(); }
  // Pings that are due begin; who is up, or wanted by nobody, is let go. Returns the work done.
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
  // Whom it pings.
  [[nodiscard]] std::vector<Nid> targets() const;
  // What is done about one of them.
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
    Instant wanted{};    // last
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
  // Where turns are taken from: behind the entry that was pinged last. Those that are silent are
  // due again before all have had theirs.
  std::size_t turn_ = 0;
  std::size_t under_way_ = 0;
  Instant next_look_ = Instant::max();
  bool look_at_all_ = false;
  std::uint32_t look_at_ = 0;  // the number of the peer that is next
  Instant next_look_at_all_{};
};

}  // namespace plnet::lnet
