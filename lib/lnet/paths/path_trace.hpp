// SPDX-License-Identifier: BSD-3-Clause
// The reasons of a path selection, for reports that explain it. Messages are routed by the same
// code with a trace that compiles to nothing.
#pragma once

#include <cstdint>
#include <string_view>

#include "lib/lnet/paths/route_table.hpp"
#include "lib/lnet/peers/net_interface.hpp"
#include "lib/lnet/peers/peer.hpp"

namespace plnet::lnet {

// The criterion by which one of two alternatives won: name, words.
#define PLNET_PATH_CRITERIA(X)                                 \
  X(kFatal, "its device has failed")                           \
  X(kHealth, "lower health")                                   \
  X(kPriority, "lower selection priority")                     \
  X(kLocalNetHealth, "lower health of our interfaces")         \
  X(kLocalNetPriority, "lower selection priority of our net")  \
  X(kDevicePriority, "its device is farther from the memory")  \
  X(kDistance, "farther from the CPT of the memory")           \
  X(kPreferred, "not on the preferred list")                   \
  X(kRoutePriority, "lower route priority")                    \
  X(kHops, "more hops")                                        \
  X(kGatewayHealth, "lower health of the gateway's interface") \
  X(kQueuedBytes, "more bytes queued for the gateway")         \
  X(kCredits, "fewer credits")                                 \
  X(kSequence, "used more recently")                           \
  X(kLocalNetSequence, "our net used more recently")           \
  X(kOrder, "equal, and listed less favourably")

// The reason why an object was no alternative.
#define PLNET_PATH_EXCLUSIONS(X)                   \
  X(kNotLocal, "no interface of ours on this net") \
  X(kNoRoutes, "no routes to this net")            \
  X(kRouteDown, "the route is down")               \
  X(kGatewayNotOnNet, "the gateway has no interface on our net")

enum class Criterion : std::uint8_t {
#define PLNET_X(name, text) name,
  PLNET_PATH_CRITERIA(PLNET_X)
#undef PLNET_X
};
enum class Exclusion : std::uint8_t {
#define PLNET_X(name, text) name,
  PLNET_PATH_EXCLUSIONS(PLNET_X)
#undef PLNET_X
};
[[nodiscard]] std::string_view text_of(Criterion criterion);
[[nodiscard]] std::string_view text_of(Exclusion exclusion);

// Each alternative that is looked at and not taken is named exactly once in its contest. `winner`
// is the one that it lost to, which may itself lose later. A gateway's peer NIs compete once for
// each route through it.
class PathTrace {
 public:
  virtual ~PathTrace() = default;

  virtual void lost(const Ni& loser, const Ni& winner, Criterion by) = 0;
  virtual void lost(const PeerNi& loser, const PeerNi& winner, Criterion by) = 0;
  virtual void lost(const PeerNetView& loser, const PeerNetView& winner, Criterion by) = 0;
  virtual void lost(const Route& loser, const Route& winner, Criterion by) = 0;
  virtual void excluded(const PeerNetView& net, Exclusion why) = 0;
  virtual void excluded(const Route& route, Exclusion why) = 0;
};

}  // namespace plnet::lnet
