// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/lnet/report_json.hpp"

#include <chrono>
#include <string>

#include <fmt/format.h>

#include "lib/lnet/names/nid_text.hpp"

namespace plnet::runtime {
namespace {

constexpr int kRouteStoryLevel = 3;

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

void add_messages(Json& item, const lnet::MessageReport& report) {
  item["sent_stats"] = counts(report.sent);
  item["received_stats"] = counts(report.received);
  item["dropped_stats"] = counts(report.dropped);
}

void add_preferred(Json& info, const char* key, std::span<const lnet::Nid> nids) {
  for (std::size_t i = 0; i < nids.size(); ++i)
    info[key][fmt::format("NID-{}", i)] = text_of(nids[i]);
}

// The kernel's numbers are unsigned and printed signed: no rule is -1.
Json policy(const lnet::PolicyReport& report) {
  Json info = {{"net priority", static_cast<std::int32_t>(report.net_priority)},
               {"nid priority", static_cast<std::int32_t>(report.nid_priority)}};
  add_preferred(info, "Preferred gateway NIDs", report.preferred_gateways);
  add_preferred(info, "Preferred source NIDs", report.preferred_sources);
  return info;
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

void add_values(Json& item, const std::string& key, std::span<const lnet::LndTunable> tunables) {
  for (const lnet::LndTunable& tunable : tunables) {
    Json& value = item[key][tunable.name];
    std::visit([&value](const auto& known) { value = known; }, tunable.value);
  }
}

void add_tunables(Json& item, const lnet::NiReport& ni, int level) {
  item["tunables"] = {{"peer_timeout", ni.tunables.peer_timeout_s},
                      {"peer_credits", ni.tunables.peer_credits},
                      {"peer_buffer_credits", ni.tunables.peer_buffer_credits},
                      {"credits", ni.tunables.credits}};
  add_values(item, "lnd tunables", ni.lnd_tunables);
  if (level >= 3) add_values(item, ni.driver + " parameters", ni.parameters);
  item["dev cpt"] = ni.device_cpt;
  std::string cpts;
  for (const std::uint16_t cpt : ni.cpts)
    cpts += fmt::format("{}{}", cpts.empty() ? "" : ",", cpt);
  item["CPT"] = fmt::format("[{}]", cpts);
}

Json ni_to_json(const lnet::NiReport& ni, int level) {
  Json item = {{"nid", text_of(ni.nid)}, {"status", ni.up ? "up" : "down"}};
  for (std::size_t i = 0; i < ni.interfaces.size(); ++i)
    item["interfaces"][fmt::format("{}", i)] = ni.interfaces[i];
  if (level < 1) return item;
  if (!ni.down_cause.empty()) item["status cause"] = ni.down_cause;
  if (level >= 2 && ni.status_changes > 0) item["status changes"] = ni.status_changes;
  item["statistics"] = traffic(ni.traffic);
  if (level >= 4) item["udsp info"] = policy(ni.policy);
  if (level >= 2) {
    add_messages(item, ni.messages);
    item["health stats"] = health(ni.health);
  }
  add_tunables(item, ni, level);
  return item;
}

const char* name_of(lnet::Aliveness state) {
  switch (state) {
    case lnet::Aliveness::kUnknown: return "NA";
    case lnet::Aliveness::kUp: return "up";
    case lnet::Aliveness::kDown: return "down";
  }
  return "NA";
}

Json peer_ni_to_json(const lnet::PeerNiReport& ni, int level) {
  Json item = {{"nid", text_of(ni.nid)}};
  if (level >= 4) item["udsp info"] = policy(ni.policy);
  item["state"] = name_of(ni.state);
  if (level < 1) return item;
  item["max_ni_tx_credits"] = ni.max_ni_tx_credits;
  item["available_tx_credits"] = ni.available_tx_credits;
  item["min_tx_credits"] = ni.min_tx_credits;
  item["tx_q_num_of_buf"] = ni.tx_q_num_of_buf;
  item["available_rtr_credits"] = ni.available_rtr_credits;
  item["min_rtr_credits"] = ni.min_rtr_credits;
  item["refcount"] = ni.refcount;
  item["statistics"] = traffic(ni.traffic);
  if (level < 2) return item;
  add_messages(item, ni.messages);
  item["health stats"] = health(ni.health);
  return item;
}

Json pool(const lnet::BufferPoolReport& report) {
  return {{"npages", report.pages},     {"nbuffers", report.buffers},
          {"credits", report.credits},  {"mincredits", report.credits_min},
          {"maxused", report.used_max}, {"waited", report.waited}};
}

Json remote_to_json(const lnet::RemoteNode& node) {
  Json item = {{"primary nid", node.primary ? text_of(*node.primary) : "<?>"},
               {"Multi-Rail", node.multi_rail},
               {"peer ni", Json::array()}};
  for (const lnet::Nid& nid : node.nids)
    item["peer ni"].push_back({{"nid", text_of(nid)}});
  return item;
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

}  // namespace

Json document_of(std::string_view key, Json list) {
  if (list.empty()) return {};
  return {{std::string(key), std::move(list)}};
}

Json nets_to_json(std::span<const lnet::NetReport> nets, int level) {
  Json list = Json::array();
  for (const lnet::NetReport& net : nets) {
    Json nis = Json::array();
    for (const lnet::NiReport& ni : net.nis)
      nis.push_back(ni_to_json(ni, level));
    list.push_back({{"net type", lnet::text_of_net(net.net)}, {"local NI(s)", std::move(nis)}});
  }
  return document_of("net", std::move(list));
}

Json peers_to_json(std::span<const lnet::PeerReport> peers, int level) {
  Json list = Json::array();
  for (const lnet::PeerReport& peer : peers) {
    Json item = {{"primary nid", text_of(peer.primary)}, {"Multi-Rail", peer.multi_rail}};
    if (level >= 3) item["peer state"] = peer.state;
    Json& nis = item["peer ni"] = Json::array();
    for (const lnet::PeerNiReport& ni : peer.nis)
      nis.push_back(peer_ni_to_json(ni, level));
    list.push_back(std::move(item));
  }
  return document_of("peer", std::move(list));
}

Json peer_list_to_json(std::span<const lnet::PeerReport> peers) {
  Json list = Json::array();
  for (const lnet::PeerReport& peer : peers)
    list.push_back({{"nid", text_of(peer.primary)}});
  return document_of("peer list", std::move(list));
}

namespace {

// Why a route is as it is: ours, beyond what the kernel tells.
Json route_story_to_json(const lnet::RouteReport& report) {
  Json last = Json::array();
  for (const lnet::RouteChangeReport& change : report.last_changes) {
    last.push_back(
        {{"seconds ago", std::chrono::duration_cast<std::chrono::seconds>(change.ago).count()},
         {"state", change.up ? "up" : "down"},
         {"cause", change.cause}});
  }
  return {{"count", report.changes},
          {"checks to answer", report.answers_wanted},
          {"last", std::move(last)}};
}

}  // namespace

Json routes_to_json(std::span<const lnet::RouteReport> routes, int level) {
  Json list = Json::array();
  for (const lnet::RouteReport& report : routes) {
    Json item = {{"net", lnet::text_of_net(report.route.net)},
                 {"gateway", text_of(report.route.gateway)}};
    if (level >= 1) {
      item["hop"] = report.route.hops;
      item["priority"] = report.route.priority;
      item["state"] = report.up ? "up" : "down";
      item["type"] = report.single_hop ? "single-hop" : "multi-hop";
    }
    if (level >= kRouteStoryLevel) item["changes"] = route_story_to_json(report);
    list.push_back(std::move(item));
  }
  return document_of("route", std::move(list));
}

Json change_to_json(const lnet::RoutingChangeReport& change) {
  Json item{{"phase", change.phase}, {"seconds left", change.seconds_left}};
  if (change.is_drain) {
    item["peers told"] = change.peers;
    item["peers acknowledged"] = change.acknowledged;
    item["peers that have to ask"] = change.by_ping;
  }
  item["messages held"] = change.held;
  if (change.is_drain) {
    item["messages cut off"] = change.cut_off;
    item["bytes unsent"] = change.unsent;
  }
  return item;
}

Json starving_to_json(const lnet::StarvingReport& report) {
  Json item{{"of", report.of},
            {"cpt", report.cpt},
            {"shard", report.shard},
            {"messages waited", report.waited}};
  if (!report.most.empty()) item["most"] = report.most;
  item["more"] = report.more;
  return item;
}

Json routing_to_json(const lnet::RoutingReport& routing) {
  Json list = Json::array();
  for (std::size_t i = 0; i < routing.cpts.size(); ++i) {
    const auto& cpt = routing.cpts[i];
    list.push_back(
        {{fmt::format("cpt[{}]", i),
          {{"tiny", pool(cpt.tiny)}, {"small", pool(cpt.small)}, {"large", pool(cpt.large)}}}});
  }
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

}  // namespace plnet::runtime
