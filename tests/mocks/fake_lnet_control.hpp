// SPDX-License-Identifier: BSD-3-Clause
// An LNet that only records its requests, for tests of verbs and commands. Answers at once, unless
// told to hold answers back.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "lib/lnet/names/nid_text.hpp"
#include "lib/lnet/node/lnet_control.hpp"

namespace plnet::lnet {

class FakeLnetControl : public LnetControl {
 public:
  void configure(const ConfigureRequest& request, Reply<void> done) override {
    configured = true;
    configure_request = request;
    answer(std::move(done));
  }
  void unconfigure(Reply<void> done) override {
    configured = false;
    node = {};
    answer(std::move(done));
  }
  [[nodiscard]] const NodeConfig& config() const override { return node; }
  void edit(ConfigEdit edit, Reply<void> done) override {
    ++edits;
    NodeConfig wanted = node;
    if (auto edited = edit(wanted); !edited) return done(std::move(edited));
    if (!refusal) node = std::move(wanted);
    answer(std::move(done));
  }

  void add_net(NetConfig net, Reply<void> done) override {
    if (node.net(net.net) != nullptr) return done(failure(Errc::kExists, "cannot add network"));
    node.nets.push_back(std::move(net));
    answer(std::move(done));
  }
  void del_net(NetSelection selection, Reply<void> done) override {
    net_selection = selection;
    if (std::erase_if(node.nets, [&](const auto& net) { return net.net == selection.net; }) == 0) {
      return done(failure(Errc::kNotFound, "cannot del network"));
    }
    answer(std::move(done));
  }
  void set_ni(NiChange change, Reply<void> done) override {
    ni_change = change;
    answer(std::move(done));
  }
  void add_peer(PeerConfig peer, Reply<void> done) override {
    node.peers.push_back(std::move(peer));
    answer(std::move(done));
  }
  void del_peer(PeerSelection selection, Reply<void> done) override {
    peer_selection = selection;
    std::erase_if(node.peers, [&](const auto& peer) { return peer.primary == selection.primary; });
    answer(std::move(done));
  }
  void set_peer_ni(PeerNiChange change, Reply<void> done) override {
    peer_ni_change = change;
    answer(std::move(done));
  }
  void add_route(RouteConfig route, Reply<void> done) override {
    node.routes.push_back(route);
    answer(std::move(done));
  }
  void del_route(NetId net, Nid gateway, Reply<void> done) override {
    std::erase_if(node.routes,
                  [&](const auto& route) { return route.net == net && route.gateway == gateway; });
    answer(std::move(done));
  }
  void set_routing(bool enabled, Reply<void> done) override {
    node.routing = enabled;
    drain.reset();
    answer(std::move(done));
  }
  void drain_routing(DrainOrder order, Reply<void> done) override {
    if (!node.routing) return done(failure(Errc::kInvalid, "this node does not route"));
    drain = order;
    done({});
  }
  void undrain_routing(Reply<void> done) override {
    if (!drain) return done(failure(Errc::kInvalid, "this node is not drained"));
    drain.reset();
    done({});
  }
  [[nodiscard]] ParameterValues parameters() const override { return node.parameters; }

  void add_fault(FaultSpec fault, Reply<void> done) override {
    node.faults.push_back(fault);
    answer(std::move(done));
  }
  void del_faults(FaultKind kind, Nid source, Nid destination, Reply<std::size_t> done) override {
    done(std::erase_if(node.faults, [&](const FaultSpec& fault) {
      return is_named(fault, kind, source, destination);
    }));
  }
  void reset_faults(FaultKind kind, Reply<void> done) override {
    faults_reset = kind;
    answer(std::move(done));
  }
  void faults(FaultKind kind, Reply<std::vector<FaultReport>> reply) override {
    std::vector<FaultReport> reports;
    for (const FaultSpec& fault : node.faults) {
      if (fault.kind == kind) reports.insert(reports.begin(), {fault, fault_counts});
    }
    reply(std::move(reports));
  }

  void add_access(AccessRule rule, std::optional<std::size_t> at, Reply<void> done) override {
    const auto place = static_cast<std::ptrdiff_t>(at.value_or(node.access.size()));
    node.access.insert(node.access.begin() + place, std::move(rule));
    answer(std::move(done));
  }
  void del_access(std::optional<std::size_t> at, Reply<void> done) override {
    if (at) {
      node.access.erase(node.access.begin() + static_cast<std::ptrdiff_t>(*at));
    } else {
      node.access.clear();
    }
    answer(std::move(done));
  }
  void access(Reply<std::vector<AccessReport>> reply) override {
    std::vector<AccessReport> reports;
    for (const AccessRule& rule : node.access)
      reports.push_back({.rule = rule, .matched = 7, .connections = 3});
    reply(std::move(reports));
  }

