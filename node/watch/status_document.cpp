// SPDX-License-Identifier: BSD-3-Clause
#include "node/watch/status_document.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "lib/base/counted.hpp"
#include "lib/lnet/control/routing_state.hpp"
#include "lib/lnet/names/nid_text.hpp"
#include "lib/runtime/lnet/routing_outlook.hpp"

namespace plnet::node {
namespace {

using lnet::RoutingState;
using runtime::Json;

// Routes that are down and causes of drops, each by name; more are counted only.
constexpr std::size_t kRoutesNamed = 8;
constexpr std::size_t kCausesNamed = 8;

std::uint64_t per_second(double rate) {
  return static_cast<std::uint64_t>(std::llround(rate));
}

struct UpAndDown {
  std::size_t up = 0;
  std::size_t down = 0;

  void add(bool is_up) { ++(is_up ? up : down); }
  [[nodiscard]] std::size_t all() const { return up + down; }
};

bool is_loopback(const lnet::NetReport& net) {
  return !net.nis.empty() && net.nis.front().nid.is_loopback();
}

UpAndDown count_nis(const std::vector<lnet::NetReport>& nets) {
  UpAndDown count;
  for (const lnet::NetReport& net : nets) {
    if (is_loopback(net)) continue;
    for (const lnet::NiReport& ni : net.nis)
      count.add(ni.up);
  }
  return count;
}

UpAndDown count_routes(const std::vector<lnet::RouteReport>& routes) {
  UpAndDown count;
  for (const lnet::RouteReport& route : routes)
    count.add(route.up);
  return count;
}

std::string_view activity_of(const LnetStanding& standing) {
  if (standing.down) return "LNet does not run";
  if (!standing.routing) return "not known";
  const lnet::RoutingReport& routing = *standing.routing;
  const bool is_drain = routing.change && routing.change->is_drain;
  switch (routing.state) {
    case RoutingState::kEnabled: return "forwarding";
    case RoutingState::kStarting: return "forwarding since a moment ago";
    case RoutingState::kStopping: return is_drain ? "draining" : "routing stops";
    case RoutingState::kDisabled: break;
  }
  return is_drain ? "drained: forwards no more" : "up, not a router";
}

struct Verdict {
  std::string text;
  bool healthy = true;
};

void add_problem(Verdict& verdict, std::string_view problem) {
  verdict.healthy = false;
  verdict.text += "; ";
  verdict.text += problem;
}

void add_share(Verdict& verdict, const UpAndDown& count, std::string_view noun) {
  if (count.down == 0) return;
  add_problem(verdict, counted(count.down, count.all(), noun) + " down");
}

std::string free_text(std::int32_t credits, std::int32_t buffers) {
  return fmt::format("{} of {}", std::max(credits, 0), buffers);
}

Json routing_to_json(const lnet::RoutingReport& routing) {
  lnet::RoutingReport::OfCpt all;
  for (const lnet::RoutingReport::OfCpt& cpt : routing.cpts) {
    for (const auto pool : {&lnet::RoutingReport::OfCpt::tiny, &lnet::RoutingReport::OfCpt::small,
                            &lnet::RoutingReport::OfCpt::large}) {
      (all.*pool).credits += std::max((cpt.*pool).credits, 0);
      (all.*pool).buffers += (cpt.*pool).buffers;
    }
  }
  Json item{{"state", text_of(routing.state)}, {"outlook", runtime::routing_outlook(routing)}};
  if (routing.state != RoutingState::kDisabled) {
    item["free buffers"] = {{"tiny", free_text(all.tiny.credits, all.tiny.buffers)},
                            {"small", free_text(all.small.credits, all.small.buffers)},
                            {"large", free_text(all.large.credits, all.large.buffers)}};
  }
  return item;
}

Json networks_to_json(const std::vector<lnet::NetReport>& nets) {
  Json list = Json::array();
  for (const lnet::NetReport& net : nets) {
    if (is_loopback(net)) continue;
    UpAndDown count;
    Json nis = Json::array();
    for (const lnet::NiReport& ni : net.nis) {
      count.add(ni.up);
      Json item{{"nid", text_of(ni.nid)}, {"status", ni.up ? "up" : "down"}};
      if (!ni.interfaces.empty()) item["interface"] = ni.interfaces.front();
      if (!ni.down_cause.empty()) item["cause"] = ni.down_cause;
      nis.push_back(std::move(item));
    }
    list.push_back({{"net", lnet::text_of_net(net.net)},
                    {"up", count.up},
                    {"down", count.down},
                    {"nis", std::move(nis)}});
  }
  return list;
}

Json routes_to_json(const std::vector<lnet::RouteReport>& routes) {
  const UpAndDown count = count_routes(routes);
  Json down = Json::array();
  for (const lnet::RouteReport& route : routes) {
    if (route.up || down.size() == kRoutesNamed) continue;
    Json item{{"net", lnet::text_of_net(route.route.net)},
              {"gateway", text_of(route.route.gateway)},
              {"cause", route.down_cause()}};
    if (!route.last_changes.empty())
      item["seconds"] = route.last_changes.front().ago / std::chrono::seconds(1);
    down.push_back(std::move(item));
  }
  return {{"up", count.up}, {"down", count.down}, {"those down", std::move(down)}};
}

Json rates_to_json(const ActivityRates& rates) {
  return {{"seconds", std::round(rates.seconds * 10) / 10},
          {"forwarded", per_second(rates.forwarded)},
          {"sent", per_second(rates.sent)},
          {"received", per_second(rates.received)},
          {"dropped", per_second(rates.dropped)},
          {"bytes", per_second(rates.bytes)}};
}

Json drops_to_json(const std::vector<GrowingCause>& drops) {
  Json list = Json::array();
  for (const GrowingCause& drop : drops) {
    if (list.size() == kCausesNamed) break;
    const CounterInfo& info = lnet::LnetCauses::kInfo[static_cast<std::size_t>(drop.cause)];
    list.push_back({{"cause", info.name},
                    {"in the last minute", drop.lately},
                    {"since the start", drop.ever},
                    {"meaning", info.help}});
  }
  return list;
}

Json rules_to_json(const LnetStanding& standing) {
  std::uint64_t decided = 0;
  for (const lnet::AccessReport& rule : standing.access)
    decided += rule.matched;
  const auto struck = [](const std::vector<lnet::FaultReport>& rules) {
    std::uint64_t messages = 0;
    for (const lnet::FaultReport& rule : rules)
      messages += rule.counts.struck;
    return messages;
  };
  return {{"access", standing.access.size()},     {"decided", decided},
          {"drop", standing.drop_rules.size()},   {"dropped", struck(standing.drop_rules)},
          {"delay", standing.delay_rules.size()}, {"delayed", struck(standing.delay_rules)}};
}

Json drain_to_json(const lnet::RoutingChangeReport& change) {
  return {{"phase", change.phase},
          {"seconds left", change.seconds_left},
          {"peers told", change.peers},
          {"peers acknowledged", change.acknowledged},
          {"messages held", change.held}};
}

Verdict judge(const StatusFacts& facts) {
  const LnetStanding& standing = facts.standing;
  Verdict verdict{.text = std::string(activity_of(standing)), .healthy = !standing.down};
  if (!standing.answered) add_problem(verdict, "a poller does not answer");
  add_share(verdict, count_nis(standing.nets), "NI");
  add_share(verdict, count_routes(standing.routes), "route");
  if (facts.unreachable > 0) {
    add_problem(verdict, counted(facts.unreachable, "peer") + " cannot be reached");
  }
  if (const std::size_t silent = facts.silent.size(); silent > 0) {
    add_problem(verdict, fmt::format("{} {} not answer", counted(silent, "peer"),
                                     agreeing(silent, "does", "do")));
  }
  if (facts.refused > 0) {
    add_problem(verdict, "access rules refuse " + counted(facts.refused, "peer"));
  }
  if (facts.starving > 0) add_problem(verdict, "messages wait for scarce resources");
  std::uint64_t dropped = 0;
  for (const GrowingCause& drop : facts.drops)
    dropped += drop.lately;
  if (dropped > 0)
    add_problem(verdict, counted(dropped, "message") + " dropped in the last minute");
  if (verdict.healthy) verdict.text += "; nothing is wrong";
  return verdict;
}

}  // namespace

std::string verdict_of(const StatusFacts& facts) {
  return judge(facts).text;
}

bool is_healthy(const StatusFacts& facts) {
  return judge(facts).healthy;
}

void add_lnet_status(Json& status, const StatusFacts& facts) {
  const LnetStanding& standing = facts.standing;
  const Verdict verdict = judge(facts);
  status["verdict"] = verdict.text;
  status["healthy"] = verdict.healthy;
  if (standing.routing) status["routing"] = routing_to_json(*standing.routing);
  status["networks"] = networks_to_json(standing.nets);
  status["routes"] = routes_to_json(standing.routes);
  if (const auto& peers = facts.peers) {
    status["peers"] = {{"peers", peers->peers},
                       {"up", peers->up},
                       {"down", peers->down},
                       {"unknown", peers->unknown},
                       {"cannot be reached", facts.unreachable}};
  }
  status["rates"] = rates_to_json(facts.rates);
  status["drops"] = drops_to_json(facts.drops);
  status["rules"] = rules_to_json(standing);
  if (standing.routing && standing.routing->change && standing.routing->change->is_drain)
    status["drain"] = drain_to_json(*standing.routing->change);
}

}  // namespace plnet::node
