// SPDX-License-Identifier: BSD-3-Clause
// The access rules of a node, for the kfi LND of one of its interfaces on one shard.
#pragma once

#include "lib/kfilnd/peer_gate.hpp"
#include "lib/lnet/node/introductions.hpp"
#include "lib/lnet/node/node.hpp"

namespace plnet::kfilnd {

class NodeGate final : public PeerGate {
 public:
  // The node outlives it, the interface is not removed from the shard before.
  NodeGate(const lnet::Node& node, lnet::ShardId shard, const lnet::Ni& ni)
      : node_(node), shard_(shard), ni_(ni) {}

  [[nodiscard]] bool admits(const lnet::Nid& peer) override {
    return lnet::admits_owner(node_.shared(), shard_, {peer, ni_.nid});
  }

 private:
  const lnet::Node& node_;
  const lnet::ShardId shard_;
  const lnet::Ni& ni_;
};

}  // namespace plnet::kfilnd
