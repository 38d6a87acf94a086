// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-sim/adopt/gateways.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "lib/lnet/names/nid_text.hpp"

namespace plnet::sim {

using namespace lnet;

namespace {

class Gateways {
 public:
  Gateways(std::vector<NodeFacts>& nodes, SiteConfig& site, std::vector<std::string>& notes)
      : nodes_(nodes), site_(site), notes_(notes) {}

  void run() {
    name_routers();
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      add_routes(i);
  }

 private:
  [[nodiscard]] std::optional<std::size_t> owner_of(const Nid& nid) const {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].has(nid)) return i;
    }
    return std::nullopt;
  }

  // The gateways on each network that are NIDs of no file, in the order of the routes.
  [[nodiscard]] std::map<NetId, std::vector<Nid>> unknown_gateways() const {
    std::map<NetId, std::vector<Nid>> unknown;
    for (const NodeFacts& node : nodes_) {
      for (const RouteConfig& route : node.file->settings.lnet.routes) {
        std::vector<Nid>& list = unknown[route.gateway.net()];
        if (!owner_of(route.gateway) && std::ranges::find(list, route.gateway) == list.end())
          list.push_back(route.gateway);
      }
    }
    return unknown;
  }

  // Gives unknown gateways to the routers on their network whose NIDs there are unknown, in order,
  // if there are as many.
  void name_routers() {
    for (const auto& [net, gateways] : unknown_gateways()) {
      std::vector<NodeFacts*> nameless;
      std::size_t wanted = 0;
      for (NodeFacts& node : nodes_) {
        NetFacts* const own = node.on(net);
        if (!node.router || own == nullptr || !own->nids.empty()) continue;
        nameless.push_back(&node);
        wanted += node.file->nodes;
      }
      if (gateways.empty() || wanted != gateways.size()) continue;
      auto next = gateways.begin();
      for (NodeFacts* const node : nameless) {
        const auto end = next + node->file->nodes;
        node->on(net)->nids.assign(next, end);
        std::string named;
        for (; next != end; ++next)
          named += (named.empty() ? "" : ", ") + text_of(*next);
        notes_.push_back(fmt::format("{}: assumed to be {}, for routes name no other router there",
                                     node->file->title, named));
      }
    }
  }

  [[nodiscard]] std::optional<unsigned> net_number(NetId net) const {
    const std::string name = text_of_net(net);
    for (unsigned i = 0; i < site_.nets.size(); ++i) {
      if (site_.nets[i].name == name) return i;
    }
    return std::nullopt;
  }

  void add_routes(std::size_t number) {
    NodeFacts& node = nodes_[number];
    for (const RouteConfig& route : node.file->settings.lnet.routes) {
      const std::string why = why_not(node, number, route);
      if (why.empty()) {
        add_route(number, route);
      } else {
        notes_.push_back(fmt::format("{}: route to {} by {} is left out: {}", node.file->title,
                                     text_of_net(route.net), text_of(route.gateway), why));
      }
    }
  }

  std::string why_not(NodeFacts& node, std::size_t number, const RouteConfig& route) {
    if (!net_number(route.net)) return "no file has that network";
    if (node.on(route.net) != nullptr) return "the node is on that network";
    if (node.on(route.gateway.net()) == nullptr) return "the node is not on the gateway's network";
    const auto owner = owner_of(route.gateway);
    if (!owner) {
      return fmt::format("no file is that router's, expected its file, or FILE={}",
                         text_of(route.gateway));
    }
    if (*owner == number) return "the gateway is the node itself";
    if (!nodes_[*owner].router) {
      return fmt::format("{} has this NID, and does not route", nodes_[*owner].file->title);
    }
    return {};
  }

  // A route by one node of a group stands for routes by all of them.
  void add_route(std::size_t number, const RouteConfig& route) {
    const auto via = owner_of(route.gateway);
    const auto net = net_number(route.net);
    if (!via || !net) return;  // refused before
    std::vector<RoutePlan>& routes = site_.groups[number].routes;
    const bool known = std::ranges::any_of(
        routes, [&](const RoutePlan& each) { return each.net == *net && each.via == *via; });
    if (known) return;
    RoutePlan& plan = routes.emplace_back(RoutePlan{
        .net = *net, .via = static_cast<unsigned>(*via), .priority = route.priority & 0x7fffffffU});
    if (route.hops != kHopsUndefined) plan.hops = static_cast<std::uint32_t>(route.hops);
  }

  std::vector<NodeFacts>& nodes_;
  SiteConfig& site_;
  std::vector<std::string>& notes_;
};

}  // namespace

void adopt_routes(std::vector<NodeFacts>& nodes, SiteConfig& site,
                  std::vector<std::string>& notes) {
  Gateways(nodes, site, notes).run();
}

}  // namespace plnet::sim
