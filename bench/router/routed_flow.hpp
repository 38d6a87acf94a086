// SPDX-License-Identifier: BSD-3-Clause
// A router of ours on the system's TCP, and the ends of flows through it: a client on one of its
// networks and a server on the other. They are sockets that have introduced themselves and no more.
#pragma once

#include <cstdint>
#include <memory>

#include "bench/router/flow.hpp"
#include "bench/tcp/node.hpp"
#include "node/net/tcp/settings.hpp"

namespace plnet::bench {

// What a router does whose configuration does not say otherwise.
inline const std::uint32_t kRelayBytesMin = node::TcpSettings{}.relay_bytes_min;

struct RoutedFlow {
  // Both ends have met the router when it returns; ends.valid() says whether that worked.
  RoutedFlow() : RoutedFlow(kRelayBytesMin) {}
  // Payloads of so many bytes go from socket to socket; 0: none do.
  explicit RoutedFlow(std::uint32_t relay_bytes_min);
  // To a node at `to`, in other hands: on another network of the router's, or on its second one.
  // With kfi's credits on either, so that both have as much under way.
  RoutedFlow(const OtherNet& other, const lnet::Nid& to);
  explicit RoutedFlow(const lnet::Nid& to);
  // Those of one more flow, between a client and a server of its own.
  [[nodiscard]] FlowEnds connect();

  runtime::TscClock clock;
  std::unique_ptr<TcpNode> router;
  FlowEnds ends;

 private:
  void connect_to(const lnet::Nid& to);
  [[nodiscard]] bool start_router(std::uint16_t nets, const OtherNet* other,
                                  std::int32_t peer_credits, std::uint32_t relay_bytes_min = 0);
  // One connection of `address`, for what is large; `type` as the one who dials sees it.
  [[nodiscard]] drivers::TcpSocket dial(std::uint32_t address, std::uint16_t net,
                                        socklnd::ConnectionType type);
  [[nodiscard]] bool introduce(const drivers::TcpSocket& socket, const lnet::Nid& self,
                               const lnet::Nid& router_nid, socklnd::ConnectionType type);

  std::uint32_t flows_ = 0;
};

}  // namespace plnet::bench
