// SPDX-License-Identifier: BSD-3-Clause
// The path of one message: the NI that it leaves by, the peer NI that it goes to next, and the NID
// that it names as its destination. One function over published views; a stale view makes the
// choice less good, never wrong. Checked against lustre-release 2.17 lnet/lnet/lib-move.c:
// lnet_select_pathway() and all that it calls.
#pragma once

#include <cstdint>
#include <span>

#include "lib/base/check.hpp"
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

// By the report of its peer, or by its health.
[[nodiscard]] inline bool lacks_health(const PeerNi& ni) {
  return ni.status.get() != kNiUp || ni.health.get() < kHealthMax;
}

// Its peer has other NIs that may get the message.
[[nodiscard]] inline bool has_others(const PeerNi& ni) {
  const unsigned traits = ni.traits.get();
  return (traits & kTraitMultiRail) != 0 && (traits & kTraitAlone) == 0;
}
// The originator of a request accepts an answer from another NID than it asked. A neighbour has
// announced this, if it does. It is presumed of other nodes, unless the configuration says
// otherwise. `known`: the peer NI of the originator, if there is one.
[[nodiscard]] inline bool accepts_any_nid(const Nid& source, const PeerNi* known,
                                          const LocalView& local) {
  const bool is_neighbour = local.net(source.net()) != nullptr;
  if (known == nullptr) return !is_neighbour;
  const Peer& peer = *known->peer.load(std::memory_order_acquire);
  return peer.multi_rail() || (!is_neighbour && !peer.is(kPeerDiscovered));
}

struct PathRequest {
  // The peer NI of the destination NID, discovered already if that is needed. Null: 0@lo.
  PeerNi* destination = nullptr;
  Nid source = Nid::any();  // it must leave from this NID; ACK and REPLY always name it
  // ACK and REPLY: the peer NI that brought the request, if it was a router. If it is no gateway
  // now, another path is searched and Path::hint_missed set.
  PeerNi* router = nullptr;

  bool forwarded = false;        // of another node: the source NID stays
  bool accepts_any_nid = false;  // its originator does; set only for a NID that lacks health
  bool response = false;         // ACK or REPLY
  bool recovery = false;         // to exactly this NID
  bool reserved_portal = false;  // PUT or GET on portal 0
  // The discovery ping of a router: the network of the router that is checked. 0: none.
  NetId check_net = 0;

  // The CPT of the message's memory.
  std::uint16_t memory_cpt = 0;
  const CptDistances* distances = nullptr;  // null: all distances are equal
  // Memory of a device (a GPU): for each NI, its distance to the device; lower is nearer. The NUMA
  // range does not apply then. Empty: ordinary memory.
  std::span<const std::uint32_t> device_priorities;
};

struct Path {
  Ni* ni = nullptr;
  PeerNi* next_hop = nullptr;  // null: loopback
  PeerNi* destination =
      nullptr;             // its NID goes into the header; the next hop, unless that is a router
  Route* route = nullptr;  // null: none is needed, or the response goes back through its gateway
  bool via_router = false;
  bool loopback = false;
  bool keeps_source = false;       // forwarded: the source NID in the header stays
  bool hint_missed = false;        // the router that brought the request is no gateway
  bool record_preference = false;  // this NI is now the destination's preferred one …
  const Ni* recorded = nullptr;    // … instead of this one

  // For the header, unless `keeps_source`.
  [[nodiscard]] const Nid& source_nid() const { return ni->nid; }
  [[nodiscard]] const Nid& destination_nid() const { return loopback ? ni->nid : destination->nid; }
  // The pid of the next hop, for the LND; the pids in the header stay.
  [[nodiscard]] std::uint32_t hop_pid(std::uint32_t target_pid) const {
    return via_router ? kLustrePid : target_pid;
  }
};

