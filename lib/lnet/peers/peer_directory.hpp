// SPDX-License-Identifier: BSD-3-Clause
// All remote nodes that this one knows, and the one place that makes, moves and lets go of peers
// and peer NIs. Every shard looks NIDs up; one shard, the coordinator's, writes. This is the
// mechanism; what LNet allows is in peer_rules.hpp.
//
// How a peer NI goes: it leaves its peer; commit() publishes views without it; when no reader can
// hold it, its home shard is asked to give up what it has of it; when the home has said so and
// readers have once more held nothing, its record, its number and its NID can be used again.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

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
  // Peers that may have more than 2, 8, 40 interfaces at a time.
  std::size_t peers_over_2 = 512;
  std::size_t peers_over_8 = 64;
  std::size_t peers_over_40 = 8;
  // What others may make: strangers so many peers a second, and nobody the last ones.
  std::uint32_t strangers_per_second = 1000;
  std::size_t kept_for_own = 64;
  // Peers that exist only since messages of one neighbour name them (PeerDemand::kOthers): so many
  // at a time, of a gateway so many, and so many a second. A site may be as large as the table, so
  // the node that knows its size sets these.
  std::size_t named_by_one = SIZE_MAX;
  std::size_t named_by_gateway = SIZE_MAX;
  std::uint32_t named_per_second = 1'000'000'000;
  // A peer made by traffic, unheard of for so long, makes room for another when there is none.
  Duration idle_before_eviction = std::chrono::seconds(180);
};

// On whose account traffic makes a peer, which decides what it may take of the places.
enum class PeerDemand : std::uint8_t {
  kOwn,  // this node turns to it by itself: any place
  // Others have named it, who can name whomever they like: where a message of theirs is forwarded
  // to, or its answer goes. Never the last places; but as many a second as there are, since a
  // router that has just started meets them all at once. They are on the account of `named_by`.
  kOthers,
  kStranger,  // a message or connection came from it: not the last places, and not all at once
};

struct WantedPeer {
  Nid nid;
  PeerDemand demand = PeerDemand::kOwn;
  const Ni* received_on = nullptr;  // kStranger: here, unless that has gone meanwhile
  Nid named_by = Nid::any();        // kOthers: the neighbour whose message names it
  bool again = false;               // it was asked for before, and counted
};

#define PLNET_PEER_COUNTERS(X)                                                                  \
  X(kPeers, "peers", "peers", kGauge, "peers known")                                            \
  X(kPeerNis, "peer_nis", "interfaces", kGauge, "their interfaces, leaving ones included")      \
  X(kCreated, "peers_created", "peers", kCount, "peers made")                                   \
  X(kDeleted, "peers_deleted", "peers", kCount, "peers deleted, dissolved or evicted")          \
  X(kEvicted, "peers_evicted", "peers", kCount, "idle peers that made room for others")         \
  X(kMoved, "peer_nis_moved", "interfaces", kCount, "interfaces handed to another peer")        \
  X(kFull, "peers_full", "requests", kCount, "peers not made: none left and none idle")         \
  X(kLimited, "peers_limited", "requests", kCount,                                              \
    "peers of strangers not made, or later: too many a second")                                 \
  X(kShareUsed, "peers_share_used", "requests", kCount,                                         \
    "peers not made: the neighbour that named them has its share of the table")                 \
  X(kRefused, "peers_refused", "requests", kCount, "peers not made: not a NID of an interface") \
  X(kWaited, "peers_waited", "requests", kCount, "peers to be made when room has come free")    \
  X(kViews, "peer_views", "views", kCount, "views published")                                   \
  X(kViewsLate, "peer_views_late", "views", kCount, "views put off until readers give room")

PLNET_COUNTERS(PeerTable, PLNET_PEER_COUNTERS);
using PeerCounters = Counters<PeerTable>;

// What the directory asks of those around it; on the writer's shard. Nothing here may change the
// directory, but for peer_ni_released().
class PeerDirectoryHooks {
 public:
  virtual ~PeerDirectoryHooks() = default;
  // No shard finds this peer NI any more. Its home ends what is under way or queued for it, has the
  // LND forget it, and when no message names it any more (also none that waits in a mailbox),
  // peer_ni_released() is called: now or later. Homes that never had to do with it say so at once.
  virtual void release_peer_ni(PeerNi& ni) = 0;
  // The peer has no interfaces any more and goes.
  virtual void on_peer_gone(Peer& peer) = 0;
  // A discovered peer has lost one of several: discovery takes another look.
  virtual void on_peer_lost_ni(Peer& /*peer*/) {}
  // New, or handed to another peer: nothing of it is preferred any more.
  virtual void on_peer_ni_added(PeerNi& /*ni*/) {}
  // Of a network that a peer has from now on.
  [[nodiscard]] virtual std::uint32_t priority_of_peer_net(NetId /*net*/) const {
    return kPriorityLowest;
  }
  // Routes through `from` now lead through `to`; the references follow by themselves.
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

