// SPDX-License-Identifier: BSD-3-Clause
// The path that a message would take now, with the reason against each alternative, for `lnetctl
// route explain`. Plain values, made by the selection code of messages.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/lnet/access/access_table.hpp"
#include "lib/lnet/move/statistics.hpp"
#include "lib/lnet/names/nid.hpp"
#include "lib/lnet/paths/path_selection.hpp"

namespace plnet::lnet {

class PeerPorts;
struct PeerWelcome;  // control/selection_policies.hpp

// A NID of this node as source: a message of this node. Any other: a forwarded message. Any: a
// message of this node that may leave by any NI.
struct PathQuestion {
  Nid source = Nid::any();
  Nid destination;
};

// The decision of an access rule.
struct PathDenial {
  std::size_t rule = 0;
  NetId from = kNetAny;  // for messages that arrive by this network of ours; any: by any network
};

// A message that violates the protocol here: its connection is closed, too.
struct PathRejection {
  Cause cause = Cause::kRejectedNotDirect;
  NetId from = kNetAny;  // as in a denial
};

// An alternative that was not taken.
struct PathAlternative {
  std::string kind;  // "NI", "peer NI", "network", "route"
  std::string name;
  std::string why;
  std::optional<std::string> instead;  // the one that it lost to, which may itself have lost later
};

struct PathStep {
  Nid ni;
  Nid next_hop;
  Nid destination;                  // the NID in the header
  std::optional<RouteSetup> route;  // the route that leads there, if there is one
  bool loopback = false;
  // The home of the next hop. Absent: no message has gone there, and it has no home yet.
  struct Place {
    std::uint16_t cpt = 0;
    ShardId shard = 0;
    ShardId lane_shard = 0;  // the shard with its connections through the NI
    std::int32_t tx_credits = 0;
    std::int32_t tx_credits_max = 0;
    std::uint64_t queued_bytes = 0;
  };
  std::optional<Place> place;
  std::int32_t ni_tx_credits = 0;
  // The next hop is down: a forwarded message is dropped.
  bool hop_down = false;
  bool hop_stalled = false;              // it takes none of the messages that this shard has for it
  std::optional<Errc> hop_trouble{};     // it cannot be connected
  std::optional<Duration> hop_silent{};  // then: time since its last message, if any
  std::string hop_trouble_text{};        // the same in words
};

struct PathReport {
  PathQuestion question;
  bool forwarded = false;
  bool known = true;                    // the destination is a known peer
  bool routing = true;                  // a forwarded message, and this node routes
  std::vector<PathRejection> rejected;  // forwarded: before all other checks
  std::vector<PathDenial> denied;       // forwarded: by rules of access
  bool is_denied = false;               // forwarded: by whichever network of ours it comes in
  Result<PathStep> step = std::unexpected(Errc::kNoRoute);
  std::vector<PathAlternative> alternatives;
  // A message of this node by a gateway: requests to the destination without an answer, in the last
  // minute; 0 if it has answered since.
  std::uint64_t unanswered = 0;
  // forwarded: the path of an ACK or REPLY, whose NID stays.
  std::optional<PathStep> of_answers;

  // By any network.
  [[nodiscard]] bool is_rejected() const {
    return !rejected.empty() && rejected.front().from == kNetAny;
  }
  // By a gateway, behind which this node sees nothing but answers.
  [[nodiscard]] bool is_routed() const { return !forwarded && step && step->route.has_value(); }
  // Messages arrive at the next hop of `way`, this report's `step` or `of_answers`.
  [[nodiscard]] bool passes(const PathStep& way) const {
    if (is_rejected() || way.hop_trouble) return false;
    if (!forwarded || way.loopback) return true;
    return routing && !is_denied && !way.hop_down && !way.hop_stalled;
  }
  // Requests; answers take `of_answers` if there is one.
  [[nodiscard]] bool is_reachable() const {
    return step.has_value() && passes(*step) && !(is_routed() && unanswered > 0);
  }
};

// The cause that keeps a route down, from the coordinator.
struct RouteTrouble {
  RouteSetup route;
  RouteCause cause = RouteCause::kNone;  // kNone: not judged yet
  std::uint32_t answers_wanted = 0;  // checks to answer before it is used again after it flapped
};
// By number of the route; a route that is up has no entry.
using RouteTroubles = std::vector<RouteTrouble>;
// On the coordinator's shard.
[[nodiscard]] RouteTroubles troubles_of(const RouteView& routes);

// The views of one shard.
struct PathViews {
  const LocalView& local;
  const RouteView& routes;
  const PathSequences& sequences;
  const Parameters& parameters;
  unsigned shards = 1;
  Instant now{};
  const AccessView* access = nullptr;  // null: no rules
  const PeerNi* from = nullptr;        // the source, if it is a known peer
  // The CPT of the memory of the shard's messages, and its distances to others.
  std::uint16_t cpt = 0;
  const CptDistances* distances = nullptr;  // null: all distances are equal
  const PeerPorts* peers = nullptr;         // null: next hops are not known
  // The data of the coordinator, fetched before on another shard.
  const RouteTroubles* troubles = nullptr;  // null: nothing
  const PeerWelcome* welcome = nullptr;     // values for a destination that is no peer yet
};

// The peer NI that brings messages of `source`, whose home shard chooses the path: the source, if
// it is a peer (`known`), else the first gateway back to it that is up. Null: none is known.
[[nodiscard]] const PeerNi* bringer_of(const Nid& source, const PeerNi* known,
                                       const RouteView& routes);

// On the shard of `sequences`. `known`: the peer NI of the destination; null: none. Changes
// nothing.
[[nodiscard]] PathReport report_path(const PathQuestion& question, PeerNi* known,
                                     const PathViews& views);

}  // namespace plnet::lnet
