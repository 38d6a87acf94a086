// SPDX-License-Identifier: BSD-3-Clause
// What can be asked of a running LNet: the other side of `lnetctl`. The core implements it, the
// verbs of lib/runtime/lnet call it.
//
// Everything is called on the admin thread, and every continuation is called on the admin thread,
// once: during the call if the answer is at hand, later if shards or the network have to be asked.
// Nothing here blocks. What fails has changed nothing.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/clock.hpp"
#include "lib/base/result.hpp"
#include "lib/lnet/load/load_tally.hpp"
#include "lib/lnet/node/connection_report.hpp"
#include "lib/lnet/node/messages_report.hpp"
#include "lib/lnet/node/node_config.hpp"
#include "lib/lnet/node/node_report.hpp"
#include "lib/lnet/node/path_report.hpp"

namespace plnet::lnet {

// By reference, so that gcc 12 does not see uninitialised vectors in moves that never happen.
template <class T>
using Reply = std::move_only_function<void(Outcome<T>&&)>;

// What is to become of what is configured; with an error, nothing. Called once at most.
using ConfigEdit = std::move_only_function<Outcome<void>(NodeConfig& config)>;

struct ConfigureRequest {
  bool networks = false;    // also what module options and `ip2nets` say
  bool large_nids = false;  // take IPv6 addresses where an interface has both
};

// What `net del` means: the network, or of it only the NIs on these interfaces or with these NIDs.
struct NetSelection {
  NetId net = kNetAny;  // kNetAny: the NIDs tell
  std::vector<std::string> interfaces;
  std::vector<Nid> nids;
};

// What `net set` changes; what is absent stays.
struct NiChange {
  std::optional<Nid> nid;  // of this NI
  bool all = false;        // of every NI
  NetId net = kNetAny;     // of every NI on this network, or of the one with the NID
  std::optional<std::int32_t> health;
  std::optional<std::int32_t> connections_per_peer;
  std::optional<std::int32_t> lnd_timeout_s;

  [[nodiscard]] bool is_for(NetId of, const Nid& ni) const {
    if (net != kNetAny && net != of) return false;
    return nid ? *nid == ni : all || net != kNetAny;
  }
};

struct PeerSelection {
  Nid primary;
  std::vector<Nid> nids;  // none, or the primary among them: the whole peer
  bool force = false;     // also a peer whose primary NID is locked
};

struct PeerNiChange {
  std::optional<Nid> nid;
  bool all = false;
  std::optional<std::int32_t> health;
  std::optional<std::uint32_t> state;  // PeerState of its peer; for tests
};

struct PingOrder {
  static constexpr std::uint32_t kCountMax = 100'000;
  static constexpr std::uint32_t kWindowMax = 16;

  std::vector<Nid> nids;
  Duration timeout = std::chrono::seconds(1);  // for each ping
  std::optional<Nid> source;
  // A burst: so many pings to each NID, of which so many are under way at a time. Whoever does not
  // answer for a while gets no more.
  std::optional<std::uint32_t> count;
  std::uint32_t window = 1;
};

struct DiscoverOrder {
  std::vector<Nid> nids;
  bool force = false;  // also if what is known is fresh
};

// How a router is taken out of service.
struct DrainOrder {
  // Then it ends whatever is left. Without: RoutingStateMachine::patience().
  std::optional<Duration> bound{};
  // Peers have the whole time that they need to find out by themselves, also if all have
  // acknowledged that they were told: a kernel of 2.12 acknowledges and goes by its own pings.
  bool full_notice = false;
};

class LnetControl {
 public:
  virtual ~LnetControl() = default;
  LnetControl(const LnetControl&) = delete;
  LnetControl& operator=(const LnetControl&) = delete;

  // Again while configured is fine, and changes nothing.
  virtual void configure(const ConfigureRequest& request, Reply<void> done) = 0;
  // Networks, routes and peers go; variables stay. kBusy while somebody uses LNet.
  virtual void unconfigure(Reply<void> done) = 0;

  // What was configured, by whatever way, and not taken back; peers that discovery found are not in
  // it. This is what `export --backup` writes.
  [[nodiscard]] virtual const NodeConfig& config() const = 0;
  // Makes what is configured be what `edit` makes of it: all of it or, with an error, nothing. It
  // is called when the changes that were asked for before have been carried out, so none of them is
  // taken back unseen. Configures LNet first if there are networks in it.
  virtual void edit(ConfigEdit edit, Reply<void> done) = 0;

