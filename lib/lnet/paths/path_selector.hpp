// SPDX-License-Identifier: BSD-3-Clause
// The cases of path selection, for path_selection.cpp alone: a template, so that an empty trace
// costs messages nothing.
#pragma once

#include <algorithm>
#include <utility>

#include "lib/base/check.hpp"
#include "lib/lnet/paths/path_contest.hpp"
#include "lib/lnet/paths/path_selection.hpp"

namespace plnet::lnet {

template <class Trace>
class PathSelector {
 public:
  PathSelector(const PathRequest& request, const LocalView& local, const RouteView& routes,
               const PathSequences& sequences, const Parameters& parameters, Trace& trace)
      : request_(request),
        local_(local),
        routes_(routes),
        sequences_(sequences),
        parameters_(parameters),
        trace_(trace),
        destination_(request.destination) {}

  // lustre-release lnet/lnet/lib-move.c: lnet_select_pathway(), lnet_handle_send_case_locked()
  Result<Path> run() {
    if (destination_ == nullptr || destination_->nid.is_loopback()) return loopback();
    if (local_.nets.empty()) return std::unexpected(Errc::kNetworkDown);
    peer_ = destination_->peer.load(std::memory_order_acquire);
    PLNET_CHECK(peer_ != nullptr, "a published peer NI belongs to a peer");
    // A forwarded message keeps its source, so a preferred NI does not matter.
    if (!request_.forwarded) preferred_ = destination_->preferred_ni.get();
    return request_.source.is_any() ? from_any() : from_given();
  }

 private:
  // The source NID continues a conversation, so the destination NID is used as given.
  Result<Path> from_given() {
    Ni* const ni = local_.ni(request_.source);
    if (ni == nullptr) return std::unexpected(Errc::kInvalid);
    if (ni->net == destination_->net) return direct(ni, destination_, needs_preference());
    return routed(ni);
  }

  Result<Path> from_any() {
    const Net* const net = local_.net(destination_->net);
    if (!as_multi_rail(net != nullptr)) {
      return net != nullptr ? local_single_rail(*net) : routed(preferred_ni(nullptr));
    }
    const PeerView& seen = peer_->seen();
    if (request_.response) {
      return net != nullptr ? direct(best_ni(*net), destination_, false) : routed(nullptr);
    }
    if (is_this_node(seen)) return loopback();
    const auto chosen = best_local_net(seen);
    PLNET_DEBUG_CHECK(chosen.net == nullptr || chosen.peer_net->net == chosen.net->id,
                      "a local network of the peer is one of ours");
    if (chosen.net == nullptr) return routed(nullptr);
    Ni* const ni = best_ni(*chosen.net);
    return direct(ni, best_peer_ni(seen.on(*chosen.peer_net), ni), false);
  }

  // The last router before the destination uses the NID that the originator chose, unless that NID
  // lacks health and the originator accepts an answer from another one. lustre-release, after 2.17,
  // lnet/lnet/lib-move.c: lnet_mr_forwarding_allowed()
  [[nodiscard]] bool as_multi_rail(bool local) const {
    if (!peer_->multi_rail() || request_.recovery) return false;
    const bool last_hop = request_.forwarded && local;
    return !last_hop || (request_.accepts_any_nid && lacks_health(*destination_));
  }

  Result<Path> local_single_rail(const Net& net) {
    if (request_.forwarded) return direct(best_ni(net), destination_, false);
    Ni* const preferred = request_.reserved_portal ? nullptr : preferred_ni(&net);
    return direct(preferred != nullptr ? preferred : best_ni(net), destination_,
                  needs_preference());
  }

