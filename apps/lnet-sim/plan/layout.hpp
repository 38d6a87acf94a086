// SPDX-License-Identifier: BSD-3-Clause
// The structure of a site: the group and the networks of each node, its partners, and the gateways
// to them. A site without groups is one group on all networks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "apps/lnet-sim/plan/site_config.hpp"
#include "lib/base/random.hpp"
#include "lib/lnet/names/nid.hpp"

namespace plnet::sim {

class Layout {
 public:
  explicit Layout(const SiteConfig& config);

  [[nodiscard]] const GroupPlan& group_of(std::uint32_t node) const {
    return groups_[group_numbers_[node]];
  }
  [[nodiscard]] unsigned shards_of(std::uint32_t node) const;
  [[nodiscard]] unsigned shards_max() const;
  [[nodiscard]] bool has_routers() const { return has_routers_; }
  [[nodiscard]] std::vector<std::uint32_t> nodes_of(unsigned group) const;
  [[nodiscard]] std::vector<std::uint32_t> routers() const;

  [[nodiscard]] lnet::Nid nid(unsigned net, unsigned interface, std::uint32_t node) const;
  [[nodiscard]] lnet::NetId net_id(unsigned net) const { return nid(net, 0, 0).net(); }
  [[nodiscard]] static std::uint32_t node_of(const lnet::Nid& nid) {
    return (nid.address32() & 0xffff) - 1;
  }
  [[nodiscard]] bool is_on(std::uint32_t node, lnet::NetId net) const;
  // The node is on the network or has a route to it.
  [[nodiscard]] bool has_way(std::uint32_t node, lnet::NetId net) const;
  // The initial routes of the node: one for each gateway and network.
  [[nodiscard]] std::vector<lnet::RouteSetup> routes_of(std::uint32_t node) const;

  // The target of the node's next operation; the node itself: none.
  [[nodiscard]] std::uint32_t partner(std::uint32_t node, Random& random) const;
  // All possible targets.
  [[nodiscard]] std::vector<std::uint32_t> partners(std::uint32_t node) const;
  [[nodiscard]] bool begins_anything(std::uint32_t node) const;
  // A random neighbour (see are_neighbours()); the node itself: none found.
  [[nodiscard]] std::uint32_t neighbour(std::uint32_t node, Random& random) const;
  // The two nodes exchange messages directly.
  [[nodiscard]] bool are_neighbours(std::uint32_t a, std::uint32_t b) const;
  // Interfaces of other nodes that it may ever know.
  [[nodiscard]] std::size_t peer_nis(std::uint32_t node) const;
  // The peer NIs on this network.
  [[nodiscard]] std::size_t peer_nis(std::uint32_t node, unsigned net) const;

 private:
  [[nodiscard]] bool share_a_net(const GroupPlan& a, const GroupPlan& b) const;
  [[nodiscard]] bool are_near(unsigned a, unsigned b) const;  // groups
  [[nodiscard]] bool deals_with(unsigned a, unsigned b) const;
  [[nodiscard]] std::size_t nids_of(const GroupPlan& group) const;
  template <class NidsOf>
  [[nodiscard]] std::size_t count_peers(std::uint32_t node, NidsOf&& nids_of) const;

  const SiteConfig& config_;
  std::vector<GroupPlan> groups_;
  std::vector<std::uint32_t> firsts_;         // first node of each group
  std::vector<std::uint32_t> group_numbers_;  // indexed by node
  bool has_routers_ = false;
};

}  // namespace plnet::sim
