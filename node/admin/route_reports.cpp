// SPDX-License-Identifier: BSD-3-Clause
#include "node/admin/route_reports.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "lib/lnet/control/coordinator.hpp"
#include "lib/lnet/control/gateway.hpp"
#include "lib/lnet/names/nid_text.hpp"
#include "lib/lnet/node/node.hpp"
#include "lib/lnet/peers/peer_directory.hpp"
#include "lib/lnet/peers/peer_records.hpp"
#include "node/host/shard_question.hpp"

namespace plnet::node {
namespace {

// The caller limits these lines: a dead gateway ends all its routes, and each line names another
// route. GatewayChecks keeps a bounded number of changes and damps routes that flap.
constexpr runtime::LogSite kRouteUp{runtime::LogLevel::kWarning,
                                    "route_up",
                                    {"net", "gateway", "cause"},
                                    runtime::LogLimit::kCaller};
constexpr runtime::LogSite kRouteDown{runtime::LogLevel::kWarning,
                                      "route_down",
                                      {"net", "gateway", "cause"},
                                      runtime::LogLimit::kCaller};

lnet::RouteReport report_of(const lnet::Route& route, Instant now) {
  const bool undefined = route.spec.hops == lnet::kRouteHopsUndefined;
  lnet::RouteReport report{
      .route = {.net = route.spec.net,
                .gateway = route.spec.gateway,
                .hops = undefined ? lnet::kHopsUndefined : static_cast<int>(route.spec.hops),
                .priority = route.spec.priority},
      .up = route.alive.get(),
      .single_hop = route.single_hop.get(),
      .changes = route.history.count(),
      .answers_wanted = route.flaps.answers_wanted()};
  for (std::size_t i = 0; i < route.history.kept(); ++i) {
    const lnet::RouteTransition& change = route.history.back(i);
    report.last_changes.push_back({.ago = now - change.when,
                                   .up = change.up,
                                   .cause = std::string(lnet::text_of(change.cause))});
  }
  return report;
}

// lustre-release lnet/lnet/router.c: lnet_is_gateway_alive()
bool is_alive(const lnet::Peer& gateway) {
  const lnet::PeerView& seen = gateway.seen();
  return gateway.alive.get() && std::ranges::all_of(seen.nets, [&seen](const auto& net) {
           return lnet::has_ni_up(seen, net.net);
         });
}

// lustre-release lnet/lnet/peer.c: lnet_peer_attach_peer_ni(), router.c: lnet_rtr_addref_locked()
lnet::GatewayReport report_of(const lnet::Gateway& gateway, Instant now) {
  const lnet::PeerRecord& peer = *gateway.peer;
  lnet::GatewayReport report{.primary = peer.primary,
                             .references = static_cast<std::uint32_t>(peer.seen().nets.size()) + 1,
                             .routes = peer.gateway_refs,
                             .up = is_alive(peer),
                             .checking = gateway.checking};
  if (gateway.checked != Instant{}) report.since_checked = now - gateway.checked;
  return report;
}

}  // namespace

void report_routes(LnetDesk& desk, lnet::Reply<std::vector<lnet::RouteReport>> reply) {
  const auto list = [](lnet::Node& node) {
    std::vector<lnet::RouteReport> routes;
    for (const lnet::RemoteNet& net : node.coordinator().routes().view().nets()) {
      for (const lnet::Route* const route : net.routes)
        routes.push_back(report_of(*route, node.shard(0).core().now));
    }
    return routes;
  };
  ask_node(desk, list, std::move(reply));
}

std::vector<lnet::Nid> nids_of_node(const lnet::PeerDirectory& directory, const lnet::Nid& nid) {
  std::vector<lnet::Nid> nids;
  const lnet::PeerRecord* const peer = directory.peer_of(nid);
  if (peer == nullptr) return nids;
  for (const lnet::PeerNi* const ni : peer->seen().nis)
    nids.push_back(ni->nid);
  return nids;
}

void report_gateways(LnetDesk& desk, lnet::Reply<std::vector<lnet::GatewayReport>> reply) {
  const auto list = [](lnet::Node& node) {
    std::vector<lnet::GatewayReport> gateways;
    for (const lnet::Gateway* const gateway : node.coordinator().gateway_checks().gateways())
      gateways.push_back(report_of(*gateway, node.shard(0).core().now));
    return gateways;
  };
  ask_node(desk, list, std::move(reply));
}

void take_route_news(LnetDesk& desk, const lnet::Node& node, RouteNewsReply reply) {
  if (!node.coordinator().gateway_checks().has_news()) return reply({});
  ask_coordinator(
      desk, [](lnet::Coordinator& coordinator) { return coordinator.gateway_checks().pop_news(); },
      [reply = std::move(reply)](Outcome<std::vector<lnet::RouteNews>>&& news) mutable {
        reply(std::move(news).value_or(std::vector<lnet::RouteNews>{}));
      });
}

void log_route_news(const std::vector<lnet::RouteNews>& news, runtime::Log& log) {
  for (const lnet::RouteNews& each : news) {
    log.write(
        each.transition.up ? kRouteUp : kRouteDown,
        {lnet::text_of_net(each.net), text_of(each.gateway), lnet::text_of(each.transition.cause)});
  }
}

}  // namespace plnet::node
