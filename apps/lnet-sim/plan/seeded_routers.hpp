// SPDX-License-Identifier: BSD-3-Clause
// Converts a site of equal nodes to one with nodes on different networks: two or three networks in
// a row, routers between each and the next, and nodes that talk across them. Drawn from the seed.
#pragma once

#include "apps/lnet-sim/plan/site_config.hpp"
#include "lib/base/random.hpp"

namespace plnet::sim {

void put_routers_into(SiteConfig& site, Random& random);
// The kind of a network in a site made from a seed: TCP twice as often as RDMA.
[[nodiscard]] NetKind drawn_kind(Random& random);

}  // namespace plnet::sim
