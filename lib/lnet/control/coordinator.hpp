// SPDX-License-Identifier: BSD-3-Clause
// The part of a node that makes and changes what all shards read: local NIs, peers, and through
// discovery what peers consist of. It has no thread: a shard of its own choice hosts it, hands it
// parcels and events, and steps it once a turn. Nothing here blocks.
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

// What the coordinator asks of the shard that hosts it. None of these calls back into it, but for
// the two …_released(), which may come at once.
class CoordinatorHost {
 public:
  virtual ~CoordinatorHost() = default;
  // That shard's.
  [[nodiscard]] virtual DataOperations& data() = 0;
  // The parcel goes home; its outcome is set.
  virtual void wait_over(Parcel& parcel) = 0;
  // See PeerDirectoryHooks::release_peer_ni(); then Coordinator::peer_ni_released().
  virtual void release_peer_ni(PeerNi& ni) = 0;
  // No shard finds this NI any more: its Lnds are shut down, and when no message names it,
  // Coordinator::ni_released() is called.
  virtual void release_ni(Ni& ni) = 0;
  // Pushes of others that wait are dropped, and those that come from now on: nobody will take one.
  virtual void end_pushes() = 0;
  // The status of some peer NI has become down.
  virtual void hop_lost() {}
  // On all shards together, as far as this one can see.
  [[nodiscard]] virtual RoutedLoad routed_load() const { return {}; }
  // Transports are asked for what they still have (Lnd::unsent_bytes()), unless they just are;
  // later routed_load() tells.
  virtual void count_unsent(Instant /*since*/) {}
  // Every shard shall look at these fault rules from now on; null: there are none.
  virtual void publish_faults(const FaultView* view) = 0;
  virtual void publish_routes(const RouteView& view) = 0;
  virtual void publish_access(const AccessView* view) = 0;
  // Of this turn.
  [[nodiscard]] virtual Instant now() const = 0;
};

struct CoordinatorLimits {
  unsigned shards = 1;  // of the node
  PeerLimits peers;
  // Pings and pushes under way, and pushes of others being looked at: one slot each.
  std::size_t exchanges = 64;
  // Messages that wait until a peer can be made, for room or for their turn.
  std::size_t waiting_for_peers = 1024;
  // Next hops that are down and pinged at a time: whoever never routes needs none.
  std::size_t recovering = PeerRecovery::kPeerNisMax;
  // Of the node's standing, that nobody has read yet.
  std::size_t notes = 256;
  // Of what fault rules draw.
  std::uint64_t fault_seed = 1;
  // Of where routes come in the list of their network: differs from node to node.
  std::uint64_t route_seed = 1;
};

#define PLNET_COORDINATOR_COUNTERS(X)                                                             \
  X(kWanted, "peers_wanted", "requests", kCount, "shards that asked for a peer")                  \
  X(kWantedRefused, "peers_wanted_refused", "requests", kCount, "of them, that got none")         \
  X(kWantedWaited, "peers_wanted_waited", "requests", kCount, "of them, that waited")             \
  X(kDiscover, "discoveries_wanted", "requests", kCount, "messages that asked for discovery")     \
  X(kDiscoverGone, "discoveries_gone", "requests", kCount, "of them, for an interface that went") \
  X(kTargetFailed, "ping_targets_failed", "attempts", kCount, "no descriptor for ping or push")

PLNET_COUNTERS(CoordinatorTable, PLNET_COORDINATOR_COUNTERS);
using CoordinatorCounters = Counters<CoordinatorTable>;
using CoordinatorCounter = CoordinatorTable::Id;