  // lustre-release lnet/lnet/lib-move.c: lnet_find_existing_preferred_best_ni(). A peer that is not
  // multi-rail has one NID on a network, so there is no other NID to ask. Null: no preferred NI
  // exists now, or none on `net` if that is not null. A policy takes precedence over a recorded NI.
  [[nodiscard]] Ni* preferred_ni(const Net* net) const {
    const std::span<Ni* const> nis = net != nullptr ? net->nis : std::span(local_.nis);
    const Preferences* const rules = destination_->preferences.load(std::memory_order_acquire);
    if (rules != nullptr) {
      Ni* meant = nullptr;
      for (Ni* const ni : nis) {
        if (meant != nullptr && ni->fatal.get()) continue;
        if (!rules->prefers(ni->nid) || (net == nullptr && !leads_there(ni->net))) continue;
        if (!ni->fatal.get()) return ni;
        meant = ni;
      }
      if (meant != nullptr) return meant;
    }
    if (preferred_ == nullptr) return nullptr;
    const auto found = std::ranges::find(nis, preferred_);
    return found != nis.end() ? *found : nullptr;
  }
  // Compares pointers and does not read the NI, which may have been removed.
  [[nodiscard]] bool is_on(const Ni& ni, NetId id) const {
    const Net* const net = local_.net(id);
    return net != nullptr && std::ranges::find(net->nis, &ni) != net->nis.end();
  }
  // Some gateway takes messages to the destination from this network of ours. The kernel does not
  // check that, and finds no route then.
  [[nodiscard]] bool leads_there(NetId from) const {
    const RemoteNet* const remote = routes_.net(destination_->net);
    return remote != nullptr && std::ranges::any_of(remote->routes, [from](const Route* route) {
             const PeerView& gateway = route->gateway.load(std::memory_order_acquire)->seen();
             return route->alive.get() && gateway.net(from) != nullptr;
           });
  }
  // lustre-release lnet/lnet/lib-move.c: lnet_set_non_mr_pref_nid()
  [[nodiscard]] bool needs_preference() const {
    return !peer_->multi_rail() && !request_.response && !request_.forwarded;
  }

  // The peer is this node, known through discovery of 0@lo.
  static bool is_this_node(const PeerView& seen) {
    return std::ranges::any_of(
        seen.nets, [](const PeerNetView& net) { return net.net == make_net(NetType::kLoopback); });
  }

  Result<Path> loopback() const {
    PLNET_CHECK(local_.loopback != nullptr, "a node always has 0@lo");
    Path path;
    path.ni = local_.loopback;
    path.loopback = true;
    path.keeps_source = request_.forwarded;
    return path;
  }
  Result<Path> direct(Ni* ni, PeerNi* next_hop, bool wants_preference) const {
    PLNET_CHECK(ni != nullptr && next_hop != nullptr && ni->net == next_hop->net,
                "a direct hop is on the network of the NI");
    Path path;
    path.ni = ni;
    path.next_hop = next_hop;
    path.destination = next_hop;
    path.keeps_source = request_.forwarded;
    path.record_preference =
        wants_preference && (preferred_ == nullptr || !is_on(*preferred_, ni->net));
    path.recorded = preferred_;
    return path;
  }

  // Null `ni`: the best one for the gateway that is found. lustre-release lnet/lnet/lib-move.c:
  // lnet_handle_find_routed_path()
  Result<Path> routed(Ni* ni) {
    Path path;
    path.via_router = true;
    path.keeps_source = request_.forwarded;
    path.destination = destination_;
    path.next_hop = hinted_gateway(ni);
    path.hint_missed = request_.router != nullptr && path.next_hop == nullptr;
    if (path.next_hop == nullptr) {
      const RemoteNet* const net = request_.forwarded || ni != nullptr
                                       ? routes_.net(destination_->net)
                                       : best_remote_net(path.destination);
      if (net == nullptr) return std::unexpected(Errc::kNoRoute);
      const RouteCandidate best =
          best_route(*net, ni != nullptr ? ni->net : kNetAny, *path.destination);
      if (best.route == nullptr) return std::unexpected(Errc::kNoRoute);
      path.route = best.route;
      path.next_hop = best.gateway_ni;
    }
    PLNET_DEBUG_CHECK(ni != nullptr || local_.net(path.next_hop->net) != nullptr,
                      "a gateway is on a network of ours");
    path.ni = ni != nullptr ? ni : best_ni(*local_.net(path.next_hop->net));
    PLNET_CHECK(path.ni->net == path.next_hop->net, "a gateway is on the network of the NI");
    const Ni* const preferred =
        path.destination == destination_ ? preferred_ : path.destination->preferred_ni.get();
    path.record_preference = needs_preference() && preferred == nullptr;
    PLNET_DEBUG_CHECK(path.route == nullptr || path.route->spec.net == path.destination->net,
                      "a route leads to the network of the destination");
    return path;
  }

