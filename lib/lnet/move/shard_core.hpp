// SPDX-License-Identifier: BSD-3-Clause
// What the parts of a shard share among themselves, and what all shards of a node share.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

#include "lib/base/arena.hpp"
#include "lib/base/mailbox.hpp"
#include "lib/base/pool.hpp"
#include "lib/base/ring.hpp"
#include "lib/base/timer_wheel.hpp"
#include "lib/lnet/access/access_table.hpp"
#include "lib/lnet/api/parameters.hpp"
#include "lib/lnet/flow/router_buffers.hpp"
#include "lib/lnet/load/load_tally.hpp"
#include "lib/lnet/match/match_table.hpp"
#include "lib/lnet/match/portal_directory.hpp"
#include "lib/lnet/move/ack_note.hpp"
#include "lib/lnet/move/fault_gate.hpp"
#include "lib/lnet/move/forwarder.hpp"
#include "lib/lnet/move/looked_ahead.hpp"
#include "lib/lnet/move/message.hpp"
#include "lib/lnet/move/message_tap.hpp"
#include "lib/lnet/move/ni_port.hpp"
#include "lib/lnet/move/outbox.hpp"
#include "lib/lnet/move/peer_port.hpp"
#include "lib/lnet/move/pool_keeper.hpp"
#include "lib/lnet/move/receive.hpp"
#include "lib/lnet/move/receive_shares.hpp"
#include "lib/lnet/move/refusal_book.hpp"
#include "lib/lnet/move/statistics.hpp"
#include "lib/lnet/move/waits.hpp"
#include "lib/lnet/paths/health_rules.hpp"
#include "lib/lnet/paths/path_selection.hpp"
#include "lib/lnet/paths/route_aliveness.hpp"
#include "lib/lnet/peers/peer_complaints.hpp"
#include "lib/lnet/peers/peer_directory.hpp"
#include "lib/lnet/peers/reachability.hpp"

namespace plnet::lnet {

// Sizes of what is made at start, for each shard.
struct ShardLimits {
  std::size_t peer_ports = 65536;
  std::size_t extra_links = 256;  // beyond one for each peer port
  std::size_t lane_sets = 128;    // links with lanes on several shards, less than 65535
  std::size_t messages = 8192;
  std::size_t receives = 8192;
  std::size_t descriptors = 16384;
  std::size_t match_entries = 16384;
  std::size_t routes = kRoutesMax;  // of the node
  std::size_t talkers = 128;        // see LoadTally
};

// Constant after start, but for what is atomic.
struct NodeShared {
  unsigned shards = 1;
  ShardId coordinator = 0;
  ShardLimits limits;
  std::size_t peer_nis = 65536;        // of the node
  std::uint64_t interface_cookie = 1;  // names this incarnation of the node in wire handles
  std::uint32_t pid = kLustrePid;
  const ArenaTable* arenas = nullptr;
  const CptDistances* distances = nullptr;

  Parameters parameters;
  PortalDirectory* portals = nullptr;
  const PeerDirectory* directory = nullptr;
  MailboxGrid<Parcel>* mail = nullptr;
  std::span<Doorbell* const> doorbells;
  std::atomic<const LocalView*> local{nullptr};
  std::atomic<const RouteView*> routes{nullptr};
  std::atomic<const FaultView*> faults{nullptr};   // null: no rules
  std::atomic<const AccessView*> access{nullptr};  // null: no rules
  // By shard: who listens to its messages. Empty: nobody ever does.
  std::span<const TapSlot> taps;
  // By shard: where its router buffers are. Empty: it has none.
  std::span<const RouterMemory> router_memory;
  // Grows when a next hop goes down, or a route: what waits for it has another way, or none.
  std::atomic<std::uint32_t> hops_lost{0};
  // Some NI was revived, its LND told that it is up or down, or its health came to an end.
  std::atomic<bool> ni_changed{false};
  // A gateway, or a peer NI of one, was found up or down: how (GatewayNews).
  std::atomic<std::uint32_t> gateways_changed{0};
  // Some shard has something in ShardCore::recovery_requests.
  std::atomic<bool> recovery_requested{false};
  // Some peer NI is not well that is in no ShardCore::recovery_requests, which was full.
  std::atomic<bool> recovery_overflow{false};
  // By home: a match entry was attached to one of its lazy portals.
  struct alignas(kNoSharing) Notice {
    std::atomic<bool> set{false};
  };
  std::unique_ptr<Notice[]> lazy_attached;

  // The status of some peer NI has become down, or some route cannot be used any more: every shard
  // looks at what it has to send there, which has another way or none.
  void notify_hop_lost() {
    if (!parameters.routes()) return;
    hops_lost.fetch_add(1, std::memory_order_release);
    for (Doorbell* const doorbell : doorbells)
      doorbell->ring();
  }
};

struct ShardCore {
  ShardCore(NodeShared& node, ShardId number, std::uint16_t cpt, Instant start,
            const PeerIdentity& identity, MatchHooks& hooks);

