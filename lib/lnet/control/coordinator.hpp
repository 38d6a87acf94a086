// SPDX-License-Identifier: BSD-3-Clause
// The part of a node that makes and changes the data that all shards read: local NIs, peers, and by
// discovery the NIDs of peers. It has no thread: the shard that hosts it hands it parcels and
// events, and steps it once a turn. Nothing here blocks.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/base/qsbr.hpp"
#include "lib/lnet/access/access_table.hpp"
#include "lib/lnet/api/data_operations.hpp"
#include "lib/lnet/api/parameters.hpp"
#include "lib/lnet/control/discovery.hpp"
#include "lib/lnet/control/gateway_checks.hpp"
#include "lib/lnet/control/local_networks.hpp"
#include "lib/lnet/control/node_ping.hpp"
#include "lib/lnet/control/node_standing.hpp"
#include "lib/lnet/control/peer_recovery.hpp"
#include "lib/lnet/control/ping_target.hpp"
#include "lib/lnet/control/push_target.hpp"
#include "lib/lnet/control/routes.hpp"
#include "lib/lnet/control/selection_policies.hpp"
#include "lib/lnet/faults/fault_table.hpp"
#include "lib/lnet/peers/peer_directory.hpp"
#include "lib/lnet/peers/peer_rules.hpp"