  void nets(std::optional<NetId> only, int /*level*/,
            Reply<std::vector<NetReport>> reply) override {
    NetReport loopback{make_net(NetType::kLoopback), {{}}};
    loopback.nis[0].nid = Nid::of(NetType::kLoopback, 0, 0);
    std::vector<NetReport> reports;
    if (!only || *only == loopback.net) reports.push_back(loopback);
    for (const NetConfig& net : node.nets) {
      if (only && *only != net.net) continue;
      NetReport& report = reports.emplace_back();
      report.net = net.net;
      std::uint32_t number = 1;
      for (const NiConfig& ni : net.nis) {
        NiReport& shown = report.nis.emplace_back();
        shown.nid = ni.nid.value_or(Nid::of(type_of_net(net.net), 0, number++));
        shown.interfaces = ni.interfaces;
        shown.lnd_tunables = ni.lnd_tunables;
        shown.cpts = {0};
      }
    }
    if (reports.empty()) return reply(failure(Errc::kNetworkDown, "Network is down"));
    reply(std::move(reports));
  }
  void peers(std::optional<Nid> only, int /*level*/,
             Reply<std::vector<PeerReport>> reply) override {
    std::vector<PeerReport> reports;
    for (const PeerConfig& peer : node.peers) {
      if (only && std::ranges::find(peer.nids, *only) == peer.nids.end()) continue;
      PeerReport& report = reports.emplace_back();
      report.primary = peer.primary;
      report.multi_rail = peer.multi_rail;
      for (const Nid& nid : peer.nids) {
        const auto known = std::ranges::find(peer_nis, nid, &PeerNiReport::nid);
        report.nis.push_back(known != peer_nis.end() ? *known : PeerNiReport{.nid = nid});
      }
    }
    reply(std::move(reports));
  }
  void routes(Reply<std::vector<RouteReport>> reply) override {
    std::vector<RouteReport> reports;
    for (const RouteConfig& route : node.routes)
      reports.push_back({.route = route, .up = true, .single_hop = true});
    reply(std::move(reports));
  }
  void gateways(Reply<std::vector<GatewayReport>> reply) override {
    std::vector<GatewayReport> reports;
    for (const RouteConfig& route : node.routes)
      reports.push_back({.primary = route.gateway, .references = 2, .routes = 1, .up = true});
    reply(std::move(reports));
  }
  void routing(Reply<RoutingReport> reply) override {
    RoutingReport report;
    report.cpts.resize(1);
    report.configured = node.routing;
    report.state = node.routing ? RoutingState::kEnabled : RoutingState::kDisabled;
    if (drain) report.state = RoutingState::kStopping;
    if (drain)
      report.change = RoutingChangeReport{.phase = "emptying", .is_drain = true, .held = 3};
    report.buffers = node.buffers;
    reply(std::move(report));
  }
  void recovery(Reply<RecoveryReport> reply) override { reply(recovering); }
  void messages(Reply<MessagesReport> reply) override { reply(standing); }
  void cpts_of(std::vector<Nid> nids,
               Reply<std::vector<std::optional<std::uint16_t>>> reply) override {
    std::vector<std::optional<std::uint16_t>> cpts;
    for (const Nid& nid : nids)
      cpts.push_back(cpt_of ? cpt_of(nid) : std::nullopt);
    reply(std::move(cpts));
  }
  void explain(PathQuestion question, Reply<PathReport> reply) override {
    PathReport report = path;
    report.question = question;
    reply(std::move(report));
  }
  void load(Reply<LoadSnapshot> reply) override { reply(tallied); }
  void statistics(Reply<StatisticsReport> reply) override { reply(counted); }
  void reset_statistics(Reply<void> done) override {
    counted = {};
    answer(std::move(done));
  }

  void connections(ConnectionQuery query, Reply<std::vector<ConnectionReport>> reply) override {
    connection_query = query;
    reply(std::vector<ConnectionReport>(connected));
  }
  void connection_peers(ConnectionQuery query,
                        Reply<std::vector<ConnectionPeerReport>> reply) override {
    connection_query = query;
    reply(std::vector<ConnectionPeerReport>(connected_peers));
  }

  // Addresses with an odd last number answer.
  void ping(PingOrder request, Reply<std::vector<PingReport>> reply) override {
    ping_request = request;
    held.push_back(
        [nids = request.nids, reply = std::move(reply)]() mutable { reply(reports_of(nids)); });
    if (!hold) release();
  }
  void discover(DiscoverOrder request, Reply<std::vector<PingReport>> reply) override {
    discover_request = request;
    reply(reports_of(request.nids));
  }
  // Sends the answers that were held back.
  void release() {
    for (auto& late : std::exchange(held, {}))
      late();
  }

  NodeConfig node;
  std::optional<DrainOrder> drain;
  bool configured = false;
  unsigned edits = 0;
  bool hold = false;
  std::optional<Error> refusal;  // the answer of all requests without data
  ConfigureRequest configure_request;
  NetSelection net_selection;
  NiChange ni_change;
  PeerSelection peer_selection;
  PeerNiChange peer_ni_change;
  PingOrder ping_request;
  DiscoverOrder discover_request;
  RecoveryReport recovering;
  MessagesReport standing;
  std::function<std::optional<std::uint16_t>(const Nid&)> cpt_of;
  StatisticsReport counted;
  LoadSnapshot tallied;
  FaultCounts fault_counts;
  PathReport path;
  std::optional<FaultKind> faults_reset;
  ConnectionQuery connection_query;
  std::vector<ConnectionReport> connected;
  std::vector<PeerNiReport> peer_nis;  // of some nodes
  std::vector<ConnectionPeerReport> connected_peers;
  std::vector<std::move_only_function<void()>> held;

 private:
  void answer(Reply<void> done) {
    if (refusal) return done(std::unexpected(*refusal));
    done({});
  }
  static std::vector<PingReport> reports_of(const std::vector<Nid>& nids) {
    std::vector<PingReport> reports;
    for (const Nid& nid : nids) {
      if (nid.address32() % 2 == 1) {
        reports.push_back({nid, RemoteNode{nid, true, {nid}}});
      } else {
        reports.push_back({nid, failure(Errc::kIo, "Input/output error")});
      }
    }
    return reports;
  }
};

}  // namespace plnet::lnet
