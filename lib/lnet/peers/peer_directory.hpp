// SPDX-License-Identifier: BSD-3-Clause
// All remote nodes that this node knows. The directory makes, moves and releases peers and peer
// NIs. Every shard looks up NIDs; one shard, the coordinator's, writes. This is the mechanism;
// peer_rules.hpp has LNet's rules.
//
// The removal of a peer NI: it leaves its peer; commit() publishes views without it; when no reader
// can hold it, its home shard gives up all that refers to it; when the home has confirmed and
// readers have passed once more, its record, its number and its NID are free.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "lib/base/check.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/counters.hpp"
#include "lib/base/intrusive_list.hpp"
#include "lib/base/pool.hpp"
#include "lib/base/prefetch.hpp"
#include "lib/base/qsbr.hpp"
#include "lib/base/qsbr_table.hpp"
#include "lib/lnet/peers/peer.hpp"
#include "lib/lnet/peers/peer_accounts.hpp"
#include "lib/lnet/peers/peer_complaints.hpp"
#include "lib/lnet/peers/peer_error.hpp"
#include "lib/lnet/peers/peer_records.hpp"
#include "lib/lnet/peers/placement.hpp"
#include "lib/lnet/peers/view_blocks.hpp"

namespace plnet::lnet {

struct PeerLimits {
  std::size_t peers = 4096;
  std::size_t peer_nis = 6144;
  // The number of peers that may have more than 2, 8, 40 interfaces at a time.
  std::size_t peers_over_2 = 512;
  std::size_t peers_over_8 = 64;
  std::size_t peers_over_40 = 8;
  // Limits for peers that others cause: new strangers a second; the last places of the table are
  // not for them.
  std::uint32_t strangers_per_second = 1000;
  std::size_t kept_for_own = 64;
  // Limits for peers that exist only since messages of one neighbour name them
  // (PeerDemand::kOthers): at a time, for a gateway at a time, and each second. A site may be as
  // large as the table, so the node, which knows its size, sets these.
  std::size_t named_by_one = SIZE_MAX;
  std::size_t named_by_gateway = SIZE_MAX;
  std::uint32_t named_per_second = 1'000'000'000;
  // A peer made by traffic and silent for this long makes room for another when the table is full.
  Duration idle_before_eviction = std::chrono::seconds(180);
};

// The account on which traffic makes a peer; it decides which places of the table are open.
enum class PeerDemand : std::uint8_t {
  kOwn,  // this node sends to it by itself: any place
  // A message of others names it, as its destination or as the target of a response, and may name
  // any NID. Never the last places; without a limit each second, since a router that has just
  // started meets all peers at once. On the account of `named_by`.
  kOthers,
  kStranger,  // a message or connection came from it: never the last places, and with a limit each
              // second
};

struct WantedPeer {
  Nid nid;
  PeerDemand demand = PeerDemand::kOwn;
  const Ni* received_on =
      nullptr;                // kStranger: the NI that received it, unless that has been removed
  Nid named_by = Nid::any();  // kOthers: the neighbour whose message names it
  bool again = false;         // a repeated request, already counted
};

#define PLNET_PEER_COUNTERS(X)                                                                \
  X(kPeers, "peers", "peers", kGauge, "peers known")                                          \
  X(kPeerNis, "peer_nis", "interfaces", kGauge, "peer NIs, including those being removed")    \
  X(kCreated, "peers_created", "peers", kCount, "peers created")                              \
  X(kDeleted, "peers_deleted", "peers", kCount, "peers deleted, dissolved or evicted")        \
  X(kEvicted, "peers_evicted", "peers", kCount, "idle peers removed to make room for others") \
  X(kMoved, "peer_nis_moved", "interfaces", kCount, "peer NIs moved to another peer")         \
  X(kFull, "peers_full", "requests", kCount,                                                  \
    "peers not created: the table is full and no peer is idle")                               \
  X(kLimited, "peers_limited", "requests", kCount,                                            \
    "peers of unknown nodes not created or delayed: rate limit")                              \
  X(kShareUsed, "peers_share_used", "requests", kCount,                                       \
    "peers not created: the neighbour that named them has used its share of the table")       \
  X(kRefused, "peers_refused", "requests", kCount,                                            \
    "peers not created: the NID cannot belong to an interface")                               \
  X(kWaited, "peers_waited", "requests", kCount, "peers whose creation waits for room")       \
  X(kViews, "peer_views", "views", kCount, "views of peers published")                        \
  X(kViewsLate, "peer_views_late", "views", kCount,                                           \
    "views of peers delayed until readers release one")

PLNET_COUNTERS(PeerTable, PLNET_PEER_COUNTERS);
using PeerCounters = Counters<PeerTable>;

// The calls of the directory to the layer above, on the writer's shard. A hook must not change the
// directory, except by peer_ni_released().
class PeerDirectoryHooks {
 public:
  virtual ~PeerDirectoryHooks() = default;
  // No shard finds this peer NI any more. Its home ends all messages to it and has the LND release
  // its link. When no message names it any more, not even in a mailbox, peer_ni_released() is
  // called: now or later. A home that never used it may confirm at once.
  virtual void release_peer_ni(PeerNi& ni) = 0;
  // The peer has lost its last interface and is removed.
  virtual void on_peer_gone(Peer& peer) = 0;
  // A discovered peer has lost one of several interfaces: it is discovered again.
  virtual void on_peer_lost_ni(Peer& /*peer*/) {}
  // The peer NI is new, or was moved to another peer: its preferences are void.
  virtual void on_peer_ni_added(PeerNi& /*ni*/) {}
  // The priority of a network that the peer has from now on.
  [[nodiscard]] virtual std::uint32_t priority_of_peer_net(NetId /*net*/) const {
    return kPriorityLowest;
  }
  // Routes through `from` now lead through `to`; the directory moves the references.
  virtual void on_gateway_moved(Peer& /*from*/, Peer& /*to*/) {}
};

// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): what readers touch lies apart
class PeerDirectory {
 public:
  // Allocates; start-up only. All references outlive it.
  PeerDirectory(const PeerLimits& limits, Qsbr& qsbr, Placement& placement,
                PeerDirectoryHooks& hooks);
  ~PeerDirectory();
  PeerDirectory(const PeerDirectory&) = delete;
  PeerDirectory& operator=(const PeerDirectory&) = delete;

