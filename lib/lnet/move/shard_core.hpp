// SPDX-License-Identifier: BSD-3-Clause
// The data that the parts of a shard share, and the data that all shards of a node share.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

#include "lib/base/arena.hpp"
#include "lib/base/check.hpp"
#include "lib/base/mailbox.hpp"
#include "lib/base/pool.hpp"
#include "lib/base/ring.hpp"
#include "lib/base/timer_wheel.hpp"
#include "lib/lnet/access/access_table.hpp"
#include "lib/lnet/access/refused_peers.hpp"
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
#include "lib/lnet/move/silence_book.hpp"
#include "lib/lnet/move/statistics.hpp"
#include "lib/lnet/move/waits.hpp"
#include "lib/lnet/paths/health_rules.hpp"
#include "lib/lnet/paths/path_selection.hpp"
#include "lib/lnet/paths/route_aliveness.hpp"
#include "lib/lnet/peers/peer_complaints.hpp"
#include "lib/lnet/peers/peer_directory.hpp"
#include "lib/lnet/peers/reachability.hpp"

namespace plnet::lnet {

// Sizes of the pools of a shard, which are made at start.
struct ShardLimits {
  std::size_t peer_ports = 65536;
  std::size_t extra_links = 256;  // beyond one link for each peer port
  std::size_t lane_sets = 128;    // links with lanes on several shards; less than 65535
  std::size_t messages = 8192;
  std::size_t receives = 8192;
  std::size_t descriptors = 16384;
  std::size_t match_entries = 16384;
  std::size_t routes = kRoutesMax;  // of the node
  std::size_t talkers = 128;        // see LoadTally
};

// Constant after start, except atomics.
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
  // Refusals by these rules, by shard.
  std::unique_ptr<RefusedPeerBook[]> refused_peers;
  // The tap of each shard. Empty: there are no captures in this program.
  std::span<const TapSlot> taps;
  // The router buffers of each shard. Empty: there are none.
  std::span<const RouterMemory> router_memory;
  // Grows with each lost next hop or route: messages that wait for it take another path, or end.
  std::atomic<std::uint32_t> hops_lost{0};
  // An NI was revived, its LND reported it up or down, or its health reached an end of its range.
  std::atomic<bool> ni_changed{false};
  // A gateway, or a peer NI of one, was found up or down (bits of GatewayNews).
  std::atomic<std::uint32_t> gateways_changed{0};
  // Some ShardCore::recovery_requests is not empty.
  std::atomic<bool> recovery_requested{false};
  // A request found ShardCore::recovery_requests full: the coordinator looks at all peer NIs.
  std::atomic<bool> recovery_overflow{false};
  // By home shard: a match entry was attached to one of its lazy portals.
  struct alignas(kNoSharing) Notice {
    std::atomic<bool> set{false};
  };
  std::unique_ptr<Notice[]> lazy_attached;

  // A peer NI is down or a route is lost: every shard looks at the messages that wait for it.
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
  // Messages wait that have a deadline, or whose connection may be lost.
  bool sweep_wanted = false;
  Instant now;

