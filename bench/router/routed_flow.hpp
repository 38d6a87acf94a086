// SPDX-License-Identifier: BSD-3-Clause
// A router of ours on the system's TCP, and the ends of a flow through it: a client on one of its
// networks and a server on the other. They are sockets that have introduced themselves and no more.
#pragma once

#include <memory>
#include <optional>

#include "bench/router/flow.hpp"
#include "bench/tcp/node.hpp"

namespace plnet::bench {

struct RoutedFlow {
  // Both ends have met the router when it returns; ends.valid() says whether that worked.
  RoutedFlow();

  runtime::TscClock clock;
  std::unique_ptr<TcpNode> router;
  FlowEnds ends;

 private:
  [[nodiscard]] bool start_router();
  // One connection, for what is large; `type` as the one who dials sees it.
  [[nodiscard]] drivers::TcpSocket dial(const lnet::Nid& self, const lnet::Nid& router_nid,
                                        socklnd::ConnectionType type);
  [[nodiscard]] bool introduce(const drivers::TcpSocket& socket, const lnet::Nid& self,
                               const lnet::Nid& router_nid, socklnd::ConnectionType type);
};

}  // namespace plnet::bench