  NodeShared& shared;
  const ShardId id;
  const std::uint16_t cpt;
  const TapSlot& tap_slot;
  // Something waits that has a deadline, or whose connection may go.
  bool sweep_wanted = false;
  Instant now;

  Pool<Message> messages;
  Pool<Receive> receives;
  PeerPorts peers;
  TimerWheel timers;
  PathSequences sequences;
  std::array<NiPort*, kNisMax + 1> ports{};  // by number of the NI; null: not on this shard
  // Messages of this shard that were given a path through the NI and have not ended.
  std::array<std::uint32_t, kNisMax + 1> ni_users{};
  std::uint32_t hops_lost_seen = 0;    // of NodeShared::hops_lost: so many are acted upon
  Relaxed<std::uint32_t> routed_held;  // messages of others, for whoever waits for their end
  // What this shard sends to itself: done by its next step.
  IntrusiveList<Parcel> inbox;
  // Parked messages that were decided about; LNDs are told outside of their upcalls.
  WaitQueue<Receive> decided;
  // Peer NIs that are not well, or down and were to be forwarded to: the coordinator pings them.
  // Those that find no room are told of with the next message.
  static constexpr std::size_t kRecoveryRequestsMax = 64;
  const std::unique_ptr<SpscRing<Nid>> recovery_requests =
      std::make_unique<SpscRing<Nid>>(kRecoveryRequestsMax);
  // Complaints about messages that arrived on this shard.
  const std::unique_ptr<PeerComplaints> complaints = std::make_unique<PeerComplaints>();
  const std::unique_ptr<ReachBook> reach = std::make_unique<ReachBook>();
  const std::unique_ptr<RefusalBook> refusals = std::make_unique<RefusalBook>();
  Waits waits{now, tap_slot};
  Outbox outbox;                           // to others
  PeerLink loopback{.nid = kLoopbackNid};  // the one that is no LndLink

  // These five begin cache lines of their own.
  MatchTable match;
  Counters<LnetStatistics> statistics;
  Counters<LnetCauses> causes;
  RouterBuffers buffers;
  PoolKeeper keeper{*this};

  LoadTally load{shared.interface_cookie + id, now, shared.limits.talkers};
  FaultGate faults{shared.faults, causes, shared.limits.messages + shared.limits.receives};
  ReceiveShares shares{{receives, inbox, causes, waits, now, sweep_wanted}};
  LookedAhead looked_ahead;
  // One of a single shard has nobody to write to.
  Pool<AckNote> ack_notes{shared.shards == 1 ? 1 : shared.limits.receives};
  Forwarder forwarder{*this};

  static constexpr Nid kLoopbackNid = Nid::of(NetType::kLoopback, 0, 0);

  [[nodiscard]] const LocalView& local() const {
    return *shared.local.load(std::memory_order_acquire);
  }
  [[nodiscard]] const RouteView& routes() const {
    return *shared.routes.load(std::memory_order_acquire);
  }

  // Without a peer NI: there is none, or it is leaving.
  [[nodiscard]] LookedAhead::Destination destination_of(const Nid& nid) {
    LookedAhead::Destination known = looked_ahead.take(nid);
    known.peer_ni = known.peer_ni != nullptr ? PeerDirectory::unless_leaving(known.peer_ni)
                                             : shared.directory->find(nid);
    return known;
  }

  // An access rule forbids to forward what came in on `from`.
  [[nodiscard]] bool forbids_to_forward(const MessageHeader& header, const Ni& from) const {
    const AccessView* const rules = shared.access.load(std::memory_order_acquire);
    if (rules == nullptr) [[likely]]
      return false;
    return rules->forbids_owner(id, {.use = AccessUse::kForward,
                                     .source = header.source,
                                     .destination = header.destination,
                                     .from = from.net});
  }

  // The LND gets the decision, which is kept in the Receive, at the end of the turn.
  void decide(Receive& receive) {
    receive.enter(ReceiveState::kDecided);
    decided.push_back(receive);
  }

  // Gives the parcel away; it leaves at the end of the turn.
  void post(Parcel& parcel, ShardId to, ParcelStep step);

  // Its status has changed: routes may depend on it.
  void notify_if_gateway(const PeerNi& changed, GatewayNews news) {
    const Peer* const peer = changed.peer.load(std::memory_order_acquire);
    if (peer != nullptr && routes().is_gateway(*peer)) notify_gateway(news);
  }
  void notify_gateway(GatewayNews news) {
    shared.gateways_changed.fetch_or(news, std::memory_order_release);
    shared.doorbells[shared.coordinator]->ring();
  }

  // Made here, or received. What answers or forwards a received one is that one yet (lustre-release
  // lnet/lnet/lib-msg.c: lnet_msg_commit()).
  void message_begins() {
    statistics.add(Statistic::kMessagesAlloc);
    statistics.raise_to(Statistic::kMessagesMax, statistics.get(Statistic::kMessagesAlloc));
  }
  void message_ends() { statistics.subtract(Statistic::kMessagesAlloc); }
  void drop(Cause cause, std::uint32_t bytes) {
    causes.add(cause);
    statistics.add(Statistic::kDropCount);
    statistics.add(Statistic::kDropLength, bytes);
  }

