// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "lib/lnet/names/nid_range.hpp"
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
        complain(path, fmt::format("duplicate route: to {} by {} stands in the document already",
                                   item.net, text_of(route.gateway)));
        continue;
      }
      if (route.gateway.net() == route.net) {
        complain(path, fmt::format("gateway {} is on the network that it shall lead to",
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
      complain(path, fmt::format("no route to {} by {}", item.net, text_of(route.gateway)));
    }
  }

 private:
  // The routes that one item means: a gateway may be a range.
  std::vector<lnet::RouteConfig> routes_of(const RouteItem& item, const std::string& path) {
    if (item.net.empty() || item.gateway.empty()) {
      complain(path, item.net.empty() ? "no 'net'" : "no 'gateway'");
      return {};
    }
    const auto net = sound(lnet::parse_net(item.net));
    const auto ranges = sound(lnet::NidRangeList::parse(item.gateway));
    if (!net || !ranges) return {};
    const auto gateways = ranges->expand();
    if (!gateways) {
      complain(path + ".gateway", gateways.error().what);
      return {};
    }
    if (item.hop == 0) {
      complain(path + ".hop", "invalid hop count 0, must be between 1 and 255");
      return {};
    }
    std::vector<lnet::RouteConfig> routes;
    for (const lnet::Nid& gateway : *gateways)
      routes.push_back({*net, gateway, item.hop, static_cast<std::uint32_t>(item.priority)});
    return routes;
  }

  // What the document itself brought, to find what stands there twice.
  std::map<lnet::NetId, std::set<lnet::Nid, NidOrder>> fresh_routes_;
};

}  // namespace

void add_routes(lnet::NodeConfig& config, const LnetDocument& document, SettingsIssues& issues) {
  RouteItems items(config, issues);
  for (std::size_t i = 0; i < document.routes.size(); ++i)
    items.add(document.routes[i], fmt::format("route[{}]", i));
}

void remove_routes(lnet::NodeConfig& config, const LnetDocument& document, SettingsIssues& issues) {
  RouteItems items(config, issues);
  for (std::size_t i = 0; i < document.routes.size(); ++i)
    items.remove(document.routes[i], fmt::format("route[{}]", i));
}

}  // namespace plnet::runtime
