// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/control/routes.hpp"

#include <algorithm>
#include <utility>

#include "lib/base/check.hpp"

namespace plnet::lnet {

namespace {

PeerRecord& gateway_of(const Route& route) {
  return record_of(*route.gateway.load(std::memory_order_relaxed));
}

// For two routes to one net through one node (lnet_rtr_transfer_to_peer()).
bool is_no_better(const Route& a, const Route& b) {
  return a.spec.priority >= b.spec.priority || a.spec.hops >= b.spec.hops;
}

// The interval of looks at readers that have not passed, and at gateways without room.
constexpr Duration kReaderInterval = std::chrono::milliseconds(1);
constexpr Duration kTryAgain = std::chrono::milliseconds(100);

}  // namespace

// Shards may hold routes of the previous view until they are next quiescent.
void Routes::publish() {
  auto fresh = std::make_unique<const RouteView>(table_.view());
  observer_.on_routes_published(*fresh);
  old_views_.push_back({std::exchange(current_, std::move(fresh)), qsbr_.begin_grace()});
  for (auto& old : old_routes_) {
    if (old.grace == 0) old.grace = old_views_.back().grace;
  }
}

// Its grace period begins when a view without it is published.
void Routes::retire(std::unique_ptr<Route> route) {
  PLNET_CHECK(route != nullptr, "a route is retired once");
  old_routes_.push_back({std::move(route), 0});
}

void Routes::refer(PeerRecord& gateway) {
  PLNET_CHECK(!gateway.dead, "a gateway is a living peer");
  if (gateway.gateway_refs++ == 0) observer_.on_gateway_added(gateway);
}

std::size_t Routes::count_through(const PeerRecord& gateway) const {
  const auto is_through = [&](const auto& route) { return &gateway_of(*route) == &gateway; };
  return static_cast<std::size_t>(std::ranges::count_if(table_.routes(), is_through));
}

void Routes::release_gateway(PeerRecord& gateway) {
  PLNET_CHECK(gateway.gateway_refs > 0, "a gateway has a reference for each route");
  if (--gateway.gateway_refs == 0) observer_.on_gateway_removed(gateway);
}

Result<Route*> Routes::add(const RouteSetup& setup, const LocalView& local, bool alive,
                           Instant now) {
  if (const auto good = RouteTable::check(setup, local); !good) {
    return std::unexpected(good.error());
  }
  const auto made = directory_.create_by_traffic({setup.gateway}, now);
  if (!made) return std::unexpected(made.error());
  PeerRecord& gateway = PeerDirectory::peer_of(record_of(**made));
  const auto added = table_.add(setup, gateway, local, alive);
  if (!added) return added;
  refer(gateway);
  publish();
  observer_.on_route_added(**added);
  return added;
}

// A route that yielded to a removed one may come forward.
template <class Predicate>
std::size_t Routes::remove_if(Predicate&& wanted) {
  auto taken = table_.extract_if(wanted);
  const std::size_t count = taken.size();
  for (auto& route : taken) {
    release_gateway(gateway_of(*route));
    retire(std::move(route));
  }
  if (count == 0) return 0;
  publish();
  look_at_shadowed();
  return count;
}

void Routes::look_at_shadowed() {
  without_gateway_.insert(without_gateway_.end(), shadowed_.begin(), shadowed_.end());
  shadowed_.clear();
}

Result<void> Routes::remove(NetId net, const Nid& gateway) {
  const auto is_named = [&](const RouteSetup& setup) {
    return setup.net == net && setup.gateway == gateway;
  };
  if (forget([&](const RouteOutside& outside) { return is_named(outside.setup); }) > 0) return {};
  if (remove_if([&](const Route& route) { return is_named(route.spec); }) > 0) return {};
  const PeerRecord* const peer = directory_.peer_of(gateway);
  if (peer == nullptr) return std::unexpected(Errc::kNotFound);
  (void)forget([&](const RouteOutside& outside) {
    return outside.setup.net == net && directory_.peer_of(outside.setup.gateway) == peer;
  });
  const std::size_t gone = remove_if(
      [&](const Route& route) { return route.spec.net == net && &gateway_of(route) == peer; });
  if (gone == 0) return std::unexpected(Errc::kNotFound);
  return {};
}

// Routes outside the table.
template <class Predicate>
std::size_t Routes::forget(Predicate&& wanted) {
  return std::erase_if(without_gateway_, wanted) + std::erase_if(shadowed_, wanted);
}

void Routes::net_removed(NetId net) {
  (void)forget([net](const RouteOutside& one) { return one.setup.gateway.net() == net; });
  (void)remove_if([net](const Route& route) { return route.local_net() == net; });
}

void Routes::remove_all() {
  (void)forget([](const RouteOutside& /*one*/) { return true; });
  (void)remove_if([](const Route& /*route*/) { return true; });
}

// Moves the routes through `from` for which `goes` is true; the better of two to one net stays. The
// references of `to` already include them.
template <class Predicate>
void Routes::lead_through(PeerRecord& from, PeerRecord& to, Predicate&& goes) {
  PLNET_CHECK(&from != &to, "routes move to another gateway");
  const auto twin = [this](const Route& route, const PeerRecord& through) -> const Route* {
    for (const auto& other : table_.routes()) {
      if (other->spec.net == route.spec.net && &gateway_of(*other) == &through) return other.get();
    }
    return nullptr;
  };
  auto worse = table_.extract_if([&](const Route& route) {
    if (&gateway_of(route) == &from) {
      const Route* const there = goes(route) ? twin(route, to) : nullptr;
      return there != nullptr && is_no_better(route, *there);
    }
    const Route* const comes = &gateway_of(route) == &to ? twin(route, from) : nullptr;
    return comes != nullptr && goes(*comes) && !is_no_better(*comes, route);
  });
  for (const auto& route : table_.routes()) {
    if (&gateway_of(*route) == &from && goes(*route))
      route->gateway.store(&to, std::memory_order_release);
  }
  PLNET_CHECK(!to.dead, "routes lead through a living peer");
  PLNET_CHECK(to.gateway_refs >= worse.size(), "a gateway has a reference for each route");
  to.gateway_refs -= static_cast<std::uint32_t>(worse.size());
  for (auto& route : worse) {
    shadowed_.push_back({route->spec, route->alive.get(), route->history});
    retire(std::move(route));
  }
  PLNET_CHECK(count_through(from) == from.gateway_refs && count_through(to) == to.gateway_refs,
              "a gateway has a reference for each route");
  if (from.gateway_refs == 0) observer_.on_gateway_removed(from);
  observer_.on_gateway_added(to);
  publish();
}

void Routes::gateway_moved(PeerRecord& from, PeerRecord& to) {
  lead_through(from, to, [](const Route& /*route*/) { return true; });
}

// lustre-release lnet/lnet/router.c: lnet_consolidate_routes_locked()
void Routes::nids_moved(PeerRecord& from, PeerRecord& to) {
  if (from.gateway_refs == 0) return;
  // A route that yielded to another one through the same node may be usable now.
  look_at_shadowed();
  const auto goes = [&](const Route& route) {
    return directory_.peer_of(route.spec.gateway) != &from;
  };
  const auto count = std::ranges::count_if(table_.routes(), [&](const auto& route) {
    return &gateway_of(*route) == &from && goes(*route);
  });
  if (count == 0) return;
  PLNET_CHECK(from.gateway_refs >= static_cast<std::size_t>(count),
              "a gateway has a reference for each route");
  from.gateway_refs -= static_cast<std::uint32_t>(count);
  to.gateway_refs += static_cast<std::uint32_t>(count);
  lead_through(from, to, goes);
}

void Routes::gateway_gone(PeerRecord& gateway) {
  auto taken =
      table_.extract_if([&](const Route& route) { return &gateway_of(route) == &gateway; });
  if (taken.empty()) return;
  for (auto& route : taken) {
    without_gateway_.push_back({route->spec, route->alive.get(), route->history});
    release_gateway(gateway);
    retire(std::move(route));
  }
  PLNET_CHECK(gateway.gateway_refs == 0, "a gateway that goes has no route left");
  publish();
}

bool Routes::step(const LocalView& local, Instant now) {
  const auto is_past = [this](const auto& old) {
    return old.grace != 0 && qsbr_.passed(old.grace);
  };
  const bool freed = std::erase_if(old_views_, is_past) + std::erase_if(old_routes_, is_past) > 0;
  if (without_gateway_.empty() || now < next_try_) return freed;
  next_try_ = now + kTryAgain;
  for (const RouteOutside& outside : std::exchange(without_gateway_, {})) {
    const auto back = add(outside.setup, local, outside.alive, now);
    if (back) {
      RouteHistory whole = outside.history;
      whole.record((*back)->history.back(0));
      (*back)->history = whole;
      continue;
    }
    const bool later = back.error() == Errc::kAgain || back.error() == Errc::kNoMemory;
    if (later) without_gateway_.push_back(outside);
    if (back.error() == Errc::kExists) shadowed_.push_back(outside);
  }
  return true;
}

Instant Routes::next_deadline(Instant now) const {
  if (!old_views_.empty() || !old_routes_.empty()) return now + kReaderInterval;
  return without_gateway_.empty() ? Instant::max() : std::max(next_try_, now);
}

}  // namespace plnet::lnet
