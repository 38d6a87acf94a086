// SPDX-License-Identifier: BSD-3-Clause
// Rules for a message whose source is not the peer NI that sent it: the message came through a
// gateway, or from another NI of the same peer.
#pragma once

#include <optional>

#include "lib/lnet/move/shard_core.hpp"

namespace plnet::lnet {

class SourceRules {
 public:
  explicit SourceRules(ShardCore& core) : core_(core) {}

  // Returns the cause of a drop, if a rule refuses the message. `source`: the one in its header,
  // which is not the NID of receive.peer.
  [[nodiscard]] std::optional<Cause> refuse(const Receive& receive, const Nid& source) const;

 private:
  [[nodiscard]] bool arrived_on_healthy_route(const Receive& receive) const;
  [[nodiscard]] bool has_route_through(const Peer* gateway, NetId net) const;
  void revive(Peer& gateway, NetId net) const;

  ShardCore& core_;
};

}  // namespace plnet::lnet
