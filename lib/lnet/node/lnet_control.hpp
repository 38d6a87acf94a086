// SPDX-License-Identifier: BSD-3-Clause
// Queries and changes of a running LNet: the other side of `lnetctl`. The core implements it, the
// verbs of lib/runtime/lnet call it.
//
// All calls are made on the admin thread, and every continuation is called there once: during the
// call if the answer is available, later if shards or the network must be asked. No call blocks. A
// failure has changed nothing.
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

// By reference, because gcc 12 sees uninitialised vectors in moves that never happen.
template <class T>
using Reply = std::move_only_function<void(Outcome<T>&&)>;

// Changes the configuration; an error leaves it unchanged. Called once at most.
using ConfigEdit = std::move_only_function<Outcome<void>(NodeConfig& config)>;

struct ConfigureRequest {
  bool networks = false;    // also those of module options and `ip2nets`
  bool large_nids = false;  // use IPv6 addresses where an interface has both kinds
};

// The NIs of `net del`: the whole network, or only the NIs on these interfaces or with these NIDs.
struct NetSelection {
  NetId net = kNetAny;  // kNetAny: that of the NIDs
  std::vector<std::string> interfaces;
  std::vector<Nid> nids;
};

// The changes of `net set`; an absent field stays.
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
  std::vector<Nid> nids;  // empty, or with the primary NID: the whole peer
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
  // A burst: this many pings to each NID, with a limit on those under way. A NID that does not
  // answer for a while gets no more.
  std::optional<std::uint32_t> count;
  std::uint32_t window = 1;
};

struct DiscoverOrder {
  std::vector<Nid> nids;
  bool force = false;  // even if the known data are fresh
};

// The order to take a router out of service.
struct DrainOrder {
  // It ends after this time in any case. Absent: RoutingStateMachine::patience().
  std::optional<Duration> bound{};
  // Waits for the whole time in which peers notice by themselves, even if all have acknowledged: a
  // kernel of 2.12 acknowledges but follows its own pings.
  bool full_notice = false;
};

class LnetControl {
 public:
  virtual ~LnetControl() = default;
  LnetControl(const LnetControl&) = delete;
  LnetControl& operator=(const LnetControl&) = delete;

  // A repeated call changes nothing.
  virtual void configure(const ConfigureRequest& request, Reply<void> done) = 0;
  // Removes networks, routes and peers; variables stay. kBusy: LNet is in use.
  virtual void unconfigure(Reply<void> done) = 0;

  // The configuration from all sources, without peers that discovery found. `export --backup`
  // writes it.
  [[nodiscard]] virtual const NodeConfig& config() const = 0;
  // Applies `edit` to the configuration: all of it or, with an error, nothing. It is called after
  // all earlier changes, so it undoes none of them unseen. Configures LNet first if the result has
  // networks.
  virtual void edit(ConfigEdit edit, Reply<void> done) = 0;

  // kExists: the NI exists. kNotFound: this machine has no such interface.
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
  // Stops routing without loss: `done` follows the beginning, routing() has the progress. kInvalid:
  // the node does not route.
  virtual void drain_routing(DrainOrder order, Reply<void> done) = 0;
  // Cancels a drain or a stop. kInvalid: there is none. kBusy: the process ends.
  virtual void undrain_routing(Reply<void> done) = 0;

  [[nodiscard]] virtual ParameterValues parameters() const = 0;

  // Fault rules. `fault` is complete(). kInvalid: the same rule exists.
  virtual void add_fault(FaultSpec fault, Reply<void> done) = 0;
  // Deletes the rules that is_named() selects; the answer is their number.
  virtual void del_faults(FaultKind kind, Nid source, Nid destination, Reply<std::size_t> done) = 0;
  // All rules of the kind count from 0.
  virtual void reset_faults(FaultKind kind, Reply<void> done) = 0;
  // Newest first, the order in which they are asked.
  virtual void faults(FaultKind kind, Reply<std::vector<FaultReport>> reply) = 0;

  // Access rules. `at`: before the rule with that index; absent: after all. kOutOfRange: there are
  // fewer.
  virtual void add_access(AccessRule rule, std::optional<std::size_t> at, Reply<void> done) = 0;
  // Absent: deletes all.
  virtual void del_access(std::optional<std::size_t> at, Reply<void> done) = 0;
  virtual void access(Reply<std::vector<AccessReport>> reply) = 0;

  // Reports hold at least the fields that `level` prints (others may have their defaults).
  // kNetworkDown, kNotFound: no such net or NID.
  virtual void nets(std::optional<NetId> only, int level, Reply<std::vector<NetReport>> reply) = 0;
  virtual void peers(std::optional<Nid> only, int level, Reply<std::vector<PeerReport>> reply) = 0;
  virtual void routes(Reply<std::vector<RouteReport>> reply) = 0;
  // In the order in which they were added.
  virtual void gateways(Reply<std::vector<GatewayReport>> reply) = 0;
  virtual void routing(Reply<RoutingReport> reply) = 0;
  virtual void recovery(Reply<RecoveryReport> reply) = 0;
  virtual void messages(Reply<MessagesReport> reply) = 0;
  // For each NID, in order: the CPT of its home, present or future. Absent: unknown until its peer
  // exists.
  virtual void cpts_of(std::vector<Nid> nids,
                       Reply<std::vector<std::optional<std::uint16_t>>> reply) = 0;
  virtual void explain(PathQuestion question, Reply<PathReport> reply) = 0;
  // The sources of the load.
  virtual void load(Reply<LoadSnapshot> reply) = 0;
  virtual void statistics(Reply<StatisticsReport> reply) = 0;
  virtual void reset_statistics(Reply<void> done) = 0;
  // Reports of network drivers with connections.
  virtual void connections(ConnectionQuery query, Reply<std::vector<ConnectionReport>> reply) = 0;
  virtual void connection_peers(ConnectionQuery query,
                                Reply<std::vector<ConnectionPeerReport>> reply) = 0;

  // One report for each NID, in order; fails as a whole only if LNet is down. The timeout of the
  // request bounds it.
  virtual void ping(PingOrder request, Reply<std::vector<PingReport>> reply) = 0;
  virtual void discover(DiscoverOrder request, Reply<std::vector<PingReport>> reply) = 0;

 protected:
  LnetControl() = default;
};

}  // namespace plnet::lnet
