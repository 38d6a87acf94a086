// SPDX-License-Identifier: BSD-3-Clause
// LNet's state for `lnetctl status`: networks, routes, routing and rules, asked one after the other
// in bounded time.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "lib/lnet/node/lnet_control.hpp"
#include "lib/runtime/admin/event_loop.hpp"

namespace plnet::node {

struct LnetStanding {
  bool answered = true;       // false: a poller did not answer in time, and later parts are missing
  std::optional<Error> down;  // LNet does not run
  std::vector<lnet::NetReport> nets;
  std::vector<lnet::RouteReport> routes;
  std::optional<lnet::RoutingReport> routing;
  std::vector<lnet::AccessReport> access;
  std::vector<lnet::FaultReport> drop_rules;
  std::vector<lnet::FaultReport> delay_rules;
};

// `lnet` and `loop` outlive the reply.
void ask_standing(lnet::LnetControl& lnet, runtime::EventLoop& loop,
                  std::move_only_function<void(LnetStanding standing)> reply);

}  // namespace plnet::node
