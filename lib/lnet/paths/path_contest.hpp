// SPDX-License-Identifier: BSD-3-Clause
// The order of criteria: how two NIs, peer NIs, peer nets or routes compare. Criteria that are
// costly and decide late (credits of all shards, sequences) are read only if all earlier ones tie.
#pragma once

#include <cstdint>
#include <optional>

#include "lib/base/check.hpp"
#include "lib/lnet/paths/path_sequences.hpp"
#include "lib/lnet/paths/path_trace.hpp"
#include "lib/lnet/paths/preferences.hpp"

namespace plnet::lnet {

// A lexicographic comparison that records the criterion that decided.
class Duel {
 public:
  template <class T>
  bool higher(const T& challenger, const T& best, Criterion criterion) {
    return lower(best, challenger, criterion);
  }
  template <class T>
  bool lower(const T& challenger, const T& best, Criterion criterion) {
    if (challenger == best) return false;
    won_ = challenger < best;
    by_ = criterion;
    return true;
  }
  // The challenger is better.
  [[nodiscard]] bool won() const { return won_; }
  [[nodiscard]] Criterion by() const { return by_; }

 private:
  bool won_ = false;
  Criterion by_ = Criterion::kOrder;
};

// lustre-release lnet/lnet/lib-move.c: lnet_get_best_ni()
struct NiCandidate {
  Ni* ni = nullptr;
  std::uint32_t device_priority = 0;
  std::uint32_t distance = 0;
  bool fatal = ni->fatal.get();
  std::int32_t health = ni->health.get();
  std::uint32_t priority = ni->priority.get();
  std::optional<std::int32_t> credits{};

  std::int32_t credits_now() {
    if (!credits) credits = ni->tx_credits_of_all();
    return *credits;
  }
};

inline Duel compare(NiCandidate& a, NiCandidate& best, const PathSequences& sequences) {
  PLNET_DEBUG_CHECK(a.ni != best.ni, "two NIs compete");
  Duel duel;
  (void)(duel.lower(a.fatal, best.fatal, Criterion::kFatal) ||
         duel.higher(a.health, best.health, Criterion::kHealth) ||
         duel.lower(a.priority, best.priority, Criterion::kPriority) ||
         duel.lower(a.device_priority, best.device_priority, Criterion::kDevicePriority) ||
         duel.lower(a.distance, best.distance, Criterion::kDistance) ||
         duel.higher(a.credits_now(), best.credits_now(), Criterion::kCredits) ||
         duel.lower(sequences.of(*a.ni), sequences.of(*best.ni), Criterion::kSequence));
  return duel;
}

// lustre-release lnet/lnet/lib-move.c: lnet_select_peer_ni(). Between the nets of a gateway the
// kernel loses the priority of the best one; this does not.
struct PeerNiCandidate {
  PeerNi* peer_ni = nullptr;
  const Ni* from = nullptr;  // null: no NI of ours is chosen yet, so none is preferred
  std::int32_t health = peer_ni->health.get();
  std::uint32_t priority = peer_ni->priority.get();
  std::int32_t credits = peer_ni->tx_credits.get();

  [[nodiscard]] bool preferred() const {
    if (from == nullptr) return false;
    const Preferences* const rules = peer_ni->preferences.load(std::memory_order_acquire);
    return rules != nullptr && rules->prefers(from->nid);
  }
};

inline Duel compare(const PeerNiCandidate& a, const PeerNiCandidate& best,
                    const PathSequences& sequences) {
  PLNET_DEBUG_CHECK(a.peer_ni != best.peer_ni, "two peer NIs compete");
  Duel duel;
  (void)(duel.higher(a.health, best.health, Criterion::kHealth) ||
         duel.lower(a.priority, best.priority, Criterion::kPriority) ||
         duel.higher(a.preferred(), best.preferred(), Criterion::kPreferred) ||
         duel.higher(a.credits, best.credits, Criterion::kCredits) ||
         duel.lower(sequences.of(*a.peer_ni), sequences.of(*best.peer_ni), Criterion::kSequence));
  return duel;
}

// A net of the peer: one that is ours (lnet_find_best_ni_on_local_net()) or, with `net` null, one
// behind gateways (lnet_handle_find_routed_path()).
struct PeerNetCandidate {
  const PeerNetView* peer_net = nullptr;
  const Net* net = nullptr;
  std::int32_t health = 0;
  std::int32_t local_health = 0;
  std::uint32_t local_priority = kPriorityLowest;
};

inline Duel compare(const PeerNetCandidate& a, const PeerNetCandidate& best,
                    const PathSequences& sequences) {
  const auto local_sequence = [&sequences](const PeerNetCandidate& candidate) {
    return candidate.net == nullptr ? 0 : sequences.of(*candidate.net);
  };
  PLNET_DEBUG_CHECK(a.peer_net != best.peer_net, "two networks of a peer compete");
  Duel duel;
  (void)(duel.higher(a.health, best.health, Criterion::kHealth) ||
         duel.lower(a.peer_net->priority, best.peer_net->priority, Criterion::kPriority) ||
         duel.higher(a.local_health, best.local_health, Criterion::kLocalNetHealth) ||
         duel.lower(a.local_priority, best.local_priority, Criterion::kLocalNetPriority) ||
         duel.lower(sequences.of(*a.peer_net), sequences.of(*best.peer_net),
                    Criterion::kSequence) ||
         duel.lower(local_sequence(a), local_sequence(best), Criterion::kLocalNetSequence));
  return duel;
}

// The NI of the gateway is searched only if the route itself is no worse than the best.
struct RouteCandidate {
  Route* route = nullptr;
  bool preferred = false;
  PeerNi* gateway_ni = nullptr;
};

// lustre-release lnet/lnet/lib-move.c: lnet_compare_routes(); returns whether it decided.
inline bool compare_routes(Duel& duel, const RouteCandidate& a, const RouteCandidate& best) {
  PLNET_DEBUG_CHECK(a.route != best.route && a.route->spec.net == best.route->spec.net,
                    "two routes to one network compete");
  return duel.higher(a.preferred, best.preferred, Criterion::kPreferred) ||
         duel.lower(a.route->spec.priority, best.route->spec.priority, Criterion::kRoutePriority) ||
         duel.lower(a.route->hops_counted(), best.route->hops_counted(), Criterion::kHops);
}

// lustre-release lnet/lnet/lib-move.c: lnet_compare_gw_lpnis(), and the sequence in
// lnet_find_route_locked().
inline bool compare_gateways(Duel& duel, const RouteCandidate& a, const RouteCandidate& best,
                             const PathSequences& sequences) {
  PLNET_DEBUG_CHECK(a.gateway_ni != nullptr && best.gateway_ni != nullptr,
                    "gateways compete by their NIs");
  const PeerNi& gateway = *a.gateway_ni;
  const PeerNi& best_gateway = *best.gateway_ni;
  return duel.higher(gateway.health.get(), best_gateway.health.get(), Criterion::kGatewayHealth) ||
         duel.lower(gateway.queued_bytes.get(), best_gateway.queued_bytes.get(),
                    Criterion::kQueuedBytes) ||
         duel.higher(gateway.tx_credits.get(), best_gateway.tx_credits.get(),
                     Criterion::kCredits) ||
         duel.lower(sequences.of(*a.route), sequences.of(*best.route), Criterion::kSequence);
}

}  // namespace plnet::lnet
