// SPDX-License-Identifier: BSD-3-Clause
#include "node/watch/page_snapshot.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "lib/lnet/names/nid_text.hpp"
#include "lib/runtime/lnet/load_json.hpp"
#include "lib/runtime/lnet/report_json.hpp"

namespace plnet::node {
namespace {

using runtime::Json;

// Keeps the first `max` items of the list; the number of the others.
std::size_t keep(Json& list, std::size_t max) {
  if (!list.is_array() || list.size() <= max) return 0;
  const std::size_t more = list.size() - max;
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(max), list.end());
  return more;
}

// Cuts all texts of the document, at the edge of a character.
void cut_texts(Json& document, std::size_t max) {
  if (document.is_structured()) {
    for (Json& each : document)
      cut_texts(each, max);
    return;
  }
  if (!document.is_string() || document.get_ref<const std::string&>().size() <= max) return;
  std::string text = document.get<std::string>();
  while (max > 0 && (static_cast<unsigned char>(text[max]) & 0xc0U) == 0x80U)
    --max;
  text.resize(max);
  document = text + "…";
}

// Those that are not up first, each part in its order.
template <class Report>
void put_down_first(std::vector<Report>& all) {
  std::vector<Report> sorted;
  sorted.reserve(all.size());
  for (const bool up : {false, true}) {
    for (Report& each : all)
      if (each.up == up) sorted.push_back(std::move(each));
  }
  all = std::move(sorted);
}

struct NiOfNet {
  lnet::NetId net = 0;
  bool up = false;
  lnet::NiReport report;
};

Json credits_of(const lnet::NiReport& ni) {
  std::int64_t max = 0;
  std::int64_t now = 0;
  std::int64_t least = 0;
  for (const lnet::TxQueueReport& queue : ni.tx_queues) {
    max += queue.credits_max;
    now += queue.credits;
    least += queue.credits_min;
  }
  return {{"max", max}, {"now", now}, {"min", least}};
}

Json ni_to_json(const NiOfNet& of) {
  const lnet::NiReport& ni = of.report;
  Json item{{"net", lnet::text_of_net(of.net)}, {"nid", text_of(ni.nid)}, {"up", ni.up}};
  if (!ni.interfaces.empty()) item["interface"] = ni.interfaces.front();
  if (!ni.down_cause.empty()) item["cause"] = ni.down_cause;
  item["changes"] = ni.status_changes;
  item["health"] = ni.health.health_value;
  item["sent"] = ni.traffic.send_count;
  item["received"] = ni.traffic.recv_count;
  item["dropped"] = ni.traffic.drop_count;
  item["credits"] = credits_of(ni);
  return item;
}

Json nis_to_json(std::vector<lnet::NetReport>& nets, std::size_t max, Json& more) {
  std::vector<NiOfNet> all;
  for (lnet::NetReport& net : nets) {
    for (lnet::NiReport& ni : net.nis)
      if (!ni.nid.is_loopback()) all.push_back({net.net, ni.up, std::move(ni)});
  }
  put_down_first(all);
  Json list = Json::array();
  for (const NiOfNet& each : all) {
    if (list.size() == max) break;
    list.push_back(ni_to_json(each));
  }
  more["nis"] = all.size() - list.size();
  return list;
}

// The items of the only list of a document such as {"route": [...]}.
Json items_of(Json document, const char* key) {
  return document.is_object() && document.contains(key) ? std::move(document[key]) : Json::array();
}

// The level of `lnetctl route show` that has the history.
constexpr int kWithHistory = 3;

Json page_status(Json status, const PageLimits& limits, Json& more) {
  // Parts that are elsewhere in the event, or not on the page.
  for (const char* key : {"networks", "memory", "clock", "socket", "pid"})
    status.erase(key);
  more["warnings"] = keep(status["warnings"], limits.warnings);
  more["shards"] = keep(status["shards"], limits.shards);
  return status;
}

Json lines_to_json(const std::vector<RecentLine>& lines) {
  Json list = Json::array();
  for (const RecentLine& line : lines) {
    list.push_back(
        {{"time", line.time}, {"level", line.level}, {"event", line.event}, {"text", line.text}});
  }
  return list;
}

}  // namespace

Json page_load(const lnet::LoadSnapshot& snapshot, const PageLimits& limits) {
  const auto of = [&snapshot](lnet::LoadBy by, std::size_t rows) {
    return runtime::load_to_json(snapshot, by, rows)["top"];
  };
  Json talkers = of(lnet::LoadBy::kNid, std::numeric_limits<std::size_t>::max());
  const std::size_t more = keep(talkers["load"], limits.talkers);
  return {{"talkers", std::move(talkers)},
          {"more talkers", more},
          {"pairs", of(lnet::LoadBy::kNet, limits.pairs)},
          {"hops", of(lnet::LoadBy::kHop, limits.hops)}};
}

Json page_snapshot(PageFacts facts, const PageLimits& limits) {
  Json more = Json::object();
  Json event{{"status", page_status(std::move(facts.status), limits, more)}};
  event["nis"] = nis_to_json(facts.nets, limits.nis, more);
  more["routes"] = facts.routes.size() - std::min(facts.routes.size(), limits.routes);
  put_down_first(facts.routes);
  if (facts.routes.size() > limits.routes)
    facts.routes.erase(facts.routes.begin() + static_cast<std::ptrdiff_t>(limits.routes),
                       facts.routes.end());
  event["routes"] = items_of(runtime::routes_to_json(facts.routes, kWithHistory), "route");
  if (facts.routing) {
    auto& cpts = facts.routing->cpts;
    more["cpts"] = cpts.size() - std::min(cpts.size(), limits.cpts);
    if (cpts.size() > limits.cpts)
      cpts.erase(cpts.begin() + static_cast<std::ptrdiff_t>(limits.cpts), cpts.end());
    event["routing"] = items_of(runtime::routing_to_json(*facts.routing), "routing");
  }
  event["load"] = std::move(facts.load);
  event["lately"] = lines_to_json(facts.lines);
  event["more"] = std::move(more);
  cut_texts(event, limits.text);
  return event;
}

}  // namespace plnet::node
