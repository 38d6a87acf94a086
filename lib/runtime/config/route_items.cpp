// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "lib/lnet/names/nid_text.hpp"
#include "lib/runtime/config/lnet_items.hpp"

namespace plnet::runtime {
namespace {

class RouteItems : private Items {
 public:
  using Items::Items;

  void add(const RouteItem& item, const std::string& path) {
    for (const lnet::RouteConfig& route : routes_of(item, path)) {
      if (!fresh_routes_[route.net].insert(route.gateway).second) {
        complain(path, fmt::format("duplicate route: to {} by {} is already in the document",
                                   lnet::text_of_net(route.net), text_of(route.gateway)));
        continue;
      }
      if (route.gateway.net() == route.net) {
        complain(path, fmt::format("gateway {} is on the destination network itself",
                                   text_of(route.gateway)));
      }
      const auto same = std::ranges::find_if(config_.routes, [&route](const auto& other) {
        return other.net == route.net && other.gateway == route.gateway;
      });
      if (same != config_.routes.end()) {
        *same = route;
      } else if (config_.routes.size() < lnet::kRoutesMax) {
        config_.routes.push_back(route);
      } else {
        return complain(path,
                        fmt::format("too many routes, expected at most {}", lnet::kRoutesMax));
      }
    }
  }

  void remove(const RouteItem& item, const std::string& path) {
    for (const lnet::RouteConfig& route : routes_of(item, path)) {
      const auto gone = std::erase_if(config_.routes, [&route](const auto& other) {
        return other.net == route.net && other.gateway == route.gateway;
      });
      if (gone > 0) continue;
      complain(path, fmt::format("no route to {} by {}", lnet::text_of_net(route.net),
                                 text_of(route.gateway)));
    }
  }

 private:
  // A route by each gateway of the item.
  std::vector<lnet::RouteConfig> routes_of(const RouteItem& item, const std::string& path) {
    if (item.route.net == lnet::kNetAny || item.gateways.empty()) {
      complain(path, item.route.net == lnet::kNetAny ? "no 'net'" : "no 'gateway'");
      return {};
    }
    if (item.route.hops == 0) {
      complain(path + ".hop", "invalid hop count 0, must be between 1 and 255");
      return {};
    }
    std::vector<lnet::RouteConfig> routes(item.gateways.size(), item.route);
    for (std::size_t i = 0; i < routes.size(); ++i)
      routes[i].gateway = item.gateways[i];
    return routes;
  }

  // Routes of the document itself, to find duplicates.
  std::map<lnet::NetId, std::set<lnet::Nid, NidOrder>> fresh_routes_;
};

}  // namespace

void add_routes(lnet::NodeConfig& config, const LnetItems& items, SettingsIssues& issues) {
  RouteItems join(config, issues);
  for (std::size_t i = 0; i < items.routes.size(); ++i)
    join.add(items.routes[i], fmt::format("route[{}]", i));
}

void remove_routes(lnet::NodeConfig& config, const LnetItems& items, SettingsIssues& issues) {
  RouteItems join(config, issues);
  for (std::size_t i = 0; i < items.routes.size(); ++i)
    join.remove(items.routes[i], fmt::format("route[{}]", i));
}

}  // namespace plnet::runtime
