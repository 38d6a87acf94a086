// SPDX-License-Identifier: BSD-3-Clause
// The paths of forwarded messages: NI and next hop, chosen when the header has arrived and again
// when the path is lost. Access rules may forbid a path.
#pragma once

#include <optional>

#include "lib/lnet/move/receive.hpp"
#include "lib/lnet/move/statistics.hpp"

namespace plnet::lnet {

struct OnlyHop;
struct PeerNi;
struct ShardCore;

class ForwardPaths {
 public:
  explicit ForwardPaths(ShardCore& core) : core_(core) {}

  // Hot. Stores a path in receive.forwarding. `ahead`: the only gateway, if the lookahead has found
  // it. Returns the cause of a drop if there is no path.
  [[nodiscard]] std::optional<Cause> choose(Receive& receive, PeerNi& destination,
                                            const OnlyHop& ahead);
  // Hot. The stored path still exists.
  [[nodiscard]] bool has_path(const Receive& receive) const;
  // The next hop of the stored path is down.
  [[nodiscard]] static bool is_down(const Receive& receive);
  // The hop is down, and the message may use another gateway, NI of a gateway or NI of the
  // destination.
  [[nodiscard]] bool may_avoid(const PeerNi& hop, bool is_router,
                               const MessageHeader& header) const;
  // A peer with this one NID would be reachable. More is not known of a stranger.
  [[nodiscard]] bool leads_anywhere(NetId net) const;

 private:
  [[nodiscard]] bool select(Receive& receive, PeerNi& destination, const OnlyHop& ahead);
  [[nodiscard]] bool compare(Receive& receive, PeerNi& destination, bool any_nid);
  [[nodiscard]] bool may_use_any_nid(const MessageHeader& header) const;
  [[nodiscard]] bool is_forbidden(Receive& receive, PeerNi& destination);
  [[nodiscard]] bool is_forbidden_elsewhere(const Receive& receive) const;
  [[nodiscard]] bool leads_on(const Forwarding& path) const;

  ShardCore& core_;
};

}  // namespace plnet::lnet