  // Any shard, wait-free. The result is valid until the reader is next quiescent, or as long as a
  // message that its home knows of names it. nullptr: no peer has this NID. While a peer changes,
  // its view may not list the interface yet, or no longer.
  [[nodiscard]] PeerNi* find(const Nid& nid) const {
    return unless_leaving(table_.lookup(nid).value_or(nullptr));
  }

  // The same in steps, for several lookups side by side: see QsbrTable::prepare().
  [[nodiscard]] std::uint64_t prepare(const Nid& nid) const { return table_.prepare(nid); }
  void approach(std::uint64_t hash) const { table_.approach(hash); }
  // Prefetches the first line of the record that find() would return, and returns it, even if it is
  // leaving.
  [[nodiscard]] PeerNi* reach(const Nid& nid, std::uint64_t hash) const {
    PeerNi* const ni = table_.lookup(nid, hash).value_or(nullptr);
    if (ni != nullptr) prefetch(ni);
    return ni;
  }
  [[nodiscard]] static PeerNi* unless_leaving(PeerNi* reached) {
    return reached == nullptr || reached->leaving.get() ? nullptr : reached;
  }

  // The rest is for the writer.

  // The networks of this node, by which new peer NIs are judged; valid until the next call.
  void set_local(const LocalView& local) { local_ = &local; }
  // The first NI of this network is added: peer NIs on it get their credits.
  void net_added(NetId net);
  // The last NI of the network is removed: its peer NIs are reached by a router, if at all.
  static void net_lost(PeerNetRecord& net);
  // The NI is removed: no peer NI prefers it any more.
  void remove_local(const Ni& ni);

  // The peer NI of a NID that a message came from or goes to, made with a peer of its own if there
  // is none. kInvalid: a peer cannot have this NID; kNoSpace: too many this second, try again soon;
  // kNoMemory: the table, or the share of the namer, is full; kAgain: an old peer is being removed,
  // try again after peer_ni_released().
  [[nodiscard]] Result<PeerNi*> create_by_traffic(const WantedPeer& wanted, Instant now);

  // Makes a new peer with this one NID, which any other peer loses.
  [[nodiscard]] PeerResult<PeerRecord*> create(const Nid& nid, Instant now);
  // The peer gets the NID: a new one, or one of another peer.
  [[nodiscard]] PeerResult<PeerNiRecord*> attach(PeerRecord& peer, const Nid& nid);
  // The last NI takes its peer along.
  void detach(PeerNiRecord& ni);
  void destroy(PeerRecord& peer);
  void rename(PeerRecord& peer, const Nid& primary);
  // The first of its net, and its net the first of the peer.
  void bring_to_front(PeerNiRecord& ni);
  void set_priority(PeerNetRecord& net, std::uint32_t priority);
  void transfer_gateway(PeerRecord& from, PeerRecord& to);

  // Publishes changes, and removes peer NIs without a peer. After each change.
  void commit();
  // Does a bounded piece of the work that waited for readers and homes. Returns how much.
  unsigned step(unsigned budget);
  // Some views wait for room: readers still use old ones.
  [[nodiscard]] bool has_late_views() const { return !changed_.empty(); }
  // Work waits: step() should be called again soon.
  [[nodiscard]] bool waiting() const;
  void peer_ni_released(PeerNi& ni);

