// SPDX-License-Identifier: BSD-3-Clause
// A node with its NIs, peers and routes, as the coordinator publishes them.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "lib/lnet/paths/path_selection.hpp"
#include "lib/lnet/paths/preferences.hpp"

namespace plnet::lnet {

inline constexpr NetId kTcp0 = make_net(NetType::kTcp, 0);
inline constexpr NetId kTcp1 = make_net(NetType::kTcp, 1);
inline constexpr NetId kIb0 = make_net(NetType::kO2ib, 0);
inline constexpr NetId kIb1 = make_net(NetType::kO2ib, 1);
inline constexpr NetId kKfi0 = make_net(NetType::kKfi, 0);

inline Nid nid_on(NetId net, std::uint32_t address) {
  return Nid::of(type_of_net(net), number_of_net(net), address);
}

struct SitePeer {
  Peer peer;
  PeerView view;
  std::vector<PeerNetView> nets;
  std::vector<PeerNi*> nis;

  PeerNi& ni(std::size_t index = 0) { return *nis[index]; }
};

class PathSite {
 public:
  PathSite() {
    loopback_.nid = nid_on(make_net(NetType::kLoopback), 0);
    loopback_.net = loopback_.nid.net();
    local.loopback = &loopback_;
  }
  PathSite(const PathSite&) = delete;
  PathSite& operator=(const PathSite&) = delete;

  void add_net(NetId id, std::size_t nis, std::int32_t credits = 100) {
    auto& group = groups_.emplace_back();
    for (std::size_t i = 0; i < nis; ++i) {
      Ni& ni = nis_.emplace_back();
      ni.net = id;
      ni.number = static_cast<std::uint16_t>(nis_.size());  // the loopback has 0
      ni.nid = nid_on(id, 0x0a000001 + ni.number);
      ni.tx_credits = credits_.emplace_back().data();
      ni.shards[0] = ni.shards[5] = true;
      set_credits(ni, credits);
      group.push_back(&ni);
      local.nis.push_back(&ni);
    }
    auto& priority = priorities_.emplace_back(kPriorityLowest);
    local.nets.push_back({.id = id,
                          .number = static_cast<std::uint16_t>(local.nets.size()),
                          .nis = group,
                          .priority = &priority});
  }
  // Spreads the credits over its shards.
  static void set_credits(Ni& ni, std::int32_t credits) {
    ni.tx_credits[0].tx_credits.set(credits / 2);
    ni.tx_credits[5].tx_credits.set(credits - credits / 2);
  }

  SitePeer& add_peer(bool multi_rail, const std::vector<std::pair<NetId, std::size_t>>& nets) {
    SitePeer& added = peers_.emplace_back();
    added.peer.number = static_cast<std::uint32_t>(peers_.size() - 1);
    added.peer.set_state((multi_rail ? kPeerMultiRail : 0U) | kPeerRouterEnabled);
    for (const auto& [net, count] : nets) {
      added.nets.push_back({.net = net,
                            .number = peer_nets_++,
                            .first = static_cast<std::uint16_t>(added.nis.size()),
                            .count = static_cast<std::uint16_t>(count)});
      for (std::size_t i = 0; i < count; ++i) {
        PeerNi& ni = peer_nis_.emplace_back();
        ni.number = static_cast<std::uint32_t>(peer_nis_.size() - 1);
        ni.net = net;
        const bool is_loopback = type_of_net(net) == static_cast<std::uint8_t>(NetType::kLoopback);
        ni.nid = nid_on(net, is_loopback ? 0 : 0x0a010000 + ni.number);
        ni.tx_credits.set(8);
        ni.peer.store(&added.peer);
        added.nis.push_back(&ni);
      }
    }
    added.view = {.primary = added.nis.front()->nid, .nets = added.nets, .nis = added.nis};
    added.peer.publish(added.view);
    return added;
  }

  Route& add_route(NetId net, SitePeer& gateway, std::uint32_t priority = 0,
                   std::uint32_t hops = kRouteHopsUndefined) {
    auto& route = *route_list_.emplace_back(std::make_unique<Route>());
    route.spec = {.net = net, .gateway = gateway.ni().nid, .hops = hops, .priority = priority};
    route.number = static_cast<std::uint32_t>(route_list_.size() - 1);
    route.gateway.store(&gateway.peer);
    routes = RouteView(route_list_);
    return route;
  }

  void prefer(PeerNi& peer_ni, std::vector<Nid> local_nids, std::vector<Nid> routers) {
    peer_ni.preferences.store(
        &preferences_.emplace_back(std::move(local_nids), std::move(routers)));
  }

  Result<Path> select(const PathRequest& request) {
    return select_path(request, local, routes, sequences, parameters);
  }
  Result<Path> select(PeerNi& destination) { return select({.destination = &destination}); }

  Ni& ni(std::size_t index) { return *local.nis[index]; }
  std::span<const std::unique_ptr<Route>> route_list() const { return route_list_; }

  LocalView local;
  RouteView routes;
  PathSequences sequences{{.peer_nets = 200, .peer_nis = 600}};
  Parameters parameters;

 private:
  Ni loopback_;
  std::deque<Ni> nis_;
  std::deque<std::vector<Ni*>> groups_;
  std::deque<std::array<Ni::CreditView, kShardsMax>> credits_;
  std::deque<Relaxed<std::uint32_t>> priorities_;
  std::deque<SitePeer> peers_;
  std::deque<PeerNi> peer_nis_;
  std::uint32_t peer_nets_ = 0;
  std::vector<std::unique_ptr<Route>> route_list_;
  std::deque<Preferences> preferences_;
};

}  // namespace plnet::lnet
