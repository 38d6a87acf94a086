// SPDX-License-Identifier: BSD-3-Clause
// What `lnetctl status` warns of in LNet: NIs and routes that are down, routing that comes or goes.
// The shards are asked for it; one that does not answer is a warning itself.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/lnet/node/lnet_control.hpp"
#include "lib/runtime/admin/event_loop.hpp"
#include "lib/runtime/control/protocol.hpp"

namespace plnet::node {

// A line of the list.
[[nodiscard]] runtime::Json warning(std::string what, std::string why, std::string fix,
                                    std::string_view severity = "warning");

[[nodiscard]] runtime::Json warnings_of_nis(const std::vector<lnet::NetReport>& nets);
[[nodiscard]] runtime::Json warnings_of_routes(const std::vector<lnet::RouteReport>& routes);
[[nodiscard]] runtime::Json warnings_of_routing(const lnet::RoutingReport& routing);

// All of them, a list; soon, whatever the shards do. Both outlive the answer.
void ask_standing(lnet::LnetControl& lnet, runtime::EventLoop& loop,
                  std::move_only_function<void(runtime::Json warnings)> reply);

}  // namespace plnet::node
