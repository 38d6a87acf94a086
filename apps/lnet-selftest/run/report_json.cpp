// SPDX-License-Identifier: BSD-3-Clause
#include <chrono>

#include "apps/lnet-selftest/run/report.hpp"

namespace plnet::run {
namespace {

double seconds_of(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

Json json_of(const Plan& plan) {
  Json tests = Json::array();
  for (const Operation each : plan.tests)
    tests.push_back(text_of(each));
  Json limits = Json::object();
  const auto limit = [&limits](const char* name, const auto& value) {
    if (value) limits[name] = *value;
  };
  limit("throughput_min_mibps", plan.limits.throughput_min_mibps);
  limit("rate_min_rps", plan.limits.rate_min_rps);
  limit("p99_max_us", plan.limits.p99_max_us);
  limit("errors_max", plan.limits.errors_max);
  Json json;
  json["name"] = plan.name;
  json["from"] = plan.from_words;
  json["to"] = plan.to_words;
  json["tests"] = std::move(tests);
  json["sizes"] = plan.sizes;
  json["concurrency"] = plan.concurrencies;
  if (!plan.rates.empty()) json["rates"] = plan.rates;
  if (plan.highest_rate) json["highest_rate"] = text_of(*plan.highest_rate);
  if (!plan.rates.empty() || plan.highest_rate) json["arrivals"] = text_of(plan.arrivals);
  if (!plan.control.empty()) json["control"] = plan.control;
  if (!plan.routers.empty()) json["routers"] = plan.routers;
  json["check"] = text_of(plan.check);
  json["distribute"] =
      std::to_string(plan.distribution.distribute) + ":" + std::to_string(plan.distribution.span);
  json["warmup_s"] = seconds_of(plan.warm_up);
  json["duration_s"] = seconds_of(plan.duration);
  json["repeats"] = plan.repeats;
  if (plan.baseline) json["baseline"] = true;
  json["thresholds"] = std::move(limits);
  return json;
}

Json json_of(const Spread& spread) {
  return {{"median", spread.median},
          {"low", spread.low},
          {"high", spread.high},
          {"count", spread.count},
          {"spread_percent", spread.percent()}};
}

Json json_of(const NodeFigures& node) {
  Json json = Json::object();
  if (!node.node.empty()) json["node"] = node.node;
  json["rpc_rate"] = node.rpc_rate;
  json["receive_rate"] = node.receive_rate;
  json["send_rate"] = node.send_rate;
  json["receive_mibps"] = node.receive_mibps;
  json["send_mibps"] = node.send_mibps;
  return json;
}

Json json_of(const GroupFigures& group) {
  Json nodes = Json::array();
  for (const NodeFigures& node : group.nodes)
    nodes.push_back(json_of(node));
  return {{"sum", json_of(group.sum())}, {"silent", group.silent}, {"nodes", std::move(nodes)}};
}

Json json_of(const Errors& errors) {
  return {{"total", errors.total()},  {"brw", errors.brw},         {"ping", errors.ping},
          {"rpc", errors.rpc},        {"expired", errors.expired}, {"dropped", errors.dropped},
          {"by_node", errors.by_node}};
}

Json json_of(const Latency& latency) {
  return {{"count", latency.count}, {"p50", latency.p50_us},   {"p90", latency.p90_us},
          {"p99", latency.p99_us},  {"p999", latency.p999_us}, {"max", latency.max_us}};
}

Json json_of(const PollerUse& use) {
  Json json{{"node", use.node},
            {"role", text_of(use.role)},
            {"duty_percent", use.duty_percent},
            {"cycles_per_second", use.cycle_rate}};
  if (use.cycles_each)
    json[use.role == Role::kRouter ? "cycles_per_message" : "cycles_per_rpc"] = *use.cycles_each;
  if (use.role == Role::kRouter) json["forward_rate"] = use.forward_rate;
  Json shards = Json::array();
  for (const ShardUse& shard : use.shards) {
    shards.push_back({{"cpt", shard.cpt},
                      {"shard", shard.shard},
                      {"cpu", shard.cpu},
                      {"duty_percent", shard.duty_percent}});
  }
  json["shards"] = std::move(shards);
  return json;
}

Json json_of(const Measurement& each, const std::vector<NodeCpt>& cpts) {
  Json json;
  json["repeat"] = each.repeat + 1;
  json["cut_short"] = each.cut_short;
  json["seconds"] = each.seconds;
  json["throughput_mibps"] = each.throughput_mibps;
  json["rpc_rate"] = each.rpc_rate;
  json["series_mibps"] = each.series_mibps;
  if (each.latency) json["latency_us"] = json_of(*each.latency);
  Json by_node = Json::object();
  for (const NodeLatency& node : each.latency_by_node)
    by_node[node.node] = json_of(node.figures);
  json["latency_us_by_node"] = std::move(by_node);
  if (each.point.rate > 0) {
    json["pace"] = {
        {"begun", each.pace.begun}, {"waited", each.pace.waited}, {"dropped", each.pace.dropped}};
  }
  if (each.floor) {
    json["floor"] = {{"exchange_rate", each.floor->exchange_rate},
                     {"throughput_mibps", each.floor->throughput_mibps},
                     {"copy_mibps", each.floor->copy_mibps},
                     {"disturbed_percent", each.floor->disturbed_percent}};
  }
  json["errors"] = json_of(each.errors);
  json["from"] = json_of(each.from);
  json["to"] = json_of(each.to);
  Json pollers = Json::array();
  for (const PollerUse& use : each.pollers)
    pollers.push_back(json_of(use));
  json["pollers"] = std::move(pollers);
  Json cpus = Json::array();
  for (const CpuUse& cpu : each.cpus) {
    cpus.push_back({{"cpu", cpu.cpu},
                    {"busy_percent", cpu.busy_percent},
                    {"user_percent", cpu.user_percent},
                    {"steal_percent", cpu.steal_percent}});
  }
  json["cpus"] = std::move(cpus);
  Json by_cpt = Json::array();
  for (const NodeCpt& cpt : cpts) {
    if (const auto busy = busy_percent(cpt, each.cpus)) {
      by_cpt.push_back(
          {{"node", cpt.node}, {"cpt", cpt.cpt}, {"cpus", cpt.cpus}, {"busy_percent", *busy}});
    }
  }
  json["cpts"] = std::move(by_cpt);
  return json;
}

Json json_of(const PointFigures& point, const Report& report) {
  Json json;
  json["test"] = text_of(point.point.operation);
  json["size"] = point.point.size;
  json["concurrency"] = point.point.concurrency;
  if (point.point.rate > 0) json["rate"] = point.point.rate;
  json["throughput_mibps"] = json_of(point.throughput_mibps);
  json["rpc_rate"] = json_of(point.rpc_rate);
  if (point.p50_us) json["p50_us"] = json_of(*point.p50_us);
  if (point.p99_us) json["p99_us"] = json_of(*point.p99_us);
  if (point.percent_of_floor) json["percent_of_floor"] = json_of(*point.percent_of_floor);
  json["errors"] = point.errors;
  Json repeats = Json::array();
  for (const Measurement& each : report.measurements) {
    if (each.point == point.point) repeats.push_back(json_of(each, report.cpts));
  }
  json["repeats"] = std::move(repeats);
  return json;
}

}  // namespace

std::string outcome_of(const Report& report) {
  const std::string left =
      report.left_behind.empty() ? "" : "; the end of the session: " + report.left_behind;
  if (!report.failure.empty()) return "failed: " + report.failure + left;
  if (report.interrupted) return "interrupted: not all of the plan was measured" + left;
  return (report.complete ? "complete" : "not complete") + left;
}

std::string dump_of(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

Json json_of(const Report& report) {
  Json json;
  json["format"] = kReportFormat;
  json["outcome"] = outcome_of(report);
  json["simulated"] = report.simulated;
  json["complete"] = report.complete;
  json["interrupted"] = report.interrupted;
  json["failure"] = report.failure;
  json["left_behind"] = report.left_behind;
  json["thresholds_missed"] = report.missed;
  json["plan"] = json_of(report.plan);
  json["environment"] = report.environment;
  if (!report.configurations.empty()) json["configurations"] = report.configurations;
  if (!report.hosts.empty()) json["hosts"] = report.hosts;
  json["latency"] = report.latency_note;
  if (!report.floor_note.empty()) json["floor"] = report.floor_note;
  Json points = Json::array();
  for (const PointFigures& point : figures_of(report.measurements))
    points.push_back(json_of(point, report));
  json["points"] = std::move(points);
  if (const auto& goal = report.plan.highest_rate) {
    Json highest = Json::array();
    for (const HighestRate& each : report.highest_rates) {
      Json one{{"test", text_of(each.point.operation)},
               {"size", each.point.size},
               {"concurrency", each.point.concurrency},
               {"goal", text_of(*goal)},
               {"rate", nullptr},
               {"at_least", each.at_least},
               {"text", text_of(each, *goal, report.plan.from.size())}};
      if (each.rate) one["rate"] = *each.rate;
      highest.push_back(std::move(one));
    }
    json["highest_rates"] = std::move(highest);
  }
  return json;
}

}  // namespace plnet::run
