// SPDX-License-Identifier: BSD-3-Clause
// Routes: the gateways that lead to remote networks. The coordinator keeps the table and publishes
// a RouteView of it, which messages read. Checked against lustre-release lnet/lnet/router.c:
// lnet_add_route(), lnet_del_route().
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "lib/base/check.hpp"
#include "lib/base/random.hpp"
#include "lib/base/relaxed.hpp"
#include "lib/base/result.hpp"
#include "lib/lnet/names/nid.hpp"
#include "lib/lnet/names/routes_text.hpp"
#include "lib/lnet/paths/route_flaps.hpp"
#include "lib/lnet/paths/route_history.hpp"
#include "lib/lnet/peers/net_interface.hpp"
#include "lib/lnet/peers/peer.hpp"

namespace plnet::lnet {

// A node has up to kRoutesMax. Large sites have some hundred routers and a handful of networks.
inline constexpr std::uint32_t kRouteHopsUndefined = 0xffffffff;
inline constexpr std::uint32_t kRouteHopsMax = 255;

struct RouteSetup {
  NetId net = 0;  // the remote network
  Nid gateway;    // on a network of ours
  std::uint32_t hops = kRouteHopsUndefined;
  std::uint32_t priority = 0;  // 0 is the best
};

struct Route {
  // Constant, except `gateway`, which changes when discovery merges peers.
  RouteSetup spec;
  std::uint32_t number = 0;  // dense over the node; index of further tables
  std::atomic<Peer*> gateway{nullptr};

  // Views, written by the coordinator; `alive` also by the shard that finds a gateway dead.
  // route_aliveness.hpp decides whether the route may be used.
  Relaxed<bool> alive{true};
  Relaxed<bool> single_hop{false};  // the gateway itself is on the net
  // By the last ping reply, or by the LND: the only evidence while discovery is off, here or on the
  // gateway.
  Relaxed<bool> replied_alive{true};
  // It has flapped, and a steadier route exists: down in spite of its evidence.
  Relaxed<bool> held_back{false};
  // Used by the coordinator.
  RouteFlaps flaps;
  bool steady = false;  // by the evidence it may be used, and need not be held back
  RouteCause replied_cause = RouteCause::kNone;  // the reason if not
  RouteCause last_reply = RouteCause::kNone;     // the reason in the reply; kNone: usable
  bool told_up = true;                           // the state in the history
  RouteCause told_cause = RouteCause::kAdded;
  bool gateway_ni_up = true;  // the NI that the route names
  RouteHistory history;

  [[nodiscard]] NetId local_net() const { return spec.gateway.net(); }
  [[nodiscard]] std::uint32_t hops_counted() const {
    return spec.hops == kRouteHopsUndefined ? 1 : spec.hops;
  }
};

struct RemoteNet {
  NetId id = 0;
  std::span<Route* const> routes;  // never empty
};

// Immutable once published; a change publishes a new one and retires the old one through QSBR.
class RouteView {
 public:
  RouteView() = default;
  RouteView(RouteView&&) = default;
  RouteView& operator=(RouteView&&) = default;
  ~RouteView() = default;
  // In the order of the table, which decides when all criteria tie.
  explicit RouteView(std::span<const std::unique_ptr<Route>> routes);

  // Hot.
  [[nodiscard]] const RemoteNet* net(NetId id) const {
    if (slots_.empty()) return nullptr;
    for (std::size_t slot = slot_of(id);; slot = (slot + 1) & (slots_.size() - 1)) {
      const std::uint32_t index = slots_[slot];
      if (index == kFreeSlot) return nullptr;
      if (nets_[index].id == id) return &nets_[index];
    }
  }
  [[nodiscard]] std::span<const RemoteNet> nets() const { return nets_; }
  // Some route goes through the peer.
  [[nodiscard]] bool is_gateway(const Peer& peer) const;
  [[nodiscard]] bool empty() const { return nets_.empty(); }

 private:
  static constexpr std::uint32_t kFreeSlot = UINT32_MAX;

  // The upper bits of the product depend on all bits of the id.
  [[nodiscard]] std::size_t slot_of(NetId id) const {
    constexpr std::uint64_t kSpread = 0x9e3779b97f4a7c15;
    PLNET_DEBUG_CHECK(std::has_single_bit(slots_.size()), "slots are found by a mask");
    return static_cast<std::size_t>((id * kSpread) >> 32U) & (slots_.size() - 1);
  }

  std::vector<Route*> routes_;         // net by net
  std::vector<RemoteNet> nets_;        // by id
  std::vector<std::uint32_t> slots_;   // index in nets_; at least half of them are free
  std::vector<const Peer*> gateways_;  // by address, each once
};

// Used by the coordinator. Control path: allocates.
class RouteTable {
 public:
  explicit RouteTable(Random random) : random_(random) {}

  // Checks a route without regard to gateways: kInvalid (gateway any or loopback; net any, loopback
  // or the gateway's own; hops), kExists (a net of ours), kNoRoute (the gateway is on no net of
  // ours).
  [[nodiscard]] static Result<void> check(const RouteSetup& spec, const LocalView& local);

  // Also kExists when a route to this net goes through this peer already, kNoSpace. The route goes
  // to a random place among the routes to its net, so that different clients prefer different
  // routers. `alive`: false with check_routers_before_use.
  Result<Route*> add(const RouteSetup& spec, Peer& gateway, const LocalView& local, bool alive);

  // Extracts every route to `net` (kNetAny: to all) through `gateway` (null: through all); the
  // caller retires them after it has published a view without them. kNotFound: no route to this
  // net. A gateway without such a route is no failure.
  Result<std::vector<std::unique_ptr<Route>>> remove(NetId net, const Peer* gateway);
  // Extracts, in order, the routes for which `wanted(route)` is true; it sees the table unchanged.
  template <class Predicate>
  std::vector<std::unique_ptr<Route>> extract_if(Predicate&& wanted) {
    std::vector<bool> chosen;
    chosen.reserve(routes_.size());
    for (const auto& route : routes_)
      chosen.push_back(wanted(std::as_const(*route)));
    std::vector<std::unique_ptr<Route>> taken;
    for (std::size_t i = 0; i < routes_.size(); ++i) {
      if (chosen[i]) taken.push_back(std::move(routes_[i]));
    }
    std::erase(routes_, nullptr);
    return taken;
  }

  [[nodiscard]] RouteView view() const { return RouteView(routes_); }
  [[nodiscard]] std::span<const std::unique_ptr<Route>> routes() const { return routes_; }

 private:
  [[nodiscard]] std::uint32_t free_number() const;

  Random random_;
  std::vector<std::unique_ptr<Route>> routes_;
};

}  // namespace plnet::lnet