  Pool<Message> messages;
  Pool<Receive> receives;
  // A single shard sends no notes.
  Pool<AckNote> ack_notes{shared.shards == 1 ? 1 : shared.limits.receives};
  PeerPorts peers;
  TimerWheel timers;
  PathSequences sequences;
  std::array<NiPort*, kNisMax + 1> ports{};  // by number of the NI; null: not on this shard
  // Messages of this shard that have a path through the NI and have not ended.
  std::array<std::uint32_t, kNisMax + 1> ni_users{};
  // The value of NodeShared::hops_lost up to which this shard has acted.
  std::uint32_t hops_lost_seen = 0;
  Relaxed<std::uint32_t> routed_held;  // forwarded messages on this shard; a drain waits for 0
  // Parcels from this shard to itself: its next step does them.
  IntrusiveList<Parcel> inbox;
  // Parked messages with a decision; their LNDs get it outside of upcalls.
  WaitQueue<Receive> decided;
  // Peer NIs without full health, and next hops that are down and have messages: the coordinator
  // pings them. A request that finds no room is repeated by the next message.
  static constexpr std::size_t kRecoveryRequestsMax = 64;
  const std::unique_ptr<SpscRing<Nid>> recovery_requests =
      std::make_unique<SpscRing<Nid>>(kRecoveryRequestsMax);
  // Reports about peers whose messages arrived on this shard.
  const std::unique_ptr<PeerComplaints> complaints = std::make_unique<PeerComplaints>();
  const std::unique_ptr<ReachBook> reach = std::make_unique<ReachBook>();
  const std::unique_ptr<RefusalBook> refusals = std::make_unique<RefusalBook>();
  const std::unique_ptr<SilenceBook> silence = std::make_unique<SilenceBook>();
  Outbox outbox;                           // to other shards
  PeerLink loopback{.nid = kLoopbackNid};  // the only link that is no LndLink

  // The next six begin cache lines of their own.
  Waits waits{now, tap_slot};
  MatchTable match;
  Counters<LnetStatistics> statistics;
  Counters<LnetCauses> causes;
  RouterBuffers buffers;
  PoolKeeper keeper{*this};

  LoadTally load{shared.interface_cookie + id, now, shared.limits.talkers};
  FaultGate faults{shared.faults, causes, shared.limits.messages + shared.limits.receives};
  ReceiveShares shares{{receives, inbox, causes, waits, now, sweep_wanted}};
  LookedAhead looked_ahead;
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

  // An access rule forbids to forward a message that arrived by `from`.
  [[nodiscard]] bool forbids_to_forward(const MessageHeader& header, const Ni& from) const {
    const AccessView* const rules = shared.access.load(std::memory_order_acquire);
    if (rules == nullptr) [[likely]]
      return false;
    return rules->forbids_owner(id, {.use = AccessUse::kForward,
                                     .source = header.source,
                                     .destination = header.destination,
                                     .from = from.net});
  }

  // The LND gets the decision, which the Receive stores, at the end of the turn.
  void decide(Receive& receive) {
    PLNET_CHECK(receive.origin == id && receive.decision.verdict != RxVerdict::kPark,
                "a decision goes to the LND of the shard that received the message");
    PLNET_DEBUG_CHECK(is_sound(receive.decision),
                      "a decision has room for the bytes that it takes");
    receive.enter(ReceiveState::kDecided);
    decided.push_back(receive);
  }

  // The parcel leaves at the end of the turn and belongs to the other shard from now on.
  void post(Parcel& parcel, ShardId to, ParcelStep step);

  // The status of the peer NI has changed: routes may depend on it.
  void notify_if_gateway(const PeerNi& changed, GatewayNews news) {
    const Peer* const peer = changed.peer.load(std::memory_order_acquire);
    if (peer != nullptr && routes().is_gateway(*peer)) notify_gateway(news);
  }
  void notify_gateway(GatewayNews news) {
    shared.gateways_changed.fetch_or(news, std::memory_order_release);
    shared.doorbells[shared.coordinator]->ring();
  }

  // A message is made here or arrives. Its answer, or the message that forwards it, counts as the
  // same one (lustre-release lnet/lnet/lib-msg.c: lnet_msg_commit()).
  void message_begins() {
    statistics.add(Statistic::kMessagesAlloc);
    statistics.raise_to(Statistic::kMessagesMax, statistics.get(Statistic::kMessagesAlloc));
  }
  void message_ends() {
    PLNET_CHECK(statistics.get(Statistic::kMessagesAlloc) > 0, "a message that ends has begun");
    statistics.subtract(Statistic::kMessagesAlloc);
  }
  void drop(Cause cause, std::uint32_t bytes) {
    causes.add(cause);
    statistics.add(Statistic::kDropCount);
    statistics.add(Statistic::kDropLength, bytes);
  }

  [[nodiscard]] MessageTap* tap() const { return tap_slot.get(); }
  // A message was received or made, and is dropped.
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

