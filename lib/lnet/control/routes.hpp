// SPDX-License-Identifier: BSD-3-Clause
// The routes of a running node: the coordinator adds and deletes them and publishes what every
// shard reads. A gateway is a peer that stays for as long as a route leads through it; when
// discovery finds that two gateways are one node, the routes of both lead through that. Control
// path: allocates. Checked against lustre-release lnet/lnet/router.c: lnet_add_route(),
// lnet_del_route(), lnet_rtr_transfer_to_peer(), lnet_consolidate_routes_locked();
// lnet/lnet/peer.c: lnet_peer_deletion().
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

// What the coordinator's other parts make of a change of the routes.
class RoutesObserver {
 public:
  virtual ~RoutesObserver() = default;
  // Every shard shall look at this one from now on.
  virtual void on_routes_published(const RouteView& view) = 0;
  virtual void on_route_added(Route& route) = 0;
  // The first route that goes through it, or the last that did.
  virtual void on_gateway_added(PeerRecord& gateway) = 0;
  virtual void on_gateway_removed(PeerRecord& gateway) = 0;
};

class Routes {
 public:
  Routes(PeerDirectory& directory, Qsbr& qsbr, RoutesObserver& observer, Random random)
      : directory_(directory), qsbr_(qsbr), observer_(observer), table_(random) {}

  // What RouteTable::check() says; kExists also when there is a route to this net through this
  // node; kNoSpace, kNoMemory: no more routes or peers; kAgain: room for the gateway is being made,
  // try again soon. `alive`: what is taken for true until the gateway was asked.
  [[nodiscard]] Result<Route*> add(const RouteSetup& setup, const LocalView& local, bool alive,
                                   Instant now);
  // The route that was added with this NID or, if none was, those to `net` through the node that
  // has it. kNotFound.
  [[nodiscard]] Result<void> remove(NetId net, const Nid& gateway);
  // All whose gateway was named by a NID on this network, which is ours no longer.
  void net_removed(NetId net);
  void remove_all();

  // PeerDirectoryHooks. References to peers have followed, or go with the peer.
  void gateway_moved(PeerRecord& from, PeerRecord& to);
  // `from` stays, and keeps the routes by those NIDs that it still has. References follow here.
  void nids_moved(PeerRecord& from, PeerRecord& to);
  // Its routes are added anew by step().
  void gateway_gone(PeerRecord& gateway);

  // Frees what nobody can look at, and adds what has lost its gateway. True: something was done.
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
  struct Orphan {
    RouteSetup setup;
    bool alive = true;
    RouteHistory history;
  };

  void publish();
  void retire(std::unique_ptr<Route> route);
  void refer(PeerRecord& gateway);
  void release_gateway(PeerRecord& gateway);
  // step() adds those that nothing stands before any more.
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
  std::vector<Orphan> orphans_;   // their gateway went; to be added anew
  std::vector<Orphan> shadowed_;  // a better one leads to the same net through the same node
  Instant next_try_{};
};

}  // namespace plnet::lnet