// The simple and most frequent case: a peer with one NI, on a network with one NI of ours. All
// cases of selection agree on it without a comparison, so senders ask here before they make a
// PathRequest: a message without a given source leaves by this NI and goes straight to
// `destination`. Null: not simple, use select_path(). `records`: a request of this node, which
// makes the NI the preferred one of a peer that is not multi-rail; a peer without one is not
// simple.
//
// Cold cache lines, for one peer of many: the first of its PeerNi. The view of our nets and NIs
// (three lines) is warm. Nothing is written, unless the node has several NIs.
[[nodiscard]] inline Ni* only_path(const PeerNi& destination, bool records, const LocalView& local,
                                   PathSequences& sequences) {
  const Net* const net = local.net(destination.net);
  if (net == nullptr || net->nis.size() != 1) return nullptr;
  const unsigned traits = destination.traits.get();
  if ((traits & kTraitAlone) == 0) return nullptr;
  const bool multi_rail = (traits & kTraitMultiRail) != 0;
  if (records && !multi_rail && destination.preferred_ni.get() == nullptr) return nullptr;
  Ni* const ni = net->nis.front();
  PLNET_DEBUG_CHECK(ni->net == destination.net, "an only NI is on the network of the destination");
  if (local.nis.size() > 1) sequences.use(*net, *ni);
  return ni;
}

// The same for a forwarded message to a network that one gateway leads to: by its one NI, from our
// one NI on that network. Null `ni`: not simple.
struct OnlyHop {
  Ni* ni = nullptr;
  PeerNi* next_hop = nullptr;
  const Net* net = nullptr;  // the network of the NI
};
// Does not count a use: use_only_hop() does. Each line that it reads leads to the next, eight of
// them; with few gateways they are warm, but not near.
[[nodiscard]] inline OnlyHop find_only_gateway(const PeerNi& destination, const LocalView& local,
                                               const RouteView& routes) {
  const RemoteNet* const remote = routes.net(destination.net);
  if (remote == nullptr || remote->routes.size() != 1) return {};
  const Route& route = *remote->routes.front();
  PLNET_DEBUG_CHECK(route.spec.net == destination.net,
                    "an only route leads to the network of the destination");
  const Peer& gateway = *route.gateway.load(std::memory_order_acquire);
  const unsigned traits = destination.traits.get();
  // Read from the view, which may be newer than the traits: a gateway that is being removed has no
  // NIs left.
  const auto gateway_nis = gateway.seen().nis;
  if (!route.alive.get() || gateway_nis.size() != 1 || (traits & kTraitAlone) == 0) return {};
  PeerNi* const next_hop = gateway_nis.front();
  const Net* const net = local.net(next_hop->net);
  if (net == nullptr || net->nis.size() != 1 || local.net(destination.net) != nullptr) return {};
  PLNET_DEBUG_CHECK(net->nis.front()->net == next_hop->net,
                    "an only gateway is on the network of the NI");
  return {net->nis.front(), next_hop, net};
}
inline void use_only_hop(const OnlyHop& hop, const LocalView& local, PathSequences& sequences) {
  PLNET_CHECK(hop.ni != nullptr && hop.next_hop != nullptr && hop.net != nullptr,
              "a hop that is used exists");
  if (local.nis.size() > 1) sequences.use(*hop.net, *hop.ni);
}
[[nodiscard]] inline OnlyHop only_gateway(const PeerNi& destination, const LocalView& local,
                                          const RouteView& routes, PathSequences& sequences) {
  const OnlyHop hop = find_only_gateway(destination, local, routes);
  if (hop.ni != nullptr) use_only_hop(hop, local, sequences);
  return hop;
}

// kInvalid: the source is no NID of this node. kNoRoute: no path leads there. kNetworkDown: this
// node has no network. health_of_no_path() gives their effect on a message.
//
// A destination that is not multi-rail and has no preferred NI yet, or one on another network than
// the one that reaches it now, gets that of the path (compare-exchange; with the first request,
// even a ping, as in the kernel). Preferred NIs that are gone from `local` are ignored; the
// coordinator clears them one grace period after it has published a view without them, when no
// shard can record them any more.
//
// The caller does discovery, also of gateways without checks (alive_router_check_interval <= 0): it
// looks at next_hop->peer when via_router.
[[nodiscard]] Result<Path> select_path(const PathRequest& request, const LocalView& local,
                                       const RouteView& routes, PathSequences& sequences,
                                       const Parameters& parameters);

// The result that select_path() would have now, with its reasons. Changes nothing.
[[nodiscard]] Result<Path> explain_path(const PathRequest& request, const LocalView& local,
                                        const RouteView& routes, const PathSequences& sequences,
                                        const Parameters& parameters, PathTrace& trace);

}  // namespace plnet::lnet
