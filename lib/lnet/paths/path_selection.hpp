// SPDX-License-Identifier: BSD-3-Clause
// The path of one message: which NI of ours it leaves from, which peer NI it goes to next, and
// which NID it names as its destination. One function over published views; what it reads may be
// stale, which makes a choice less good and never wrong.
// Checked against lustre-release 2.17 lnet/lnet/lib-move.c: lnet_select_pathway() and all that it
// calls.
#pragma once

#include <cstdint>
#include <span>

#include "lib/base/result.hpp"
#include "lib/lnet/api/parameters.hpp"
#include "lib/lnet/names/nid.hpp"
#include "lib/lnet/paths/cpt_distances.hpp"
#include "lib/lnet/paths/path_sequences.hpp"
#include "lib/lnet/paths/path_trace.hpp"
#include "lib/lnet/paths/route_table.hpp"
#include "lib/lnet/peers/net_interface.hpp"
#include "lib/lnet/peers/peer.hpp"

namespace plnet::lnet {

// By what its peer says of it, or by what came of sending there.
[[nodiscard]] inline bool lacks_health(const PeerNi& ni) {
  return ni.status.get() != kNiUp || ni.health.get() < kHealthMax;
}

// Its peer has others, which a message may be given to instead.
[[nodiscard]] inline bool has_others(const PeerNi& ni) {
  const unsigned traits = ni.traits.get();
  return (traits & kTraitMultiRail) != 0 && (traits & kTraitAlone) == 0;
}
// Whether who made a message takes an answer from another NID than it asked. A neighbour has told
// us so, if it does. Others we do not meet, and presume it of them unless they were asked. `known`:
// its peer NI, if there is one.
[[nodiscard]] inline bool accepts_any_nid(const Nid& source, const PeerNi* known,
                                          const LocalView& local) {
  const bool is_neighbour = local.net(source.net()) != nullptr;
  if (known == nullptr) return !is_neighbour;
  const Peer& peer = *known->peer.load(std::memory_order_acquire);
  return peer.multi_rail() || (!is_neighbour && !peer.is(kPeerDiscovered));
}

struct PathRequest {
  // The peer NI of the destination NID, discovered already if it has to be. Null: 0@lo.
  PeerNi* destination = nullptr;
  Nid source = Nid::any();  // must leave from this NID of ours; ACK and REPLY always say
  // ACK and REPLY: the peer NI that brought the request, when that was a router. If it is no
  // gateway (any more), another way is looked for and Path::hint_missed set.
  PeerNi* router = nullptr;

  bool forwarded = false;        // routed for somebody else: the source NID stays as it is
  bool accepts_any_nid = false;  // and so does who made it; asked only of what is for an ill NID
  bool response = false;         // ACK or REPLY
  bool recovery = false;         // to exactly this NID
  bool reserved_portal = false;  // PUT or GET on portal 0
  // The discovery ping of a router: the net of its that is being checked. 0: none.
  NetId check_net = 0;

  // Where the message's memory is.
  std::uint16_t memory_cpt = 0;
  const CptDistances* distances = nullptr;  // null: all is equally near
  // Memory of a device (a GPU): by number of NI, how near that NI's device is, lower is nearer.
  // Then NUMA range does not apply. Empty: ordinary memory.
  std::span<const std::uint32_t> device_priorities;
};

struct Path {
  Ni* ni = nullptr;
  PeerNi* next_hop = nullptr;     // null: loopback
  PeerNi* destination = nullptr;  // whose NID the header names; the next hop, if that is no router
  Route* route = nullptr;         // null: none needed, or the response goes back where it came from
  bool via_router = false;
  bool loopback = false;
  bool keeps_source = false;       // forwarded: the header's source NID is not ours to set
  bool hint_missed = false;        // the router that the response should go through is no gateway
  bool record_preference = false;  // this NI is now the destination's preferred one …
  const Ni* recorded = nullptr;    // … instead of this