  [[nodiscard]] MessageTap* tap() const { return tap_slot.get(); }
  // It was received or made, and goes no further.
  void tap_drop(const MessageHeader& header, Cause cause, const Nid& interface, const Nid& hop) {
    refusals->note(cause, header.source, header.destination, now);
    show_drop(header, cause, interface, hop);
  }
  void show_drop(const MessageHeader& header, Cause cause, const Nid& interface,
                 const Nid& hop) const {
    if (MessageTap* const listener = tap()) [[unlikely]]
      listener->on_message({header, TapWay::kDropped, cause, interface, hop, {}, now});
  }
  void tap_drop(const Receive& receive, Cause cause) {
    tap_drop(receive.header, cause, receive.port->ni().nid, receive.from);
  }
  void tap_drop(const Message& message, Cause cause) {
    // The header of a message without a path is not complete.
    refusals->note(cause, message.header.source,
                   message.routed ? message.header.destination : message.target.nid, now);
    show_drop(message.header, cause, message.ni == nullptr ? kNoNid : message.ni->nid,
              message.hop == nullptr ? kNoNid : message.hop->nid);
  }

  // It arrived and goes no further.
  [[nodiscard]] RxDecision drop(Receive& receive, Cause cause) {
    tap_drop(receive, cause);
    drop(cause, receive.header.payload_length);
    receive.port->traffic.add(traffic_id(TrafficWay::kDropped, receive.header.type));
    return {.verdict = RxVerdict::kDrop, .reason = Errc::kNoData, .link = receive.link};
  }
  // The message waits while `asked` has it: a posted parcel belongs to that shard.
  [[nodiscard]] RxDecision park(Receive& receive, ReceiveState wait, ShardId asked,
                                ParcelStep step) {
    waits.begin(receive, wait);
    post(receive, asked, step);
    return {.verdict = RxVerdict::kPark};
  }
  // A forwarded message does not go to a next hop that is known to be down. Those that the node
  // itself makes do: that is how it is found out whether it is back. lustre-release
  // lnet/lnet/lib-move.c: lnet_check_message_drop()
  [[nodiscard]] static bool is_down(const Ni& ni, const PeerNi& hop) {
    return hop.status.get() != kNiUp && ni.tunables.peer_timeout_s > 0;
  }
  // Nor is it said of a process without privilege that it is down: it called us and cannot be
  // called, so whatever its NID answers says nothing of it.
  [[nodiscard]] static bool is_down_for(const MessageHeader& header, const Ni& ni,
                                        const PeerNi& hop, bool hop_is_router) {
    const bool plain_process = !hop_is_router && (header.destination_pid & kPidUserFlag) != 0;
    return is_down(ni, hop) && !plain_process;
  }
  // What routes there are to a network, as they are now: by the gateway of this hop, and by others
  // that can be reached (`from`: from this network of ours).
  struct Ways {
    bool by_hop = false;
    bool by_others = false;
  };
  [[nodiscard]] Ways ways_to(NetId net, const PeerNi& hop, NetId from = kNetAny) const;
  [[nodiscard]] bool reaches(const PeerView& gateway, NetId from) const;
  // What was to be forwarded there is not sent.
  void judge_down(Ni& ni, PeerNi& hop);
  // It is to be found out when it is well again, or back: a forwarded message was refused for it,
  // or it is not at its full health. False: there is no room to say so now.
  bool request_recovery(PeerNi& hop);
  // It has less health than it could have.
  void request_recovery_if_needed(PeerNi& ni);

  // What the end of a message says about the two interfaces that it used, and whether it is sent
  // again. Nothing happens to those that are well and do well: that is nearly always.
  void judge_sent(Ni& ni, Message& message) {
    const bool well = message.result.health == Health::kOk && ni.health.get() == kHealthMax;
    if (!well && message.hop != nullptr) judge_sent_slowly(ni, message);
  }
  void judge_received(Ni& ni, PeerNi& peer_ni, Result<void> status, Health health) {
    const bool well = health == Health::kOk && ni.health.get() == kHealthMax &&
                      peer_ni.health.get() == kHealthMax;
    if (!well) judge_received_slowly(ni, peer_ni, status, health);
  }
  // Something about an NI is for the coordinator to tell peers.
  void notify_ni_changed() const;

 private:
  [[nodiscard]] bool may_go_again(const Message& message) const;
  [[nodiscard]] bool has_other_way(const Message& message) const;
  void request_recovery_if_needed(PeerNi& ni, bool rivals);
  void judge_sent_slowly(Ni& ni, Message& message);
  void judge_received_slowly(Ni& ni, PeerNi& peer_ni, Result<void> status, Health health);
  HealthVerdict judge(MessageEnd& end, Ni& ni, PeerNi& peer_ni);
  void count_failure(Health health, const Ni& ni, const PeerNi& peer_ni);
};

}  // namespace plnet::lnet
