// SPDX-License-Identifier: BSD-3-Clause
// The states of a node's NIs, routes, routing and peers at one moment.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "lib/lnet/node/node_report.hpp"

namespace plnet::node {

struct PeerStates {
  std::uint64_t peers = 0;
  // Peer NIs.
  std::uint64_t up = 0;
  std::uint64_t down = 0;
  std::uint64_t unknown = 0;  // this node does not ask them

  void add(lnet::Aliveness state) {
    if (state == lnet::Aliveness::kUp) ++up;
    if (state == lnet::Aliveness::kDown) ++down;
    if (state == lnet::Aliveness::kUnknown) ++unknown;
  }
  [[nodiscard]] std::uint64_t nis() const { return up + down + unknown; }

  bool operator==(const PeerStates&) const = default;
};

// Tx credits: each is a message that may be sent at once.
struct CreditStates {
  std::uint64_t all = 0;
  std::uint64_t free = 0;
  std::uint64_t waiting = 0;  // messages

  // Below zero: messages wait.
  void add(std::int32_t most, std::int32_t credits) {
    all += static_cast<std::uint64_t>(std::max(most, 0));
    free += static_cast<std::uint64_t>(std::max(credits, 0));
    waiting += credits < 0 ? static_cast<std::uint64_t>(-std::int64_t{credits}) : 0;
  }

  bool operator==(const CreditStates&) const = default;
};

struct NodeStates {
  struct OfNi {
    lnet::Nid nid;
    std::string interface;  // "": none
    bool up = false;
    CreditStates credits{};

    bool operator==(const OfNi&) const = default;
  };
  // All peer NIs of a network of this node.
  struct OfNet {
    lnet::NetId net = 0;
    CreditStates credits{};
    std::uint64_t without_credit = 0;  // peer NIs

    bool operator==(const OfNet&) const = default;
  };
  struct OfRoute {
    lnet::NetId net = 0;
    lnet::Nid gateway;
    bool up = false;

    bool operator==(const OfRoute&) const = default;
  };
  bool lnet_up = true;
  std::vector<OfNi> nis;  // without lo
  std::vector<OfNet> nets;
  std::vector<OfRoute> routes;
  lnet::RoutingState routing = lnet::RoutingState::kDisabled;
  bool draining = false;
  PeerStates peers;

  bool operator==(const NodeStates&) const = default;
};

}  // namespace plnet::node
