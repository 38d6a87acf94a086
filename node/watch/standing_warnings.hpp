// SPDX-License-Identifier: BSD-3-Clause
// LNet's warnings of `lnetctl status`: NIs and routes that are down, and changes of routing. A
// shard that does not answer is a warning itself.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/lnet/node/lnet_control.hpp"
#include "lib/runtime/admin/event_loop.hpp"
#include "lib/runtime/control/protocol.hpp"

namespace plnet::node {

// An entry of the list.
[[nodiscard]] runtime::Json warning(std::string what, std::string why, std::string fix,
                                    std::string_view severity = "warning");

[[nodiscard]] runtime::Json warnings_of_nis(const std::vector<lnet::NetReport>& nets);
[[nodiscard]] runtime::Json warnings_of_routes(const std::vector<lnet::RouteReport>& routes);
[[nodiscard]] runtime::Json warnings_of_routing(const lnet::RoutingReport& routing);

// Replies with all warnings as a list, in bounded time. `lnet` and `loop` outlive the reply.
void ask_standing(lnet::LnetControl& lnet, runtime::EventLoop& loop,
                  std::move_only_function<void(runtime::Json warnings)> reply);

}  // namespace plnet::node
