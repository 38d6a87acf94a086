// SPDX-License-Identifier: BSD-3-Clause
// The states of a node's NIs, routes, routing and peers at one moment.
#pragma once

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

struct NodeStates {
  struct OfNi {
    lnet::Nid nid;
    std::string interface;  // "": none
    bool up = false;

    bool operator==(const OfNi&) const = default;
  };
  struct OfRoute {
    lnet::NetId net = 0;
    lnet::Nid gateway;
    bool up = false;

    bool operator==(const OfRoute&) const = default;
  };
  bool lnet_up = true;
  std::vector<OfNi> nis;  // without lo
  std::vector<OfRoute> routes;
  lnet::RoutingState routing = lnet::RoutingState::kDisabled;
  bool draining = false;
  PeerStates peers;

  bool operator==(const NodeStates&) const = default;
};

}  // namespace plnet::node
