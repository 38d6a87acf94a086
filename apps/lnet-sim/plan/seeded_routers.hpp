// SPDX-License-Identifier: BSD-3-Clause
// Makes a site whose nodes are on different networks out of one where all are alike: two or three
// networks in a row, routers between each and the next, and nodes that talk across. From the seed.
#pragma once

#include "apps/lnet-sim/plan/site_config.hpp"
#include "lib/base/random.hpp"

namespace plnet::sim {

void put_routers_into(SiteConfig& site, Random& random);
// The kind of a network in a site made from a seed: TCP twice as often as RDMA.
[[nodiscard]] NetKind drawn_kind(Random& random);

}  // namespace plnet::sim
