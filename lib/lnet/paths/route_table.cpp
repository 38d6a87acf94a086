// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/paths/route_table.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <utility>

#include "lib/base/check.hpp"

namespace plnet::lnet {

RouteView::RouteView(std::span<const std::unique_ptr<Route>> routes) {
  std::vector<NetId> ids;
  for (const auto& route : routes) {
    ids.push_back(route->spec.net);
    PLNET_CHECK(route->gateway.load(std::memory_order_relaxed) != nullptr, "a route has a gateway");
    gateways_.push_back(route->gateway.load(std::memory_order_relaxed));
  }
  std::ranges::sort(ids);
  const auto repeated_ids = std::ranges::unique(ids);
  ids.erase(repeated_ids.begin(), repeated_ids.end());

  routes_.reserve(routes.size());  // spans refer to it
  for (const NetId id : ids) {
    const std::size_t first = routes_.size();
    for (const auto& route : routes) {
      if (route->spec.net == id) routes_.push_back(route.get());
    }
    nets_.push_back({.id = id, .routes = std::span(routes_).subspan(first)});
  }
  if (!nets_.empty()) slots_.assign(std::bit_ceil(2 * nets_.size()), kFreeSlot);
  PLNET_CHECK(slots_.empty() || slots_.size() >= 2 * nets_.size(),
              "at least half of the slots are free");
  for (std::uint32_t index = 0; index < nets_.size(); ++index) {
    std::size_t slot = slot_of(nets_[index].id);
    while (slots_[slot] != kFreeSlot)
      slot = (slot + 1) & (slots_.size() - 1);
    slots_[slot] = index;
    PLNET_CHECK(!nets_[index].routes.empty(), "a network of the view has a route");
  }
  std::ranges::sort(gateways_, std::less<>{});
  const auto repeated = std::ranges::unique(gateways_);
  gateways_.erase(repeated.begin(), repeated.end());
}

bool RouteView::is_gateway(const Peer& peer) const {
  return std::ranges::binary_search(gateways_, &peer, std::less<>{});
}

Result<void> RouteTable::check(const RouteSetup& spec, const LocalView& local) {
  const bool hops_fit =
      spec.hops == kRouteHopsUndefined || (spec.hops >= 1 && spec.hops <= kRouteHopsMax);
  if (spec.gateway.is_any() || spec.gateway.is_loopback() || spec.net == kNetAny ||
      type_of_net(spec.net) == static_cast<std::uint8_t>(NetType::kLoopback) ||
      spec.gateway.net() == spec.net || !hops_fit) {
    return std::unexpected(Errc::kInvalid);
  }
  if (local.net(spec.net) != nullptr) return std::unexpected(Errc::kExists);
  if (local.net(spec.gateway.net()) == nullptr) return std::unexpected(Errc::kNoRoute);
  return {};
}

Result<Route*> RouteTable::add(const RouteSetup& spec, Peer& gateway, const LocalView& local,
                               bool alive) {
  if (const auto good = check(spec, local); !good) return std::unexpected(good.error());
  std::vector<std::size_t> places;  // positions after routes to the same network
  for (std::size_t i = 0; i < routes_.size(); ++i) {
    if (routes_[i]->spec.net != spec.net) continue;
    if (routes_[i]->gateway.load(std::memory_order_relaxed) == &gateway) {
      return std::unexpected(Errc::kExists);
    }
    places.push_back(i);
  }
  if (routes_.size() == kRoutesMax) return std::unexpected(Errc::kNoSpace);

  auto route = std::make_unique<Route>();
  route->spec = spec;
  route->number = free_number();
  route->gateway.store(&gateway, std::memory_order_relaxed);
  route->alive.set(alive);
  route->replied_alive.set(alive);
  route->told_up = alive;
  if (!alive) route->replied_cause = route->told_cause = RouteCause::kUnchecked;
  const std::size_t chosen = random_.below(places.size() + 1);
  const std::size_t place = chosen < places.size() ? places[chosen] : routes_.size();
  const auto where = routes_.begin() + static_cast<std::ptrdiff_t>(place);
  PLNET_CHECK(route->number < kRoutesMax, "numbers of routes are dense");
  PLNET_CHECK(std::ranges::none_of(routes_,
                                   [&](const auto& each) { return each->number == route->number; }),
              "numbers of routes are distinct");
  return routes_.insert(where, std::move(route))->get();
}

Result<std::vector<std::unique_ptr<Route>>> RouteTable::remove(NetId net, const Peer* gateway) {
  const auto is_to_net = [net](const auto& route) { return route->spec.net == net; };
  if (net != kNetAny && std::ranges::none_of(routes_, is_to_net)) {
    return std::unexpected(Errc::kNotFound);
  }
  return extract_if([&](const Route& route) {
    const Peer* const through = route.gateway.load(std::memory_order_relaxed);
    return (net == kNetAny || route.spec.net == net) && (gateway == nullptr || gateway == through);
  });
}

std::uint32_t RouteTable::free_number() const {
  std::vector<bool> taken(routes_.size() + 1);
  for (const auto& route : routes_) {
    if (route->number < taken.size()) taken[route->number] = true;
  }
  return static_cast<std::uint32_t>(std::ranges::find(taken, false) - taken.begin());
}

}  // namespace plnet::lnet