namespace plnet::lnet {

// The calls of the coordinator to the shard that hosts it. They do not call back into it, except
// …_released(), which may follow at once.
class CoordinatorHost {
 public:
  virtual ~CoordinatorHost() = default;
  // The operations of that shard.
  [[nodiscard]] virtual DataOperations& data() = 0;
  // The parcel goes home; its outcome is set.
  virtual void wait_over(Parcel& parcel) = 0;
  // See PeerDirectoryHooks::release_peer_ni(); then Coordinator::peer_ni_released().
  virtual void release_peer_ni(PeerNi& ni) = 0;
  // No shard finds this NI any more: its Lnds are shut down, and when no message names it,
  // Coordinator::ni_released() is called.
  virtual void release_ni(Ni& ni) = 0;
  // Drops pushes of other nodes, waiting and future ones.
  virtual void end_pushes() = 0;
  // A peer NI is down.
  virtual void hop_lost() {}
  // The sum over all shards, as far as this shard can see.
  [[nodiscard]] virtual RoutedLoad routed_load() const { return {}; }
  // Asks transports for their unsent bytes (Lnd::unsent_bytes()), unless that is under way;
  // routed_load() has the result later.
  virtual void count_unsent(Instant /*since*/) {}
  // Every shard uses these fault rules from now on; null: there are none.
  virtual void publish_faults(const FaultView* view) = 0;
  virtual void publish_routes(const RouteView& view) = 0;
  virtual void publish_access(const AccessView* view) = 0;
  // The time of this turn.
  [[nodiscard]] virtual Instant now() const = 0;
};

struct CoordinatorLimits {
  unsigned shards = 1;  // of the node
  PeerLimits peers;
  // Pings and pushes under way, and pushes of other nodes in use: one slot each.
  std::size_t exchanges = 64;
  // Messages that wait for a new peer: for room, or for their turn.
  std::size_t waiting_for_peers = 1024;
  // Peer NIs that are pinged for recovery at a time. A node that never routes needs none.
  std::size_t recovering = PeerRecovery::kPeerNisMax;
  // Unread notes about the node's standing.
  std::size_t notes = 256;
  // Seeds the draws of fault rules.
  std::uint64_t fault_seed = 1;
  // Seeds the order of routes to a network: it differs from node to node.
  std::uint64_t route_seed = 1;
};

#define PLNET_COORDINATOR_COUNTERS(X)                                                         \
  X(kWanted, "peers_wanted", "requests", kCount, "requests of shards for a peer")             \
  X(kWantedRefused, "peers_wanted_refused", "requests", kCount,                               \
    "requests of shards for a peer that were refused")                                        \
  X(kWantedWaited, "peers_wanted_waited", "requests", kCount,                                 \
    "requests of shards for a peer that waited")                                              \
  X(kDiscover, "discoveries_wanted", "requests", kCount, "messages that requested discovery") \
  X(kDiscoverGone, "discoveries_gone", "requests", kCount,                                    \
    "requests for discovery of an interface that was removed")                                \
  X(kTargetFailed, "ping_targets_failed", "attempts", kCount,                                 \
    "no memory descriptor was free for ping or push")

PLNET_COUNTERS(CoordinatorTable, PLNET_COORDINATOR_COUNTERS);
using CoordinatorCounters = Counters<CoordinatorTable>;
using CoordinatorCounter = CoordinatorTable::Id;

class Coordinator final : private PeerDirectoryHooks,
                          private DiscoveryObserver,
                          private RoutesObserver {
 public:
  // The size of `memory`.
  [[nodiscard]] static std::size_t memory_bytes(const CoordinatorLimits& limits) {
    return (PingTarget::kBuffers + 1 + limits.exchanges) * kPingSlotBytes;
  }

  // Allocates; start-up only. All references outlive it. The caller makes portal 0 lazy.
  Coordinator(const CoordinatorLimits& limits, Qsbr& qsbr, Placement& placement,
              Parameters& parameters, CoordinatorHost& host, PingMemory memory);

  // Any shard.
  [[nodiscard]] const PeerDirectory& peers() const { return directory_; }
  [[nodiscard]] const LocalView& local() const { return networks_.view(); }

  // The rest is for the hosting shard.

  // A shard has found no peer NI for a NID that a message came from or goes to. It looks again when
  // the parcel is back.
  void want_peer(Parcel& parcel, const WantedPeer& wanted);
  // The peer of this message needs_discovery(). If the parcel returns with an error, the message
  // fails with it. `ni` is from a lookup on the hosting shard: a pointer from another shard may be
  // stale.
  void discover(Message& message, PeerNi& ni);
  // A shard has refused to forward to this next hop because it is down, or has found it without
  // full health: it is pinged until it has full health.
  void request_recovery(const Nid& hop) {
    if (!shut_) recovery_.add(hop, host_.now());
  }
  // The peer NI may have lost health.
  void request_recovery_if_needed(const PeerNi& ni);
  // Some peer NI has lost health; the request did not say which.
  void request_all_recoveries() { recovery_.request_look_at_all(); }
  void peer_ni_released(PeerNi& ni);
  void ni_released(Ni& ni);

  // Does a bounded piece of work; `budget` peers. Returns the work done.
  unsigned step(Instant now, unsigned budget = 64);
  // Only the part that makes room for more peers.
  void reclaim(unsigned budget = 64) { (void)directory_.step(budget); }
  [[nodiscard]] Instant next_deadline(Instant now);

  // Administration; each call publishes its changes before it returns.
  [[nodiscard]] Outcome<Ni*> add_ni(const NiSetup& config);
  [[nodiscard]] Outcome<void> remove_ni(const Nid& nid);
  // Sets the status in the ping buffer; `push`: and sends it to all peers. Valid until the NI is
  // judged again.
  void set_ni_status(Ni& ni, std::uint32_t status, bool push) {
    standing_.set_status(ni, status, push);
  }
  // Looks at NIs that a ping has found alive (Ni::revived), that LNDs have reported on, or whose
  // health has reached an end of its range.
  void tell_of_changed() {
    if (!shut_) standing_.look_at_nis(host_.now());
  }
  PeerResult<void> add_peer(const Nid& primary, const Nid& nid, bool multi_rail,
                            bool lock_primary = false);
  PeerResult<void> delete_peer(const Nid& primary, const Nid& nid, bool force = false);
  // These undo add_peer(): for one NID, or for all, back to the peer that was found.
  PeerResult<void> withdraw_nid(const Nid& primary, const Nid& nid);
  [[nodiscard]] PeerFound found_peer(const Nid& primary) { return rules_.found(primary); }
  PeerResult<void> put_back_peer(const Nid& primary, const PeerFound& before);
  // Errors of Routes::add(). kAgain: room is being made, try again soon.
  [[nodiscard]] Outcome<void> add_route(const RouteSetup& setup);
  [[nodiscard]] Outcome<void> delete_route(NetId net, const Nid& gateway);
  // `lnetctl discover`: `force` pings and pushes even a known peer.
  void discover(DiscoverRequest& request, bool force);
  void ping(PingRequest& request);
  // Also changes the features in the ping buffer, and pushes that.
  void set_discovery(bool on);
  // The state at start, without delay. A running node uses standing().
  void set_routing(bool on, bool push) { standing_.set_routing(on, push, host_.now()); }
  // Fault rules (faults/fault_table.hpp), for tests of LNet under faults.
  [[nodiscard]] Outcome<void> add_fault(const FaultSpec& spec);
  std::size_t remove_faults(FaultKind kind, const Nid& source, const Nid& destination);
  std::size_t remove_fault(const FaultSpec& spec);
  void reset_faults(FaultKind kind) { faults_.reset(kind, host_.now()); }
  [[nodiscard]] std::vector<FaultReport> faults(FaultKind kind) const { return faults_.list(kind); }
  [[nodiscard]] Outcome<void> fail_nid(const Nid& nid, std::uint32_t messages);
  // Replaces the rules about connections and forwarding (access/access_rule.hpp).
  void set_access(std::span<const AccessRule> rules);
  [[nodiscard]] std::vector<AccessReport> access() const { return access_.list(); }
  // Replaces the user-defined selection policies. The next steps apply them to peers, while
  // policies().sweeping().
  void set_policies(std::span<const Udsp> policies) { policies_.set(policies, local()); }
  // Pushes to all multi-rail peers, regardless of their acknowledgements.
  void push_to_peers() { discovery_.push_to_all(true); }

  // Begins nothing new and ends all waits. quiet(): all descriptors are back.
  void shut_down();
  [[nodiscard]] bool quiet() const;

  [[nodiscard]] PeerDirectory& directory() { return directory_; }
  [[nodiscard]] NodeStanding& standing() { return standing_; }
  [[nodiscard]] const NodeStanding& standing() const { return standing_; }
  [[nodiscard]] const Discovery& discovery() const { return discovery_; }
  [[nodiscard]] const Routes& routes() const { return routes_; }
  [[nodiscard]] const SelectionPolicies& policies() const { return policies_; }
  [[nodiscard]] GatewayChecks& gateway_checks() { return checks_; }
  [[nodiscard]] const GatewayChecks& gateway_checks() const { return checks_; }
  [[nodiscard]] const PeerRecovery& recovery() const { return recovery_; }
  [[nodiscard]] const PingTarget& ping_target() const { return ping_target_; }
  [[nodiscard]] const CoordinatorCounters& counters() const { return counters_; }

 private:
  struct Wanted {
    Parcel* parcel = nullptr;
    WantedPeer peer;
  };

  void release_peer_ni(PeerNi& ni) override { host_.release_peer_ni(ni); }
  void on_peer_gone(Peer& peer) override;
  void on_peer_lost_ni(Peer& peer) override { (void)discovery_.queue(record_of(peer)); }
  void on_peer_ni_added(PeerNi& ni) override;
  [[nodiscard]] std::uint32_t priority_of_peer_net(NetId net) const override {
    return policies_.priority_of_peer_net(net);
  }
  void on_gateway_moved(Peer& from, Peer& to) override;
  // RoutesObserver.
  void on_routes_published(const RouteView& view) override;
  void on_route_added(Route& route) override { checks_.route_added(route, host_.now()); }
  void on_gateway_added(PeerRecord& gateway) override {
    checks_.gateway_added(gateway, host_.now());
    host_.hop_lost();  // the new route may be down
  }
  void on_gateway_removed(PeerRecord& gateway) override { checks_.gateway_removed(gateway); }
  // DiscoveryObserver.
  void on_gateway_heard(Peer& gateway, const PingView& buffer) override {
    checks_.on_ping_reply(gateway, buffer);
    policies_.gateways_changed();
  }
  void on_gateway_discovered(Peer& gateway, Result<void> outcome) override {
    checks_.discovered(gateway, outcome, host_.now());
    policies_.gateways_changed();
  }
  void on_handed_over(PeerRecord& from, PeerRecord& to) override { routes_.nids_moved(from, to); }
  void on_peer_ni_down(PeerNi& ni) override;

  void answer(Parcel& parcel, Result<void> outcome);
  void ask_again_for_peers();
  void local_changed();
  void release_nis();

  Parameters& parameters_;
  CoordinatorHost& host_;
  CoordinatorCounters counters_;
  FaultTable faults_;
  AccessTable access_;
  LocalNetworks networks_;
  PeerDirectory directory_;
  PeerRules rules_;
  PingTarget ping_target_;
  PingExchanges exchanges_;
  Discovery discovery_;
  Routes routes_;
  SelectionPolicies policies_;
  GatewayChecks checks_;
  PushTarget push_target_;
  PeerRecovery recovery_;  // its requests are in lists of node_ping_, so it is destroyed after that
  NodePing node_ping_;
  NodeStanding standing_;
  std::vector<Wanted> wanted_;  // in the order of requests; has its full capacity from the start
  const std::size_t wanted_max_;
  std::vector<Ni*> removed_;  // to be released after readers have passed
  std::vector<Ni*> releasing_;
  bool room_has_come_ = false;
  Instant next_turn_{};  // of requests that wait for their turn
  Instant next_look_{};
  bool shut_ = false;
};

}  // namespace plnet::lnet
