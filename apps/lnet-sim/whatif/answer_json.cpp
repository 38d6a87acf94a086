// SPDX-License-Identifier: BSD-3-Clause
// The answer as data.
#include <nlohmann/json.hpp>

#include "apps/lnet-sim/plan/node_names.hpp"
#include "apps/lnet-sim/whatif/answer.hpp"

namespace plnet::sim {

namespace {

using Json = nlohmann::ordered_json;

double in_seconds(Duration time) {
  return std::chrono::duration<double>(time).count();
}

Json json_of(const SightFigures& figures) {
  Json json{{"users", figures.users}, {"saw_it", figures.count}};
  if (figures.count == 0) return json;
  json["first_s"] = in_seconds(figures.first);
  json["median_s"] = in_seconds(figures.median);
  json["last_s"] = in_seconds(figures.last);
  return json;
}

Json json_of(const Answer& answer, const PlannedEvent& event) {
  Json json{{"event", name_of(event.kind)},
            {"node", node_name(answer.site, event.node)},
            {"nids", node_nids(answer.site, event.node)},
            {"at_s", in_seconds(event.at)},
            {"for_s", in_seconds(event.lasting)}};
  if (event.kind == PlannedKind::kCut) json["net"] = net_name(answer.site, event.net);
  json["routes_down"] = json_of(answer.seen_down(event));
  json["routes_up"] = json_of(answer.seen_up(event));
  return json;
}

Json json_of(const std::map<Errc, std::uint64_t>& causes) {
  Json json = Json::object();
  for (const auto& [why, count] : causes)
    json[std::string(words_of(why))] = count;
  return json;
}

Json json_of(const Trial& trial) {
  const OutageFigures outage = figures_of(trial.rpcs.outages());
  return {{"answers", trial.rpcs.answers()},
          {"sent_again", trial.rpcs.failures()},
          {"sent_again_by_cause", json_of(trial.rpcs.causes())},
          {"refusals_by_cause", json_of(trial.rpcs.refusals())},
          {"slow_answers", trial.rpcs.slow()},
          {"slowest_s", in_seconds(trial.rpcs.slowest())},
          {"outage",
           {{"clients", outage.clients},
            {"waits", outage.waits},
            {"median_s", in_seconds(outage.median)},
            {"longest_s", in_seconds(outage.longest)},
            {"unanswered_at_end", outage.lasting}}},
          {"resent", trial.resent},
          {"resent_in_vain", trial.resent_in_vain}};
}

Json loads_of(const Answer& answer) {
  Json routers = Json::object();
  for (const RouterLoad& load : answer.with.loads) {
    Json& router = routers[node_name(answer.site, load.router)];
    for (std::size_t i = 0; i < kPhaseNames.size(); ++i) {
      router[std::string(kPhaseNames[i])] = {
          {"messages", load.phases[i].messages},
          {"bytes", load.phases[i].bytes},
          {"seconds", in_seconds(answer.length_of(static_cast<Phase>(i)))}};
    }
  }
  return routers;
}

}  // namespace

std::string json_of(const Answer& answer) {
  Json json{{"site", answer.site.name},
            {"seed", answer.site.seed},
            {"time_s", in_seconds(answer.with.times.over_at())},
            {"restored", answer.with.times.is_restored},
            {"clients", answer.clients()}};
  for (const PlannedEvent& event : answer.site.faults.events)
    json["events"].push_back(json_of(answer, event));
  json["with"] = json_of(answer.with);
  json["without"] = json_of(answer.without);
  json["routers"] = loads_of(answer);
  json["losses"] = Json::object();
  for (const auto& [name, count] : answer.losses())
    json["losses"][std::string(name)] = {{"messages", count}, {"why", words_of_cause(name)}};
  return json.dump();
}

}  // namespace plnet::sim
