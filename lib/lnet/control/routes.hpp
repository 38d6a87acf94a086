// SPDX-License-Identifier: BSD-3-Clause
// The routes of a running node: the coordinator adds and deletes them and publishes a view for all
// shards. A gateway is a peer that stays while a route leads through it; when discovery finds that
// two gateways are one node, the routes of both lead through that node. Control path: allocates.
// Checked against lustre-release lnet/lnet/router.c: lnet_add_route(), lnet_del_route(),
// lnet_rtr_transfer_to_peer(), lnet_consolidate_routes_locked(); lnet/lnet/peer.c:
// lnet_peer_deletion().
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "lib/base/clock.hpp"
#include "lib/base/qsbr.hpp"
#include "lib/base/random.hpp"
#include "lib/base/result.hpp"
#include "lib/lnet/paths/route_table.hpp"
#include "lib/lnet/peers/peer_directory.hpp"

namespace plnet::lnet {

// The effects of a change of routes on other parts.
class RoutesObserver {
 public:
  virtual ~RoutesObserver() = default;
  // Every shard uses this view from now on.
  virtual void on_routes_published(const RouteView& view) = 0;
  virtual void on_route_added(Route& route) = 0;
  // The first route through it is added; the last one is removed.
  virtual void on_gateway_added(PeerRecord& gateway) = 0;
  virtual void on_gateway_removed(PeerRecord& gateway) = 0;
};

class Routes {
 public:
  Routes(PeerDirectory& directory, Qsbr& qsbr, RoutesObserver& observer, Random random)
      : directory_(directory), qsbr_(qsbr), observer_(observer), table_(random) {}

  // Errors of RouteTable::check(); kExists also when there is a route to this net through this
  // node; kNoSpace, kNoMemory: no more routes or peers; kAgain: room for the gateway is being made,
  // try again soon. `alive`: the initial state, until the gateway was asked.
  [[nodiscard]] Result<Route*> add(const RouteSetup& setup, const LocalView& local, bool alive,
                                   Instant now);
  // Removes the route that was added with this NID; if there is none, those to `net` through the
  // node with this NID. kNotFound.
  [[nodiscard]] Result<void> remove(NetId net, const Nid& gateway);
  // This network is removed: removes all routes whose gateway was named by a NID on it.
  void net_removed(NetId net);
  void remove_all();

  // PeerDirectoryHooks. References to peers have been moved, or are removed with the peer.
  void gateway_moved(PeerRecord& from, PeerRecord& to);
  // `from` stays, and keeps the routes by its remaining NIDs. References are moved here.
  void nids_moved(PeerRecord& from, PeerRecord& to);
  // step() adds its routes anew.
  void gateway_gone(PeerRecord& gateway);

  // Frees objects that no shard can read any more, and adds routes that have lost their gateway.
  // True: there was work.
  bool step(const LocalView& local, Instant now);
  [[nodiscard]] Instant next_deadline(Instant now) const;

  [[nodiscard]] const RouteView& view() const { return *current_; }
  [[nodiscard]] std::span<const std::unique_ptr<Route>> routes() const { return table_.routes(); }
  [[nodiscard]] bool leads_through(const Peer& gateway) const { return view().is_gateway(gateway); }

 private:
  template <class T>
  struct Retired {
    std::unique_ptr<T> object;
    Qsbr::Grace grace = 0;
  };
  struct RouteOutside {
    RouteSetup setup;
    bool alive = true;
    RouteHistory history;
  };

  void publish();
  void retire(std::unique_ptr<Route> route);
  void refer(PeerRecord& gateway);
  void release_gateway(PeerRecord& gateway);
  // The routes of the table through this gateway; PeerRecord::gateway_refs has the same number.
  [[nodiscard]] std::size_t count_through(const PeerRecord& gateway) const;
  // step() adds those that no better route stands before any more.
  void look_at_shadowed();
  template <class Predicate>
  std::size_t remove_if(Predicate&& wanted);
  template <class Predicate>
  std::size_t forget(Predicate&& wanted);
  template <class Predicate>
  void lead_through(PeerRecord& from, PeerRecord& to, Predicate&& goes);

  PeerDirectory& directory_;
  Qsbr& qsbr_;
  RoutesObserver& observer_;
  RouteTable table_;
  std::unique_ptr<const RouteView> current_ = std::make_unique<const RouteView>();
  std::vector<Retired<const RouteView>> old_views_;
  std::vector<Retired<Route>> old_routes_;
  std::vector<RouteOutside> without_gateway_;  // their gateway was removed; to be added anew
  std::vector<RouteOutside> shadowed_;  // a better one leads to the same net through the same node
  Instant next_try_{};
};

}  // namespace plnet::lnet
