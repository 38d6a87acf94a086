// SPDX-License-Identifier: BSD-3-Clause
// The routes of an existing network: a route names a NID of a gateway, and the router with this NID
// is one of the files.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "apps/lnet-sim/adopt/node_facts.hpp"
#include "apps/lnet-sim/plan/site_config.hpp"

namespace plnet::sim {

// Adds the routes to the groups of the site, which are those of the nodes in the same order. NIDs
// of routers that no file knows are taken from the routes, where this is unambiguous.
void adopt_routes(std::vector<NodeFacts>& nodes, SiteConfig& site, std::vector<std::string>& notes);

}  // namespace plnet::sim