class Coordinator final : private PeerDirectoryHooks,
                          private DiscoveryObserver,
                          private RoutesObserver {
 public:
  // What `memory` must have.
  [[nodiscard]] static std::size_t memory_bytes(const CoordinatorLimits& limits) {
    return (PingTarget::kBuffers + 1 + limits.exchanges) * kPingSlotBytes;
  }

  // Allocates; start-up only. All references outlive it. Portal 0 is to be lazy.
  Coordinator(const CoordinatorLimits& limits, Qsbr& qsbr, Placement& placement,
              Parameters& parameters, CoordinatorHost& host, PingMemory memory);

  // Any shard.
  [[nodiscard]] const PeerDirectory& peers() const { return directory_; }
  [[nodiscard]] const LocalView& local() const { return networks_.view(); }

  // The rest is for the hosting shard.

  // A shard has looked in vain for the peer NI of a NID that a message came from or goes to. It
  // looks again when the parcel is back.
  void want_peer(Parcel& parcel, const WantedPeer& wanted);
  // A message whose peer needs_discovery(). Back with an error: it fails with that. The interface
  // is what the hosting shard has just found: a pointer from another shard's look-up may be stale.
  void discover(Message& message, PeerNi& ni);
  // A shard has refused to forward to this next hop, since it is down, or has found that it is not
  // well: it is pinged until it is.
  void request_recovery(const Nid& hop) {
    if (!shut_) recovery_.add(hop, host_.now());
  }
  // It may have less health than it could have.
  void request_recovery_if_needed(const PeerNi& ni);
  // Some peer NI has, and it was not said which.
  void request_all_recoveries() { recovery_.request_look_at_all(); }
  void peer_ni_released(PeerNi& ni);
  void ni_released(Ni& ni);

  // A bounded piece of what there is to do; `budget` peers. Returns the work done.
  unsigned step(Instant now, unsigned budget = 64);
  // Of that only what makes room for more peers.
  void reclaim(unsigned budget = 64) { (void)directory_.step(budget); }
  [[nodiscard]] Instant next_deadline(Instant now);

  // Administration; each publishes what it changes before it returns.
  [[nodiscard]] Outcome<Ni*> add_ni(const NiSetup& config);
  [[nodiscard]] Outcome<void> remove_ni(const Nid& nid);
  // In the ping buffer; `push`: and to all peers at once. Until it is looked at the next time.
  void set_ni_status(Ni& ni, std::uint32_t status, bool push) {
    standing_.set_status(ni, status, push);
  }
  // NIs that a ping has found alive (Ni::revived), what LNDs have told of theirs, and those whose
  // health has come to an end.
  void tell_of_changed() {
    if (!shut_) standing_.look_at_nis(host_.now());
  }
  PeerResult<void> add_peer(const Nid& primary, const Nid& nid, bool multi_rail,
                            bool lock_primary = false);
  PeerResult<void> delete_peer(const Nid& primary, const Nid& nid, bool force = false);
  // These undo add_peer(): of one NID, or of all since the peer was found as it was.
  PeerResult<void> withdraw_nid(const Nid& primary, const Nid& nid);
  [[nodiscard]] PeerFound found_peer(const Nid& primary) { return rules_.found(primary); }
  PeerResult<void> put_back_peer(const Nid& primary, const PeerFound& before);
  // Errc as Routes::add() has it. kAgain: room is being made, try again soon.
  [[nodiscard]] Outcome<void> add_route(const RouteSetup& setup);
  [[nodiscard]] Outcome<void> delete_route(NetId net, const Nid& gateway);
  // `lnetctl discover`: `force` pings and pushes even if all is known.
  void discover(DiscoverRequest& request, bool force);
  void ping(PingRequest& request);
  // With what else changes on that account: 7.7.
  void set_discovery(bool on);
  // As at the start: at once. What a running node does: standing().
  void set_routing(bool on, bool push) { standing_.set_routing(on, push, host_.now()); }
  // Fault rules (faults/fault_table.hpp), for tests of what LNet does when things go wrong.
  [[nodiscard]] Outcome<void> add_fault(const FaultSpec& spec);
  std::size_t remove_faults(FaultKind kind, const Nid& source, const Nid& destination);
  std::size_t remove_fault(const FaultSpec& spec);
  void reset_faults(FaultKind kind) { faults_.reset(kind, host_.now()); }
  [[nodiscard]] std::vector<FaultReport> faults(FaultKind kind) const { return faults_.list(kind); }
  [[nodiscard]] Outcome<void> fail_nid(const Nid& nid, std::uint32_t messages);
  // Who may connect and for whom we forward (access/access_rule.hpp): these rules and no others.
  void set_access(std::span<const AccessRule> rules);
  [[nodiscard]] std::vector<AccessReport> access() const { return access_.list(); }
  // User-defined selection policies: these and no others. Peers follow in the next steps, until
  // when policies().sweeping().
  void set_policies(std::span<const Udsp> policies) { policies_.set(policies, local()); }
  // To all multi-rail peers, whatever they have acknowledged.
  void push_to_peers() { discovery_.push_to_all(true); }

  // Nothing new begins; whoever waits is told. quiet(): all descriptors are back.
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
  // Of the routes.
  void on_routes_published(const RouteView& view) override;
  void on_route_added(Route& route) override { checks_.route_added(route, host_.now()); }
  void on_gateway_added(PeerRecord& gateway) override {
    checks_.gateway_added(gateway, host_.now());
    host_.hop_lost();  // it may begin as down
  }
  void on_gateway_removed(PeerRecord& gateway) override { checks_.gateway_removed(gateway); }
  // Of discovery.
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
  PeerRecovery recovery_;  // its requests are in node_ping_'s lists: those go first
  NodePing node_ping_;
  NodeStanding standing_;
  std::vector<Wanted> wanted_;  // in the order of asking; has its full capacity from the start
  const std::size_t wanted_max_;
  std::vector<Ni*> removed_;  // to be released when readers have passed
  std::vector<Ni*> releasing_;
  bool room_has_come_ = false;
  Instant next_turn_{};  // of those that wait for it
  Instant next_look_{};
  bool shut_ = false;
};

}  // namespace plnet::lnet