  // The gateway that brought the request, if a response can go back through it. It was alive a
  // moment ago, so its state is not checked.
  [[nodiscard]] PeerNi* hinted_gateway(const Ni* ni) const {
    PeerNi* const router = request_.router;
    if (router == nullptr) return nullptr;
    if (!routes_.is_gateway(*router->peer.load(std::memory_order_acquire))) return nullptr;
    const bool reached =
        ni != nullptr ? ni->net == router->net : local_.net(router->net) != nullptr;
    return reached ? router : nullptr;
  }

  // The first of equals wins.
  Ni* best_ni(const Net& net) {
    PLNET_CHECK(!net.nis.empty(), "a network has an NI");
    if (net.nis.size() == 1) return net.nis.front();
    auto best = candidate(net.nis.front());
    for (Ni* const ni : net.nis.subspan(1)) {
      auto challenger = candidate(ni);
      const Duel duel = compare(challenger, best, sequences_);
      if (duel.won()) std::swap(challenger, best);
      trace_.lost(*challenger.ni, *best.ni, duel.by());
    }
    PLNET_DEBUG_CHECK(best.ni->net == net.id, "the best NI is one of its network");
    return best.ni;
  }
  [[nodiscard]] NiCandidate candidate(Ni* ni) const {
    NiCandidate candidate{.ni = ni};
    const auto priorities = request_.device_priorities;
    if (!priorities.empty()) {
      candidate.device_priority =
          ni->number < priorities.size() ? priorities[ni->number] : UINT32_MAX;
    }
    if (request_.distances != nullptr) {
      candidate.distance = request_.distances->between(request_.memory_cpt, ni->device_cpt);
      const auto range = static_cast<std::uint32_t>(parameters_.numa_range.get());
      if (priorities.empty()) candidate.distance = std::max(candidate.distance, range);
    }
    return candidate;
  }

  PeerNi* best_peer_ni(std::span<PeerNi* const> nis, const Ni* from) {
    PeerNi* best = nullptr;
    for (PeerNi* const ni : nis)
      best = better_peer_ni(best, ni, from);
    return best;
  }
  PeerNi* better_peer_ni(PeerNi* best, PeerNi* challenger, const Ni* from) {
    PLNET_DEBUG_CHECK(challenger != nullptr, "a peer NI that competes exists");
    if (best == nullptr) return challenger;
    const Duel duel =
        compare(PeerNiCandidate{challenger, from}, PeerNiCandidate{best, from}, sequences_);
    if (duel.won()) std::swap(challenger, best);
    trace_.lost(*challenger, *best, duel.by());
    return best;
  }

  PeerNetCandidate best_local_net(const PeerView& seen) {
    PeerNetCandidate best;
    for (const PeerNetView& peer_net : seen.nets) {
      const Net* const net = local_.net(peer_net.net);
      if (net == nullptr) {
        trace_.excluded(peer_net, Exclusion::kNotLocal);
        continue;
      }
      const PeerNetCandidate challenger{.peer_net = &peer_net,
                                        .net = net,
                                        .health = health_of(seen.on(peer_net)),
                                        .local_health = health_of(*net),
                                        .local_priority = priority_of(*net)};
      if (peer_net.net == request_.check_net) return challenger;
      keep_better(best, challenger);
    }
    return best;
  }

