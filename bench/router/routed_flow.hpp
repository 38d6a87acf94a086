// SPDX-License-Identifier: BSD-3-Clause
// Our router on the system's TCP, and the ends of flows through it: a client on one of its networks
// and a server on the other. They are sockets that have only completed the HELLO exchange.
#pragma once

#include <cstdint>
#include <memory>

#include "bench/router/flow.hpp"
#include "bench/tcp/node.hpp"
#include "node/net/tcp/settings.hpp"

namespace plnet::bench {

// The default of a router's configuration.
inline const std::uint32_t kRelayBytesMin = node::TcpSettings{}.relay_bytes_min;

struct RoutedFlow {
  // Both ends are connected to the router when it returns; ends.valid() is false after a failure.
  RoutedFlow() : RoutedFlow(kRelayBytesMin) {}
  // Payloads of at least this size go from socket to socket; 0: none.
  explicit RoutedFlow(std::uint32_t relay_bytes_min);
  // To a node at `to` that the caller provides: on another network of the router, or on its second
  // one. With kfi's credits on both, so that both have as much under way.
  RoutedFlow(const OtherNet& other, const lnet::Nid& to);
  explicit RoutedFlow(const lnet::Nid& to);
  // The ends of another flow, between a client and a server of its own.
  [[nodiscard]] FlowEnds connect();

  runtime::TscClock clock;
  std::unique_ptr<TcpNode> router;
  FlowEnds ends;

 private:
  void connect_to(const lnet::Nid& to);
  [[nodiscard]] bool start_router(std::uint16_t nets, const OtherNet* other,
                                  std::int32_t peer_credits, std::uint32_t relay_bytes_min = 0);
  // One connection of `address`, for large messages; `type` as seen by the dialling side.
  [[nodiscard]] drivers::TcpSocket dial(std::uint32_t address, std::uint16_t net,
                                        socklnd::ConnectionType type);
  [[nodiscard]] bool introduce(const drivers::TcpSocket& socket, const lnet::Nid& self,
                               const lnet::Nid& router_nid, socklnd::ConnectionType type);

  std::uint32_t flows_ = 0;
};

}  // namespace plnet::bench
