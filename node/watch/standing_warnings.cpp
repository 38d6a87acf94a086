// SPDX-License-Identifier: BSD-3-Clause
#include "node/watch/standing_warnings.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "lib/base/counted.hpp"
#include "lib/lnet/names/nid_text.hpp"

namespace plnet::node {
namespace {

using runtime::Json;

// The number of warnings that fill a screen.
constexpr std::size_t kNamedMax = 8;

void append(Json& all, Json more) {
  for (Json& each : more)
    all.push_back(std::move(each));
}

}  // namespace

Json warning(std::string what, std::string why, std::string fix, std::string_view severity) {
  return {{"severity", severity},
          {"what", std::move(what)},
          {"why", std::move(why)},
          {"fix", std::move(fix)}};
}

Json warnings_of_nis(const std::vector<lnet::NetReport>& nets) {
  Json all = Json::array();
  std::size_t more = 0;
  for (const lnet::NetReport& net : nets) {
    for (const lnet::NiReport& ni : net.nis) {
      if (ni.up) continue;
      if (all.size() == kNamedMax) {
        ++more;
        continue;
      }
      all.push_back(
          warning(fmt::format("{} is down", text_of(ni.nid)), ni.down_cause,
                  fmt::format("lnetctl net show -v 2 --net {}", lnet::text_of_net(net.net))));
    }
  }
  if (more > 0) {
    all.push_back(
        warning(fmt::format("{} {} down", counted(more, "more NI"), agreeing(more, "is", "are")),
                "", "lnetctl net show -v 1"));
  }
  return all;
}

Json warnings_of_routes(const std::vector<lnet::RouteReport>& routes) {
  const auto down = std::ranges::count(routes, false, &lnet::RouteReport::up);
  if (down == 0) return Json::array();
  const auto first = std::ranges::find(routes, false, &lnet::RouteReport::up);
  const std::string cause = first->down_cause();
  return Json::array(
      {warning(fmt::format("{} {} down", counted(down, std::ssize(routes), "route"),
                           agreeing(down, "is", "are")),
               fmt::format("to {} by {}{}{}", lnet::text_of_net(first->route.net),
                           text_of(first->route.gateway), cause.empty() ? "" : ": ", cause),
               fmt::format("lnetctl route show -v 1; on {}: lnetctl status",
                           text_of(first->route.gateway)))});
}

Json warnings_of_routing(const lnet::RoutingReport& routing) {
  if (!routing.change) return Json::array();
  const auto& change = *routing.change;
  return Json::array({warning(
      change.is_drain ? "routing is being drained" : "routing changes",
      fmt::format("{}; {} {} held", change.phase, counted(change.held, "forwarded message"),
                  agreeing(change.held, "is", "are")),
      "lnetctl routing show", "note")});
}

Json warnings_of(const LnetStanding& standing) {
  Json all = Json::array();
  if (!standing.answered) {
    all.push_back(warning("a poller does not answer",
                          "it is stuck, or has no CPU: its shard handles no messages",
                          "lnetctl cpt show, twice: the turns of that shard stay the same"));
  }
  if (standing.down) {
    all.push_back(
        warning("LNet does not run", standing.down->what, "lnetctl lnet configure --all"));
  }
  append(all, warnings_of_nis(standing.nets));
  append(all, warnings_of_routes(standing.routes));
  if (standing.routing) append(all, warnings_of_routing(*standing.routing));
  return all;
}

}  // namespace plnet::node
