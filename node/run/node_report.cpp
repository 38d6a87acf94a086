// SPDX-License-Identifier: BSD-3-Clause
#include "node/run/node_report.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "lib/base/counted.hpp"
#include "lib/runtime/admin/metrics_http.hpp"
#include "lib/runtime/cpt/plan_report.hpp"
#include "node/admin/lnet_admin.hpp"
#include "node/host/machine.hpp"
#include "node/run/status_page.hpp"
#include "node/watch/silence_watch.hpp"
#include "node/watch/standing_warnings.hpp"
#include "node/watch/status_document.hpp"

namespace plnet::node {
namespace {

using runtime::Json;
using runtime::PollerCounter;

// Reports for people have one decimal digit.
double to_tenths(double value) {
  return std::round(value * 10) / 10;
}

double percent(double share) {
  return to_tenths(share * 100);
}

// A metric that has no more name than its object is its value.
void add_counters(Json& out, CounterView view) {
  for (std::size_t i = 0; i < view.info.size(); ++i) {
    const std::string_view name = view.info[i].name;
    out[std::string(name.empty() ? "value" : name)] = view.value(i);
  }
}

Json shard_line(const Node& node, const runtime::PlannedShard& shard) {
  const runtime::Poller& poller = *node.pollers()[shard.number];
  const auto& counters = poller.counters();
  return {{"shard", shard.number},
          {"cpu", shard.cpu},
          {"idle", name_of(poller.idle_policy())},
          {"duty cycle percent", percent(node.activity().duty(shard.number))},
          {"turns", counters.get(PollerCounter::kTurns)},
          {"longest turn nsec", counters.get(PollerCounter::kLongestTurnNsec)},
          {"turns over limit", poller.long_turns()}};
}

Json shard_detail(const Node& node, const runtime::PlannedShard& shard) {
  runtime::Poller& poller = *node.pollers()[shard.number];
  const double cycles =
      node.activity().nsec_per_message(shard.number) * node.clock().cycles_per_second() / 1e9;
  Json out{{"shard", shard.number},
           {"cpu", shard.cpu},
           {"core", shard.core},
           {"smt", shard.smt},
           {"numa node", shard.numa_node},
           {"idle", name_of(poller.idle_policy())},
           {"turn_limit_usec", poller.turn_limit() / std::chrono::microseconds(1)},
           {"duty cycle percent", percent(node.activity().duty(shard.number))},
           {"cycles per message", to_tenths(cycles)},
           {"cycles per second", std::llround(node.clock().cycles_per_second())}};
  add_counters(out, poller.counters().view());
  out["devices"] = poller.pollable_names();
  return out;
}

void add_starving(const Node& node, Json& all) {
  for (const lnet::StarvingReport& each : node.lnet().starving()) {
    all.push_back(
        warning(fmt::format("{} starve on shard {}", each.of, each.shard),
                fmt::format("{} had to wait or {} dropped{}{}; {}", counted(each.waited, "message"),
                            agreeing(each.waited, "was", "were"),
                            each.most.empty() ? "" : "; most: ", each.most, each.more),
                "lnetctl routing show"));
  }
}

// Late turns and their cause: the host's scheduler, or the work of a turn.
void add_late_turns(const Node& node, Json& all) {
  for (const auto* poller : node.pollers()) {
    const auto late = poller->long_turns();
    if (late == 0) continue;
    const auto& counters = poller->counters();
    const auto taken = counters.get(PollerCounter::kInvoluntarySwitches);
    all.push_back(warning(
        fmt::format("{}: {} took longer than {} us, the longest {} us", poller->name(),
                    counted(late, "turn"), poller->turn_limit() / std::chrono::microseconds(1),
                    counters.get(PollerCounter::kLongestTurnNsec) / 1000),
        taken > 0 ? fmt::format("the host took the CPU from this poller {} since the start",
                                counted(taken, "time"))
                  : std::string("the host never took the CPU from this poller: it was busy itself"),
        "lnetctl cpt show -v 1; lnetctl counters reset starts anew", "note"));
  }
}

// Errors first, notes last.
void sort_by_severity(Json& all) {
  Json sorted = Json::array();
  for (const std::string_view severity : {"error", "warning", "note"}) {
    for (Json& each : all) {
      if (each["severity"] == severity) sorted.push_back(std::move(each));
    }
  }
  all = std::move(sorted);
}

Json warnings(const Node& node, const StatusFacts& facts) {
  Json all = warnings_of(facts.standing);
  for (Json& each : node.lnet().path_warnings(facts.drops))
    all.push_back(std::move(each));
  for (Json& each : warnings_of_silence(facts.silent, facts.standing.routes, facts.standing.nets))
    all.push_back(std::move(each));
  add_starving(node, all);
  for (const auto& each : node.machine().cpts().warnings) {
    all.push_back(warning(each.text, "", "lnetctl cpt show -v 1"));
  }
  for (const auto& finding : node.machine().findings()) {
    all.push_back(warning(finding.what, finding.why, finding.fix, name_of(finding.severity)));
  }
  if (const std::string& unwatched = node.links_unwatched(); !unwatched.empty()) {
    all.push_back(
        warning(unwatched,
                "an NI stays up when the link of its interface is lost, and down when it is back",
                "allow the process to receive netlink multicasts (NETLINK_ROUTE)"));
  }
  add_late_turns(node, all);
  sort_by_severity(all);
  return all;
}

}  // namespace

Json report_status(const Node& node, LnetStanding standing) {
  const auto uptime = node.clock().now() - node.started_at();
  Json shards = Json::array();
  for (const auto& cpt : node.machine().cpts().cpts) {
    for (const auto& shard : cpt.shards)
      shards.push_back(shard_line(node, shard));
  }
  const StatusFacts facts{.standing = std::move(standing),
                          .peers = node.lnet().peer_states(),
                          .unreachable = node.lnet().unreachable_peers(),
                          .silent = node.lnet().silent_peers(),
                          .refused = node.lnet().refused_peers(),
                          .starving = node.lnet().starving().size(),
                          .rates = node.activity().rates(),
                          .drops = node.activity().growing_causes()};
  const std::string page = node.status_page().server().address();
  Json status = Json::object();
  add_lnet_status(status, facts);
  status.update(
      {{"instance", node.options().instance},
       {"version", PLNET_VERSION},
       {"pid", ::getpid()},
       {"uptime sec", uptime / std::chrono::seconds(1)},
       {"socket", node.options().socket.path},
       {"clock", node.clock().description()},
       {"idle", name_of(node.machine().idle())},
       {"metrics", node.metrics_http().port() == 0 ? "off" : node.metrics_http().address()},
       {"status page", page.empty() ? std::string("off") : page},
       {"memory", node.machine().memory_lines()},
       {"cpts", node.machine().cpts().cpts.size()},
       {"shards", std::move(shards)},
       {"warnings", warnings(node, facts)}});
  return {{"status", std::move(status)}};
}

Json report_cpts(const Node& node, int detail) {
  const auto& cpts = node.machine().cpts().cpts;
  Json list = Json::array();
  for (std::size_t number = 0; number < cpts.size(); ++number) {
    Json shards = Json::array();
    for (const auto& shard : cpts[number].shards)
      shards.push_back(detail > 0 ? shard_detail(node, shard) : shard_line(node, shard));
    Json cpt{{"cpt", number}, {"memory node", cpts[number].memory_node}};
    for (const auto& nic : cpts[number].nic_queues)
      cpt["nic queues"][nic.interface] = nic.queues;
    cpt["shards"] = std::move(shards);
    list.push_back(std::move(cpt));
  }
  return {{"cpt", std::move(list)}};
}

Json report_counters(const Node& node) {
  Json list = Json::array();
  node.metrics().for_each([&](const runtime::MetricSet& set) {
    Json entry{{"object", set.object}};
    for (const auto& label : set.labels)
      entry[label.name] = label.value;
    add_counters(entry, set.view);
    list.push_back(std::move(entry));
  });
  return {{"counters", std::move(list)}};
}

Json report_exchange(const Node& node, const std::vector<runtime::HopSummary>& hops,
                     const std::vector<double>& rates) {
  const auto settings = node.settings().exchange;
  Json pairs = Json::array();
  for (std::size_t i = 0; i < hops.size(); ++i) {
    Json pair{{"from", hops[i].from},         {"to", hops[i].to},
              {"hops", hops[i].hops},         {"p50_nsec", hops[i].p50_nsec},
              {"p99_nsec", hops[i].p99_nsec}, {"max_nsec", hops[i].max_nsec}};
    if (i < rates.size()) pair["hops per sec"] = static_cast<std::uint64_t>(rates[i]);
    pairs.push_back(std::move(pair));
  }
  return {{"exchange",
           {{"enable", settings.enable ? 1 : 0},
            {"in_flight", settings.in_flight},
            {"work_nsec", settings.work_nsec},
            {"drained", node.exchange().drained()},
            {"pairs", std::move(pairs)}}}};
}

}  // namespace plnet::node
