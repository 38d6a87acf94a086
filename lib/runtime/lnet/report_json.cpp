// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/lnet/report_json.hpp"

#include <array>
#include <chrono>
#include <string>

#include <fmt/format.h>

#include "lib/base/joined.hpp"
#include "lib/lnet/control/routing_state.hpp"
#include "lib/lnet/names/nid_text.hpp"
#include "lib/runtime/lnet/report_rows.hpp"

namespace plnet::runtime {
namespace {

using lnet::BufferPoolReport;
using lnet::RouteReport;
using OfCpt = lnet::RoutingReport::OfCpt;

Json traffic(const lnet::TrafficReport& report) {
  return {{"send_count", report.send_count},
          {"recv_count", report.recv_count},
          {"drop_count", report.drop_count}};
}

Json counts(const lnet::MessageCounts& report) {
  return {{"put", report.put},
          {"get", report.get},
          {"reply", report.reply},
          {"ack", report.ack},
          {"hello", report.hello}};
}

// The kernel's numbers are unsigned and printed signed, so "no policy" is -1.
Json policy(const lnet::PolicyReport& report) {
  return object_of(
      {{"net priority", static_cast<std::int32_t>(report.net_priority)},
       {"nid priority", static_cast<std::int32_t>(report.nid_priority)},
       {"Preferred gateway NIDs", numbered("NID-", texts_of(report.preferred_gateways))},
       {"Preferred source NIDs", numbered("NID-", texts_of(report.preferred_sources))}});
}

Json health(const lnet::NiHealthReport& report) {
  return {{"fatal_error", report.fatal_error}, {"health value", report.health_value},
          {"interrupts", report.interrupts},   {"dropped", report.dropped},
          {"aborted", report.aborted},         {"no route", report.no_route},
          {"timeouts", report.timeouts},       {"error", report.error},
          {"ping_count", report.ping_count},   {"next_ping", report.next_ping}};
}

Json health(const lnet::PeerNiHealthReport& report) {
  return {{"health value", report.health_value},
          {"dropped", report.dropped},
          {"timeout", report.timeout},
          {"error", report.error},
          {"network timeout", report.network_timeout},
          {"ping_count", report.ping_count},
          {"next_ping", report.next_ping}};
}

// Null if there are none.
Json values_of(std::span<const lnet::LndTunable> tunables) {
  Json values;
  for (const lnet::LndTunable& tunable : tunables)
    std::visit([&](const auto& known) { values[tunable.name] = known; }, tunable.value);
  return values;
}

Json ni_to_json(const lnet::NiReport& ni, int level) {
  return object_of({{"nid", text_of(ni.nid)},
                    {"status", up_or_down(ni.up)},
                    {"interfaces", numbered("", ni.interfaces)},
                    {"status cause", if_any(ni.down_cause), 1},
                    {"status changes", if_any(ni.status_changes), 2},
                    {"statistics", traffic(ni.traffic), 1},
                    {"udsp info", policy(ni.policy), 4},
                    {"sent_stats", counts(ni.messages.sent), 2},
                    {"received_stats", counts(ni.messages.received), 2},
                    {"dropped_stats", counts(ni.messages.dropped), 2},
                    {"health stats", health(ni.health), 2},
                    {"tunables",
                     {{"peer_timeout", ni.tunables.peer_timeout_s},
                      {"peer_credits", ni.tunables.peer_credits},
                      {"peer_buffer_credits", ni.tunables.peer_buffer_credits},
                      {"credits", ni.tunables.credits}},
                     1},
                    {"lnd tunables", values_of(ni.lnd_tunables), 1},
                    {ni.driver + " parameters", values_of(ni.parameters), 3},
                    {"dev cpt", ni.device_cpt, 1},
                    {"CPT", fmt::format("[{}]", joined(ni.cpts, ",")), 1}},
                   level);
}

// Parts above the level are not built: a node may have tens of thousands of peers.
auto peer_ni(const lnet::PeerNiReport& ni, int level) {
  return std::to_array<Row>(
      {{"nid", text_of(ni.nid), 0, {1, "nid", -24}},
       {"udsp info", level < 4 ? Json{} : policy(ni.policy)},
       {"state", name_of(ni.state), 0, {3, "state", 5}},
       {"state cause", if_any(ni.state_cause)},        // not the kernel's
       {"last alive", -1, kFileOnly, {4, "last", 5}},  // always -1 in the kernel
       {"max_ni_tx_credits", ni.max_ni_tx_credits, 1, {5, "max", 5}},
       {"available_tx_credits", ni.available_tx_credits, 1, {8, "tx", 5}},
       {"min_tx_credits", ni.min_tx_credits, 1, {9, "min", 5}},
       {"tx_q_num_of_buf", ni.tx_q_num_of_buf, 1, {10, "queue"}},
       {"available_rtr_credits", ni.available_rtr_credits, 1, {6, "rtr", 5}},
       {"min_rtr_credits", ni.min_rtr_credits, 1, {7, "min", 5}},
       {"refcount", ni.refcount, 1, {2, "refs", 4}},
       {"statistics", level < 1 ? Json{} : traffic(ni.traffic)},
       {"sent_stats", level < 2 ? Json{} : counts(ni.messages.sent)},
       {"received_stats", level < 2 ? Json{} : counts(ni.messages.received)},
       {"dropped_stats", level < 2 ? Json{} : counts(ni.messages.dropped)},
       {"health stats", level < 2 ? Json{} : health(ni.health)}});
}

Json peer_ni_to_json(const lnet::PeerNiReport& ni, int level) {
  return object_of(peer_ni(ni, level), level);
}

Json peer_to_json(const lnet::PeerReport& peer, int level) {
  return object_of({{"primary nid", text_of(peer.primary)},
                    {"Multi-Rail", peer.multi_rail},
                    {"peer state", peer.state, 3},
                    {"peer ni", list_of(peer.nis, peer_ni_to_json, level)}},
                   level);
}

// The history of a route; the kernel does not have it.
Json route_story(const RouteReport& report) {
  const auto change_to_json = [](const lnet::RouteChangeReport& change) -> Json {
    return {{"seconds ago", change.ago / std::chrono::seconds(1)},
            {"state", up_or_down(change.up)},
            {"cause", change.cause}};
  };
  return {{"count", report.changes},
          {"checks to answer", report.answers_wanted},
          {"last", list_of(report.last_changes, change_to_json)}};
}

auto route(const RouteReport& report) {
  return std::to_array<Row>({{"net", lnet::text_of_net(report.route.net), 0, {1, "net", -8}},
                             {"gateway", text_of(report.route.gateway), 0, {5, "router"}},
                             {"hop", report.route.hops, 1, {2, "hops", 4}},
                             {"priority", report.route.priority, 1, {3, "priority", 8}},
                             {"state", up_or_down(report.up), 1, {4, "state", 7}},
                             {"state cause", if_any(report.down_cause()), 1},  // not the kernel's
                             {"type", report.single_hop ? "single-hop" : "multi-hop", 1},
                             {"changes", route_story(report), 3}});
}

auto pool(const BufferPoolReport& report) {
  return std::to_array<Row>({{"npages", report.pages, 0, {1, "pages", 5}},
                             {"nbuffers", report.buffers, 0, {2, "count", 5}},
                             {"credits", report.credits, 0, {3, "credits", 7}},
                             {"mincredits", report.credits_min, 0, {4, "min", 7}},
                             {"maxused", report.used_max},
                             {"waited", report.waited}});
}

Json remote_to_json(const lnet::RemoteNode& node) {
  const auto nid = [](const lnet::Nid& each) -> Json { return {{"nid", text_of(each)}}; };
  return {{"primary nid", node.primary ? text_of(*node.primary) : "<?>"},
          {"Multi-Rail", node.multi_rail},
          {"peer_ni", list_of(node.nids, nid)}};  // with `_` since 2.17
}

Json burst_to_json(const lnet::PingBurst& burst) {
  const auto microseconds = [](Duration time) { return time / std::chrono::microseconds(1); };
  return {{"sent", burst.sent},
          {"answered", burst.answered},
          {"failed", burst.failed},
          {"round trip usec",
           {{"min", microseconds(burst.least)},
            {"average", microseconds(burst.average)},
            {"max", microseconds(burst.most)}}}};
}

Json change_to_json(const lnet::RoutingChangeReport& change) {
  const auto drained = [&change](auto value) { return change.is_drain ? Json(value) : Json{}; };
  return object_of(
      {{"phase", change.phase},
       {"seconds left", change.seconds_left},
       {"seconds left if empty", change.seconds_least > 0 ? Json(change.seconds_least) : Json{}},
       {"peers told", drained(change.peers)},
       {"peers acknowledged", drained(change.acknowledged)},
       {"peers that have to ask", drained(change.by_ping)},
       {"messages held", change.held},
       {"messages cut off", drained(change.cut_off)},
       {"bytes unsent", drained(change.unsent)}});
}

Json starving_to_json(const lnet::StarvingReport& report) {
  return object_of({{"of", report.of},
                    {"cpt", report.cpt},
                    {"shard", report.shard},
                    {"messages waited", report.waited},
                    {"most", if_any(report.most)},
                    {"more", report.more}});
}

Json pools_to_json(const OfCpt& cpt) {
  return {{"tiny", object_of(pool(cpt.tiny), 0)},
          {"small", object_of(pool(cpt.small), 0)},
          {"large", object_of(pool(cpt.large), 0)}};
}

}  // namespace

Json nets_to_json(std::span<const lnet::NetReport> nets, int level) {
  const auto net_to_json = [level](const lnet::NetReport& net) -> Json {
    return {{"net type", lnet::text_of_net(net.net)},
            {"local NI(s)", list_of(net.nis, ni_to_json, level)}};
  };
  return document_of("net", list_of(nets, net_to_json));
}

Json peers_to_json(std::span<const lnet::PeerReport> peers, int level) {
  return document_of("peer", list_of(peers, peer_to_json, level));
}

Json peer_list_to_json(std::span<const lnet::PeerReport> peers) {
  const auto nid = [](const lnet::PeerReport& peer) -> Json {
    return {{"nid", text_of(peer.primary)}};
  };
  return document_of("peer list", list_of(peers, nid));
}

Json routes_to_json(std::span<const RouteReport> routes, int level) {
  const auto shown = [level](const RouteReport& each) { return object_of(route(each), level); };
  return document_of("route", list_of(routes, shown));
}

Json routing_to_json(const lnet::RoutingReport& routing) {
  Json list = Json::array();
  for (const OfCpt& cpt : routing.cpts)
    list.push_back({{fmt::format("cpt[{}]", list.size()), pools_to_json(cpt)}});
  list.push_back({{"enable", static_cast<int>(routing.state)}});
  if (routing.change) list.push_back({{"change", change_to_json(*routing.change)}});
  for (const lnet::StarvingReport& each : routing.starving)
    list.push_back({{"starving", starving_to_json(each)}});
  return {{"routing", std::move(list)},
          {"buffers",
           {{"tiny", routing.buffers.tiny},
            {"small", routing.buffers.small},
            {"large", routing.buffers.large}}}};
}

Json statistics_to_json(const lnet::StatisticsReport& statistics) {
  Json map = Json::object();
#define PLNET_X(name) map[#name] = statistics.name;
  PLNET_STATISTICS_REPORT(PLNET_X)
#undef PLNET_X
  return {{"statistics", std::move(map)}};
}

Json globals_to_json(const lnet::ParameterValues& values) {
  Json map = Json::object();
  for (const lnet::GlobalVariable& variable : lnet::global_variables()) {
    map[std::string(variable.name)] = values.*variable.member;
    if (variable.name == "router_sensitivity") map["lnd_timeout"] = values.lnd_timeout_s();
  }
  return {{"global", std::move(map)}};
}

Json pings_to_json(std::span<const lnet::PingReport> reports, std::string_view key) {
  Json list = Json::array();
  for (const lnet::PingReport& report : reports) {
    if (!report.answer) continue;
    list.push_back(remote_to_json(*report.answer));
    if (report.burst) list.back()["burst"] = burst_to_json(*report.burst);
  }
  return document_of(key, std::move(list));
}

// --- Files of debugfs ---

std::string debugfs_stats(const lnet::StatisticsReport& counted) {
  return fmt::format("{} {} {} {} {} {} {} {} {} {} {}\n", counted.msgs_alloc, counted.msgs_max,
                     counted.errors, counted.send_count, counted.recv_count, counted.route_count,
                     counted.drop_count, counted.send_length, counted.recv_length,
                     counted.route_length, counted.drop_length);
}

std::string debugfs_nis(std::span<const lnet::NetReport> nets) {
  static constexpr char kLine[] = "{:<24} {:>6} {:>5} {:>4} {:>4} {:>4} {:>5} {:>5} {:>5}\n";
  std::string text =
      fmt::format(kLine, "nid", "status", "alive", "refs", "peer", "rtr", "max", "tx", "min");
  for (const lnet::NetReport& net : nets) {
    for (const lnet::NiReport& ni : net.nis) {
      const bool loopback = ni.nid.is_loopback();
      for (const lnet::TxQueueReport& queue : ni.tx_queues) {
        text += fmt::format(kLine, text_of(ni.nid), up_or_down(ni.up || loopback),
                            loopback ? 0 : ni.since_alive_s, queue.references,
                            ni.tunables.peer_credits, ni.tunables.peer_buffer_credits,
                            queue.credits_max, queue.credits, queue.credits_min);
      }
    }
  }
  return text;
}

std::string debugfs_peers(std::span<const lnet::PeerReport> peers) {
  std::string text = file_titles(peer_ni({}, 0));
  for (const lnet::PeerReport& peer : peers) {
    for (const lnet::PeerNiReport& ni : peer.nis)
      text += file_line(peer_ni(ni, 0));
  }
  return text;
}

std::string debugfs_buffers(const lnet::RoutingReport& routing) {
  std::string text = file_titles(pool({}));
  if (routing.state == lnet::RoutingState::kDisabled) return text;
  for (const auto of : {&OfCpt::tiny, &OfCpt::small, &OfCpt::large}) {
    for (const OfCpt& cpt : routing.cpts)
      text += file_line(pool(cpt.*of));
  }
  return text;
}

std::string debugfs_routes(const lnet::RoutingReport& routing,
                           std::span<const RouteReport> routes) {
  std::string text = fmt::format("Routing {}\n", text_of(routing.state)) + file_titles(route({}));
  for (const RouteReport& report : routes)
    text += file_line(route(report));
  return text;
}

std::string debugfs_routers(std::span<const lnet::GatewayReport> routers) {
  static constexpr char kLine[] = "{:<4} {:>7} {:>5} {}\n";
  std::string text = fmt::format(kLine, "ref", "rtr_ref", "alive", "router");
  for (const lnet::GatewayReport& router : routers) {
    text += fmt::format(kLine, router.references, router.routes, up_or_down(router.up),
                        text_of(router.primary));
  }
  return text;
}

}  // namespace plnet::runtime