  // A message that arrived is dropped.
  [[nodiscard]] RxDecision drop(Receive& receive, Cause cause) {
    tap_drop(receive, cause);
    drop(cause, receive.header.payload_length);
    receive.port->traffic.add(traffic_id(TrafficWay::kDropped, receive.header.type));
    return {.verdict = RxVerdict::kDrop, .reason = Errc::kNoData, .link = receive.link};
  }
  // The message waits while `asked` has it: a posted parcel belongs to that shard.
  [[nodiscard]] RxDecision park(Receive& receive, ReceiveState wait, ShardId asked,
                                ParcelStep step) {
    PLNET_CHECK(receive.origin == id, "a message is parked where it arrived");
    PLNET_DEBUG_CHECK(receive.port != nullptr && asked < shared.shards,
                      "a message is parked with a shard of this node");
    waits.begin(receive, wait);
    post(receive, asked, step);
    return {.verdict = RxVerdict::kPark};
  }
  // A forwarded message does not go to a next hop that is known to be down. Messages of the node
  // itself do, and find out whether it is up again. lustre-release lnet/lnet/lib-move.c:
  // lnet_check_message_drop()
  [[nodiscard]] static bool is_down(const Ni& ni, const PeerNi& hop) {
    return hop.status.get() != kNiUp && ni.tunables.peer_timeout_s > 0;
  }
  // A process without privilege is not down: it has called us and cannot be called, so the state of
  // its NID says nothing about it.
  [[nodiscard]] static bool is_down_for(const MessageHeader& header, const Ni& ni,
                                        const PeerNi& hop, bool hop_is_router) {
    const bool plain_process = !hop_is_router && (header.destination_pid & kPidUserFlag) != 0;
    return is_down(ni, hop) && !plain_process;
  }
  // The routes to a network that are alive now: through the gateway of this hop, and through other
  // reachable gateways (`from`: reachable from this network of ours).
  struct LiveRoutes {
    bool by_hop = false;
    bool by_others = false;
  };
  [[nodiscard]] LiveRoutes routes_to(NetId net, const PeerNi& hop, NetId from = kNetAny) const;
  [[nodiscard]] bool reaches(const PeerView& gateway, NetId from) const;
  // The next hop is down: lowers its health, and requests a recovery ping.
  void judge_down(Ni& ni, PeerNi& hop);
  // Asks the coordinator to ping the peer NI until it is up with full health. False: there is no
  // room for the request now.
  bool request_recovery(PeerNi& hop);
  // The same for a peer NI that has lost health, if it needs pings.
  void request_recovery_if_needed(PeerNi& ni);

  // Judges the health of both interfaces at the end of a message, and decides whether it is sent
  // again. Success between healthy interfaces, nearly every case, changes nothing.
  void judge_sent(Ni& ni, Message& message) {
    const bool well = message.result.health == Health::kOk && ni.health.get() == kHealthMax;
    if (!well && message.hop != nullptr) judge_sent_slowly(ni, message);
  }
  void judge_received(Ni& ni, PeerNi& peer_ni, Result<void> status, Health health) {
    const bool well = health == Health::kOk && ni.health.get() == kHealthMax &&
                      peer_ni.health.get() == kHealthMax;
    if (!well) judge_received_slowly(ni, peer_ni, status, health);
  }
  // The state of an NI has changed: the coordinator tells the peers.
  void notify_ni_changed() const;

 private:
  [[nodiscard]] bool may_go_again(const Message& message) const;
  [[nodiscard]] bool has_other_path(const Message& message) const;
  void request_recovery_if_needed(PeerNi& ni, bool rivals);
  void judge_sent_slowly(Ni& ni, Message& message);
  void judge_received_slowly(Ni& ni, PeerNi& peer_ni, Result<void> status, Health health);
  HealthVerdict judge(MessageEnd& end, Ni& ni, PeerNi& peer_ni);
  void count_failure(Health health, const Ni& ni, const PeerNi& peer_ni);
};

}  // namespace plnet::lnet