  // Any shard, wait-free; what it finds holds until the reader is next quiescent, or as long as a
  // message names it that its home knows of. nullptr: nobody has this NID. While a peer changes,
  // its view may not list the interface yet, or not any more.
  [[nodiscard]] PeerNi* find(const Nid& nid) const {
    return unless_leaving(table_.lookup(nid).value_or(nullptr));
  }

  // The same in steps, for who looks many up at a time: see QsbrTable::prepare().
  [[nodiscard]] std::uint64_t prepare(const Nid& nid) const { return table_.prepare(nid); }
  void approach(std::uint64_t hash) const { table_.approach(hash); }
  // Fetches the first line of the record that find() would return, and returns it though it may be
  // leaving.
  [[nodiscard]] PeerNi* reach(const Nid& nid, std::uint64_t hash) const {
    PeerNi* const ni = table_.lookup(nid, hash).value_or(nullptr);
    if (ni != nullptr) prefetch(ni);
    return ni;
  }
  [[nodiscard]] static PeerNi* unless_leaving(PeerNi* reached) {
    return reached == nullptr || reached->leaving.get() ? nullptr : reached;
  }

  // The rest is the writer's.

  // What new peer NIs are measured against; stays valid until the next one is handed in.
  void set_local(const LocalView& local) { local_ = &local; }
  // A first NI of this network: peer NIs on it get their credits.
  void net_added(NetId net);
  // The last one goes: whoever is there is reached by a router, if at all.
  static void net_lost(PeerNetRecord& net);
  // Nobody prefers it any more.
  void remove_local(const Ni& ni);

  // The peer NI of a NID that a message came from or shall go to, made with a peer of its own if
  // need be. kInvalid: not a NID that a peer can have; kNoSpace: too many this second, try again
  // soon; kNoMemory: full, or the share of who named it is; kAgain: room is being made, try again
  // after peer_ni_released().
  [[nodiscard]] Result<PeerNi*> create_by_traffic(const WantedPeer& wanted, Instant now);

  // A new peer of this one NID, whoever had it before.
  [[nodiscard]] PeerResult<PeerRecord*> create(const Nid& nid, Instant now);
  // The NID becomes one of the peer's: new, or taken from where it is.
  [[nodiscard]] PeerResult<PeerNiRecord*> attach(PeerRecord& peer, const Nid& nid);
  // The last one takes its peer along.
  void detach(PeerNiRecord& ni);
  void destroy(PeerRecord& peer);
  void rename(PeerRecord& peer, const Nid& primary);
  // First of its net, and its net the first.
  void bring_to_front(PeerNiRecord& ni);
  void set_priority(PeerNetRecord& net, std::uint32_t priority);
  void transfer_gateway(PeerRecord& from, PeerRecord& to);

  // Publishes what was changed, and lets go of what is in no peer any more. After each change.
  void commit();
  // A bounded piece of what waits for readers and homes. Returns what was done.
  unsigned step(unsigned budget);
  // Some wait for room: old ones are still read.
  [[nodiscard]] bool has_late_views() const { return !changed_.empty(); }
  // Something waits, so that step() should be called again soon.
  [[nodiscard]] bool waiting() const;
  void peer_ni_released(PeerNi& ni);

  // Live ones only, however far they are in their change.
  [[nodiscard]] PeerNiRecord* lookup(const Nid& nid) const;
  [[nodiscard]] PeerRecord* peer_of(const Nid& nid) const;
  [[nodiscard]] static PeerRecord& peer_of(const PeerNiRecord& ni) { return *ni.in_net->peer; }
  // nullptr: no peer has this number now.
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

  // attach() of a NID that some peer has does not fail for want of room.
  [[nodiscard]] bool has_room_in(PeerRecord& peer, NetId net);
  // Without a router.
  [[nodiscard]] bool reaches(const Nid& nid) const { return local_->net(nid.net()) != nullptr; }
  // The last places are for whom this node turns to by itself.
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
  IntrusiveList<PeerNetRecord> nets_left_;  // of no peer; old views may number by them
  IntrusiveList<PeerNetRecord> nets_gone_;
  std::size_t dead_count_ = 0;

  std::uint32_t hand_ = 0;   // where looking for an idle peer goes on
  Instant next_stranger_{};  // not before; may run ahead by a second
  PeerAccounts accounts_;
  PeerComplaints complaints_;
  PeerCounters counters_;
};

}  // namespace plnet::lnet