  // Of the header, unless `keeps_source`.
  [[nodiscard]] const Nid& source_nid() const { return ni->nid; }
  [[nodiscard]] const Nid& destination_nid() const { return loopback ? ni->nid : destination->nid; }
  // Of the next hop, for the LND; the header's pids stay as they are.
  [[nodiscard]] std::uint32_t hop_pid(std::uint32_t target_pid) const {
    return via_router ? kLustrePid : target_pid;
  }
};

// Most messages: to a peer with one NI, on a net with one NI of ours. Every case that leads there
// chooses the same and nothing has to be compared, so who sends asks here before it makes a
// PathRequest: a message that names no source leaves by this NI and goes straight to `destination`.
// Null: not so simple, select_path() knows. `records`: a request of our own, which makes the NI
// the preferred one of a peer that is not multi-rail; one that has none yet is not simple.
//
// Cold cache lines, for one peer of many: the first of its PeerNi. The view of our nets and NIs
// (three lines) is warm. Nothing is written, unless the node has several NIs.
[[nodiscard]] inline Ni* only_way(const PeerNi& destination, bool records, const LocalView& local,
                                  PathSequences& sequences) {
  const Net* const net = local.net(destination.net);
  if (net == nullptr || net->nis.size() != 1) return nullptr;
  const unsigned traits = destination.traits.get();
  if ((traits & kTraitAlone) == 0) return nullptr;
  const bool multi_rail = (traits & kTraitMultiRail) != 0;
  if (records && !multi_rail && destination.preferred_ni.get() == nullptr) return nullptr;
  Ni* const ni = net->nis.front();
  if (local.nis.size() > 1) sequences.use(*net, *ni);
  return ni;
}

// The same for a message of somebody else's to a net that one gateway leads to: by its one NI, from
// our one NI on that net. Null `ni`: not so simple.
struct OnlyHop {
  Ni* ni = nullptr;
  PeerNi* next_hop = nullptr;
  const Net* net = nullptr;  // the NI's
};
// Without a trace: who then takes it says so. Each line that it reads leads to the next, eight of
// them; they are warm where few gateways are, but not near.
[[nodiscard]] inline OnlyHop find_only_gateway(const PeerNi& destination, const LocalView& local,
                                               const RouteView& routes) {
  const RemoteNet* const remote = routes.net(destination.net);
  if (remote == nullptr || remote->routes.size() != 1) return {};
  const Route& route = *remote->routes.front();
  const Peer& gateway = *route.gateway.load(std::memory_order_acquire);
  const unsigned traits = destination.traits.get();
  // Asked of the view itself, which is not of the same moment as traits: a gateway that goes has
  // none left.
  const auto gateway_nis = gateway.seen().nis;
  if (!route.alive.get() || gateway_nis.size() != 1 || (traits & kTraitAlone) == 0) return {};
  PeerNi* const next_hop = gateway_nis.front();
  const Net* const net = local.net(next_hop->net);
  if (net == nullptr || net->nis.size() != 1 || local.net(destination.net) != nullptr) return {};
  return {net->nis.front(), next_hop, net};
}
inline void use_only_hop(const OnlyHop& hop, const LocalView& local, PathSequences& sequences) {
  if (local.nis.size() > 1) sequences.use(*hop.net, *hop.ni);
}
[[nodiscard]] inline OnlyHop only_gateway(const PeerNi& destination, const LocalView& local,
                                          const RouteView& routes, PathSequences& sequences) {
  const OnlyHop hop = find_only_gateway(destination, local, routes);
  if (hop.ni != nullptr) use_only_hop(hop, local, sequences);
  return hop;
}

// kInvalid: the source is no NID of ours. kNoRoute: nothing leads there. kNetworkDown: this node
// has no network. What they do to a message: health_of_no_path().
//
// A destination that is not multi-rail and has no preferred NI yet, or one on another network
// than the one that it is reached on now, gets the path's
// (compare-exchange; with the first request, be it a ping, as in the kernel). Preferred NIs that
// have gone from `local` are passed over; the coordinator clears them one grace period after
// publishing a view without them, when no shard can record them any more.
//
// Discovery is the caller's, also that of gateways which are not checked
// (alive_router_check_interval <= 0): look at next_hop->peer when via_router.
[[nodiscard]] Result<Path> select_path(const PathRequest& request, const LocalView& local,
                                       const RouteView& routes, PathSequences& sequences,
                                       const Parameters& parameters);

// What select_path() would return now, and why. Changes nothing.
[[nodiscard]] Result<Path> explain_path(const PathRequest& request, const LocalView& local,
                                        const RouteView& routes, const PathSequences& sequences,
                                        const Parameters& parameters, PathTrace& trace);

}  // namespace plnet::lnet
