// SPDX-License-Identifier: BSD-3-Clause
// LNet's warnings of `lnetctl status`: NIs and routes that are down, changes of routing, LNet that
// does not run, and a shard that does not answer.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/runtime/control/protocol.hpp"
#include "node/watch/lnet_standing.hpp"

namespace plnet::node {

// An entry of the list. `fix`: the command that looks closer or repairs it.
[[nodiscard]] runtime::Json warning(std::string what, std::string why, std::string fix,
                                    std::string_view severity = "warning");

[[nodiscard]] runtime::Json warnings_of_nis(const std::vector<lnet::NetReport>& nets);
[[nodiscard]] runtime::Json warnings_of_routes(const std::vector<lnet::RouteReport>& routes);
[[nodiscard]] runtime::Json warnings_of_routing(const lnet::RoutingReport& routing);
// All of these that hold, as a list.
[[nodiscard]] runtime::Json warnings_of(const LnetStanding& standing);

}  // namespace plnet::node