  // kExists: the NI is there. kNotFound: no such interface on this machine.
  virtual void add_net(NetConfig net, Reply<void> done) = 0;
  virtual void del_net(NetSelection selection, Reply<void> done) = 0;
  virtual void set_ni(NiChange change, Reply<void> done) = 0;
  virtual void add_peer(PeerConfig peer, Reply<void> done) = 0;
  virtual void del_peer(PeerSelection selection, Reply<void> done) = 0;
  virtual void set_peer_ni(PeerNiChange change, Reply<void> done) = 0;
  virtual void add_route(RouteConfig route, Reply<void> done) = 0;
  virtual void del_route(NetId net, Nid gateway, Reply<void> done) = 0;
  // On: cancels a stop or a drain. kBusy: the process ends; kNoMemory: there are no buffers.
  virtual void set_routing(bool enabled, Reply<void> done) = 0;
  // Stops routing without losing anything: `done` when it has begun, routing() tells how far it is.
  // kInvalid: the node does not route.
  virtual void drain_routing(DrainOrder order, Reply<void> done) = 0;
  // Cancels a drain or a stop. kInvalid: there is none. kBusy: the process ends.
  virtual void undrain_routing(Reply<void> done) = 0;

  [[nodiscard]] virtual ParameterValues parameters() const = 0;

  // Fault rules. `fault` is complete(). kInvalid: the same rule is there.
  virtual void add_fault(FaultSpec fault, Reply<void> done) = 0;
  // Those that is_named() means; how many there were.
  virtual void del_faults(FaultKind kind, Nid source, Nid destination, Reply<std::size_t> done) = 0;
  // All of the kind count anew.
  virtual void reset_faults(FaultKind kind, Reply<void> done) = 0;
  // Newest first, as they are asked.
  virtual void faults(FaultKind kind, Reply<std::vector<FaultReport>> reply) = 0;

  // Access rules. `at`: before the rule of that index; absent: behind all. kOutOfRange: there are
  // not as many.
  virtual void add_access(AccessRule rule, std::optional<std::size_t> at, Reply<void> done) = 0;
  // Absent: all of them.
  virtual void del_access(std::optional<std::size_t> at, Reply<void> done) = 0;
  virtual void access(Reply<std::vector<AccessReport>> reply) = 0;

  // Reports hold at least what `level` prints (fields above it may be left at their defaults).
  // A net or NID that is not there: kNetworkDown, kNotFound.
  virtual void nets(std::optional<NetId> only, int level, Reply<std::vector<NetReport>> reply) = 0;
  virtual void peers(std::optional<Nid> only, int level, Reply<std::vector<PeerReport>> reply) = 0;
  virtual void routes(Reply<std::vector<RouteReport>> reply) = 0;
  // In the order in which they were added.
  virtual void gateways(Reply<std::vector<GatewayReport>> reply) = 0;
  virtual void routing(Reply<RoutingReport> reply) = 0;
  virtual void recovery(Reply<RecoveryReport> reply) = 0;
  virtual void messages(Reply<MessagesReport> reply) = 0;
  // One for each NID, in order: the CPT where it is at home, or will be. Absent: not known before
  // its peer is there.
  virtual void cpts_of(std::vector<Nid> nids,
                       Reply<std::vector<std::optional<std::uint16_t>>> reply) = 0;
  virtual void explain(PathQuestion question, Reply<PathReport> reply) = 0;
  // Who makes the load.
  virtual void load(Reply<LoadSnapshot> reply) = 0;
  virtual void statistics(Reply<StatisticsReport> reply) = 0;
  virtual void reset_statistics(Reply<void> done) = 0;
  // Of the network drivers that have connections.
  virtual void connections(ConnectionQuery query, Reply<std::vector<ConnectionReport>> reply) = 0;
  virtual void connection_peers(ConnectionQuery query,
                                Reply<std::vector<ConnectionPeerReport>> reply) = 0;

  // One report for each NID, in order; fails as a whole only if LNet is down. Bounded in time by
  // the timeout of the request.
  virtual void ping(PingOrder request, Reply<std::vector<PingReport>> reply) = 0;
  virtual void discover(DiscoverOrder request, Reply<std::vector<PingReport>> reply) = 0;

 protected:
  LnetControl() = default;
};

}  // namespace plnet::lnet
