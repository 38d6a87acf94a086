// SPDX-License-Identifier: BSD-3-Clause
// Which way a message would take now, and for each alternative why not: what `lnetctl route
// explain` tells. Plain values, made by the selection that messages use.
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

// A NID of ours as source: a message of ours. Any other: one that this node forwards. Any: one of
// ours that may leave by whichever NI is the best.
struct PathQuestion {
  Nid source = Nid::any();
  Nid destination;
};

// What the rules of access say of it.
struct PathDenial {
  std::size_t rule = 0;
  NetId from = kNetAny;  // if it comes in by this network of ours; any: by whichever it comes
};

// Nobody may send it so: the connection is closed, too.
struct PathRejection {
  Cause cause = Cause::kRejectedNotDirect;
  NetId from = kNetAny;  // as in a denial
};

// Something that was looked at and not taken.
struct PathAlternative {
  std::string kind;  // "NI", "peer NI", "network", "route"
  std::string name;
  std::string why;
  std::optional<std::string> instead;  // what it lost to, which may have lost later itself
};

struct PathStep {
  Nid ni;
  Nid next_hop;
  Nid destination;                  // whom the header names
  std::optional<RouteSetup> route;  // that leads there, if one does
  bool loopback = false;
  // Where the next hop is at home. Absent: no message has gone there yet, and it has no place.
  struct Place {
    std::uint16_t cpt = 0;
    ShardId shard = 0;
    ShardId lane_shard = 0;  // which has its connections through the NI
    std::int32_t tx_credits = 0;
    std::int32_t tx_credits_max = 0;
    std::uint64_t queued_bytes = 0;
  };
  std::optional<Place> place;
  std::int32_t ni_tx_credits = 0;
  // What is forwarded is dropped then.
  bool hop_down = false;
  bool hop_stalled = false;              // it takes nothing of what this shard has for it
  std::optional<Errc> hop_trouble{};     // it cannot be connected
  std::optional<Duration> hop_silent{};  // then: since it was last heard, if ever
  std::string hop_trouble_text{};        // the same for people
};

struct PathReport {
  PathQuestion question;
  bool forwarded = false;
  bool known = true;                    // the destination is a peer already
  bool routing = true;                  // forwarded: and this node does that
  std::vector<PathRejection> rejected;  // forwarded: before anything else is looked at
  std::vector<PathDenial> denied;       // forwarded: by rules of access
  Result<PathStep> step = std::unexpected(Errc::kNoRoute);
  std::vector<PathAlternative> alternatives;
  // forwarded: an ACK or REPLY goes this way instead, since its NID stays as it is.
  std::optional<PathStep> of_answers;

  // However it comes in.
  [[nodiscard]] bool is_rejected() const {
    return !rejected.empty() && rejected.front().from == kNetAny;
  }
  [[nodiscard]] bool is_reachable() const {
    return step.has_value() && !is_rejected() && !step->hop_trouble;
  }
};

// What keeps a route down. The coordinator knows.
struct RouteTrouble {
  RouteSetup route;
  RouteCause cause = RouteCause::kNone;  // kNone: nobody has judged it yet
  std::uint32_t answers_wanted = 0;      // to checks, before it is used again: it flapped
};
// By number of the route; of one that is up it has nothing.
using RouteTroubles = std::vector<RouteTrouble>;
// On the coordinator's shard.
[[nodiscard]] RouteTroubles troubles_of(const RouteView& routes);

// What a shard sees.
struct PathViews {
  const LocalView& local;
  const RouteView& routes;
  const PathSequences& sequences;
  const Parameters& parameters;
  unsigned shards = 1;
  Instant now{};
  const AccessView* access = nullptr;  // null: no rules
  const PeerNi* from = nullptr;        // the source, if it is known
  // Where a message's memory is that this shard sends, and how far that is from others.
  std::uint16_t cpt = 0;
  const CptDistances* distances = nullptr;  // null: all is equally near
  const PeerPorts* peers = nullptr;         // null: nothing is known of next hops
  // What the coordinator has told beforehand: a moment ago, on another shard.
  const RouteTroubles* troubles = nullptr;  // null: nothing
  const PeerWelcome* welcome = nullptr;     // of a destination that is no peer yet
};

// Who brings what comes from there, so that the shard that is its home chooses: the source, if it
// is a peer (`known`), else one of the gateways that lead back to it, the first that is up. Null:
// nobody that this node knows.
[[nodiscard]] const PeerNi* bringer_of(const Nid& source, const PeerNi* known,
                                       const RouteView& routes);

// On the shard whose `sequences` they are. `known`: the destination's, null if there is none yet.
// Changes nothing.
[[nodiscard]] PathReport report_path(const PathQuestion& question, PeerNi* known,
                                     const PathViews& views);

}  // namespace plnet::lnet