  // Also finds the NI of the peer that becomes the destination.
  const RemoteNet* best_remote_net(PeerNi*& destination) {
    const PeerView& seen = peer_->seen();
    PeerNetCandidate best;
    for (const PeerNetView& peer_net : seen.nets) {
      if (routes_.net(peer_net.net) == nullptr) {
        trace_.excluded(peer_net, Exclusion::kNoRoutes);
        continue;
      }
      keep_better(best, {.peer_net = &peer_net, .health = health_of(seen.on(peer_net))});
    }
    if (best.peer_net == nullptr) return nullptr;
    destination = best_peer_ni(seen.on(*best.peer_net), nullptr);
    PLNET_CHECK(destination != nullptr, "a network of a peer has a peer NI");
    return routes_.net(best.peer_net->net);
  }
  void keep_better(PeerNetCandidate& best, PeerNetCandidate challenger) {
    if (best.peer_net == nullptr) {
      best = challenger;
      return;
    }
    const Duel duel = compare(challenger, best, sequences_);
    if (duel.won()) std::swap(challenger, best);
    trace_.lost(*challenger.peer_net, *best.peer_net, duel.by());
  }
  static std::int32_t health_of(std::span<PeerNi* const> nis) {
    std::int32_t health = 0;
    for (const PeerNi* const ni : nis)
      health = std::max(health, ni->health.get());
    return health;
  }
  static std::uint32_t priority_of(const Net& net) {
    return net.priority != nullptr ? net.priority->get() : kPriorityLowest;
  }
  static std::int32_t health_of(const Net& net) {
    std::int32_t health = 0;
    for (const Ni* const ni : net.nis) {
      if (!ni->fatal.get()) health = std::max(health, ni->health.get());
    }
    return health;
  }

  // The last of equal routes wins, unlike elsewhere: lustre-release lnet/lnet/lib-move.c:
  // lnet_find_route_locked()
  RouteCandidate best_route(const RemoteNet& net, NetId source_net, const PeerNi& destination) {
    const Preferences* const rules = destination.preferences.load(std::memory_order_acquire);
    RouteCandidate best;
    for (Route* const route : net.routes) {
      if (!route->alive.get()) {
        trace_.excluded(*route, Exclusion::kRouteDown);
        continue;
      }
      const PeerView& gateway = route->gateway.load(std::memory_order_acquire)->seen();
      RouteCandidate challenger{.route = route};
      PLNET_CHECK(route->spec.net == net.id, "a route of a network leads there");
      challenger.preferred = rules != nullptr && rules->prefers_router(gateway.primary);
      Duel duel;
      const bool decided = best.route != nullptr && compare_routes(duel, challenger, best);
      if (decided && !duel.won()) {
        trace_.lost(*route, *best.route, duel.by());
        continue;
      }
      challenger.gateway_ni = best_gateway_ni(gateway, source_net);
      if (challenger.gateway_ni == nullptr) {
        trace_.excluded(*route, Exclusion::kGatewayNotOnNet);
        continue;
      }
      if (best.route != nullptr) {
        const bool better =
            decided || !compare_gateways(duel, challenger, best, sequences_) || duel.won();
        if (better) std::swap(challenger, best);
        PLNET_DEBUG_CHECK(best.gateway_ni != nullptr,
                          "a route that may be used has a gateway on our network");
        trace_.lost(*challenger.route, *best.route, duel.by());
      } else {
        best = challenger;
      }
    }
    return best;
  }

  // On `net`, or on any net of ours.
  PeerNi* best_gateway_ni(const PeerView& gateway, NetId net) {
    PeerNi* best = nullptr;
    for (const PeerNetView& candidate : gateway.nets) {
      const bool fits =
          net != kNetAny ? candidate.net == net : local_.net(candidate.net) != nullptr;
      if (!fits) continue;
      for (PeerNi* const ni : gateway.on(candidate))
        best = better_peer_ni(best, ni, nullptr);
    }
    return best;
  }

  const PathRequest& request_;
  const LocalView& local_;
  const RouteView& routes_;
  const PathSequences& sequences_;
  const Parameters& parameters_;
  Trace& trace_;
  PeerNi* const destination_;
  Peer* peer_ = nullptr;
  // Read once: another shard may be recording it, and then the exchange fails.
  const Ni* preferred_ = nullptr;
};

}  // namespace plnet::lnet