  // Only live ones, at any stage of a change.
  [[nodiscard]] PeerNiRecord* lookup(const Nid& nid) const;
  [[nodiscard]] PeerRecord* peer_of(const Nid& nid) const;
  [[nodiscard]] static PeerRecord& peer_of(const PeerNiRecord& ni) {
    PLNET_DEBUG_CHECK(ni.stage == PeerNiStage::kLive && ni.in_net != nullptr,
                      "only a live peer NI belongs to a peer");
    return *ni.in_net->peer;
  }
  // nullptr: no peer has this number.
  [[nodiscard]] PeerRecord* by_number(std::uint32_t number);
  [[nodiscard]] std::uint32_t numbers() const {
    return static_cast<std::uint32_t>(peers_.capacity());
  }
  template <class Visit>
  void for_each(Visit&& visit) {
    for (std::uint32_t number = 0; number < numbers(); ++number) {
      if (PeerRecord* peer = by_number(number)) visit(*peer);
    }
  }

  // attach() of a NID that another peer has will not fail for lack of room.
  [[nodiscard]] bool has_room_in(PeerRecord& peer, NetId net);
  // Reachable without a router.
  [[nodiscard]] bool reaches(const Nid& nid) const { return local_->net(nid.net()) != nullptr; }
  // The last places are for peers that this node sends to by itself.
  [[nodiscard]] bool has_peers_for_others() const {
    return peers_.free_count() > limits_.kept_for_own;
  }
  [[nodiscard]] bool has_nis_for_others() const { return nis_.free_count() > limits_.kept_for_own; }
  [[nodiscard]] const PeerLimits& limits() const { return limits_; }
  [[nodiscard]] const PeerCounters& counters() const { return counters_; }
  [[nodiscard]] PeerComplaints& complaints() { return complaints_; }

 private:
  [[nodiscard]] bool may_be_peer(const Nid& nid) const;
  [[nodiscard]] Duration each_stranger() const;
  [[nodiscard]] bool stranger_in_time(Instant now);
  [[nodiscard]] Result<void> permit(const WantedPeer& wanted, Instant now);
  [[nodiscard]] Result<void> permit_named(const WantedPeer& wanted, PeerRecord& by, Instant now);
  [[nodiscard]] PeerRecord* namer_of(const WantedPeer& wanted) const;
  // Evicts only peers on the account of `payer`, unless that is kNobody.
  [[nodiscard]] bool evict_one(Instant now, std::uint32_t payer = PeerAccounts::kNobody);
  [[nodiscard]] bool may_be_evicted(PeerRecord& peer, Instant now) const;

  [[nodiscard]] PeerResult<PeerNiRecord*> make_ni(const Nid& nid);
  void unmake(PeerNiRecord& ni);
  [[nodiscard]] PeerNetRecord* net_of(PeerRecord& peer, NetId net);
  void link(PeerRecord& peer, PeerNetRecord& net, PeerNiRecord& ni);
  void leave_net(PeerNiRecord& ni);
  void release_peer(PeerRecord& peer);
  void mark_changed(PeerRecord& peer);
  void fill(PeerRecord& peer, ViewBlock& block);
  [[nodiscard]] bool publish(PeerRecord& peer);
  void release_peer_ni(PeerNiRecord& ni);

  unsigned step_nis(unsigned budget);
  unsigned step_nets(unsigned budget);
  unsigned step_dead(unsigned budget);

  const PeerLimits limits_;
  Qsbr& qsbr_;
  Placement& placement_;
  PeerDirectoryHooks& hooks_;
  const LocalView nothing_local_;
  const LocalView* local_ = &nothing_local_;

  Pool<PeerRecord> peers_;
  Pool<PeerNiRecord> nis_;
  Pool<PeerNetRecord> nets_;
  ViewBlocks views_;
  QsbrTable<Nid, PeerNi*, NidHash> table_;

  IntrusiveList<PeerRecord> changed_;
  IntrusiveList<PeerRecord> dead_;
  IntrusiveList<PeerNiRecord> detached_;
  IntrusiveList<PeerNiRecord> leaving_;
  IntrusiveList<PeerNiRecord> releasing_;
  IntrusiveList<PeerNiRecord> gone_;
  IntrusiveList<PeerNetRecord> nets_left_;  // without a peer; old views may use their numbers
  IntrusiveList<PeerNetRecord> nets_gone_;
  std::size_t dead_count_ = 0;

  std::uint32_t hand_ = 0;   // the place at which the search for an idle peer goes on
  Instant next_stranger_{};  // earliest time of the next stranger; may run ahead by a second
  PeerAccounts accounts_;
  PeerComplaints complaints_;
  PeerCounters counters_;
};

}  // namespace plnet::lnet
