// SPDX-License-Identifier: BSD-3-Clause
// A slow, simple model of path selection: every candidate gets an explicit key, and the least key
// wins. It counts like the kernel (per node, per peer, per list of routes) and always writes; the
// implementation has one counter and omits writes on which no choice depends.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "tests/unit/lib/lnet/paths/path_site.hpp"

namespace plnet::lnet {

struct ExpectedPath {
  std::optional<Errc> error;
  bool loopback = false;
  const Ni* ni = nullptr;
  PeerNi* next_hop = nullptr;
  PeerNi* final_destination = nullptr;
  const Route* route = nullptr;
  bool via_router = false;
  bool hint_missed = false;
  const Ni* preferred_after = nullptr;  // for the final destination
};

class PathModel {
 public:
  explicit PathModel(PathSite& site) : site_(site) {}

  ExpectedPath select(const PathRequest& request) {
    request_ = request;
    ExpectedPath result = decide();
    if (result.error || result.loopback) return result;
    count(result);
    const Peer& peer = *result.final_destination->peer;
    result.preferred_after = result.final_destination->preferred_ni.get();
    if (peer.multi_rail() || request.response || request.forwarded) return result;
    const Net* const direct = result.via_router ? nullptr : our_net(result.final_destination->net);
    const bool elsewhere =
        direct != nullptr &&
        std::ranges::find(direct->nis, result.preferred_after) == direct->nis.end();
    if (result.preferred_after == nullptr || elsewhere) result.preferred_after = result.ni;
    return result;
  }

 private:
  const Net* our_net(NetId id) const {
    for (const Net& net : site_.local.nets) {
      if (net.id == id) return &net;
    }
    return nullptr;
  }
  std::vector<const Route*> routes_to(NetId net) const {
    std::vector<const Route*> found;
    for (const auto& route : site_.route_list()) {
      if (route->spec.net == net) found.push_back(route.get());
    }
    return found;
  }
  static std::vector<PeerNi*> nis_on(const Peer& peer, NetId net) {
    std::vector<PeerNi*> found;
    for (PeerNi* const ni : peer.seen().nis) {
      if (ni->net == net) found.push_back(ni);
    }
    return found;
  }

  // The NI preferred by a policy, or the recorded one.
  const Ni* preferred_ni(const PeerNi& to, std::span<Ni* const> among, bool directly) const {
    const Preferences* const rules = to.preferences.load();
    std::vector<const Ni*> meant;
    for (const Ni* const ni : among) {
      if (rules == nullptr || !rules->prefers(ni->nid)) continue;
      bool leads_there = directly;
      for (const Route* const route : routes_to(to.net))
        leads_there |= route->alive.get() && !nis_on(*route->gateway.load(), ni->net).empty();
      if (leads_there) meant.push_back(ni);
    }
    if (meant.empty()) return request_.forwarded ? nullptr : to.preferred_ni.get();
    const auto sound = std::ranges::find_if(meant, [](const Ni* ni) { return !ni->fatal.get(); });
    return sound == meant.end() ? meant.front() : *sound;
  }
  const Ni* best_ni(const Net& net) {
    const auto key = [&](const Ni* ni) {
      std::uint32_t distance = 0;
      if (request_.distances != nullptr) {
        distance = request_.distances->between(request_.memory_cpt, ni->device_cpt);
        const auto range = static_cast<std::uint32_t>(site_.parameters.numa_range.get());
        if (request_.device_priorities.empty() && distance < range) distance = range;
      }
      const std::uint32_t device =
          request_.device_priorities.empty() ? 0 : request_.device_priorities[ni->number];
      const int credits = ni->tx_credits[0].tx_credits.get() + ni->tx_credits[5].tx_credits.get();
      return std::tuple(ni->fatal.get(), -ni->health.get(), ni->priority.get(), device, distance,
                        -credits, ni_sequence_[ni]);
    };
    return *std::ranges::min_element(net.nis, {}, key);
  }

  PeerNi* best_peer_ni(const std::vector<PeerNi*>& candidates, const Ni* from) {
    if (candidates.empty()) return nullptr;
    const auto key = [&](const PeerNi* ni) {
      const Preferences* const rules = ni->preferences.load();
      const bool preferred = from != nullptr && rules != nullptr && rules->prefers(from->nid);
      return std::tuple(-ni->health.get(), ni->priority.get(), !preferred, -ni->tx_credits.get(),
                        peer_ni_sequence_[ni]);
    };
    return *std::ranges::min_element(candidates, {}, key);
  }

  static int health(const std::vector<PeerNi*>& nis) {
    int best = 0;
    for (const PeerNi* const ni : nis)
      best = std::max(best, ni->health.get());
    return best;
  }
  static int health(const Net& net) {
    int best = 0;
    for (const Ni* const ni : net.nis)
      best = std::max(best, ni->fatal.get() ? 0 : ni->health.get());
    return best;
  }

  ExpectedPath decide() {
    PeerNi* const to = request_.destination;
    if (to == nullptr || to->nid.is_loopback()) return {.loopback = true};
    const Peer& peer = *to->peer;
    const Net* const net = our_net(to->net);
    if (!request_.source.is_any()) {
      const Ni* ours = nullptr;
      for (const Ni* const ni : site_.local.nis) {
        if (ni->nid == request_.source) ours = ni;
      }
      if (ours == nullptr) return {.error = Errc::kInvalid};
      return ours->net == to->net ? direct(ours, to) : routed(ours);
    }
    const bool last_router = request_.forwarded && net != nullptr;
    const bool well = to->status.get() == kNiUp && to->health.get() == kHealthMax;
    const bool as_named = last_router && (well || !request_.accepts_any_nid);
    const bool one_rail = !peer.multi_rail() || request_.recovery || as_named;
    if (one_rail && net != nullptr) {
      const Ni* const preferred = preferred_ni(*to, net->nis, true);
      if (!request_.forwarded && !request_.reserved_portal && preferred != nullptr &&
          preferred->net == to->net) {
        return direct(preferred, to);
      }
      return direct(best_ni(*net), to);
    }
    if (one_rail) return routed(preferred_ni(*to, site_.local.nis, false));
    if (request_.response) return net != nullptr ? direct(best_ni(*net), to) : routed(nullptr);
    return any_multi_rail(peer);
  }

  ExpectedPath any_multi_rail(const Peer& peer) {
    using Key = std::tuple<int, std::uint32_t, int, std::uint32_t, std::uint64_t, std::uint64_t>;
    std::optional<Key> least;
    const PeerNetView* chosen = nullptr;
    for (const PeerNetView& peer_net : peer.seen().nets) {
      if (type_of_net(peer_net.net) == static_cast<std::uint8_t>(NetType::kLoopback))
        return {.loopback = true};
    }
    for (const PeerNetView& peer_net : peer.seen().nets) {
      const Net* const net = our_net(peer_net.net);
      if (net == nullptr) continue;
      const Key key(-health(nis_on(peer, peer_net.net)), peer_net.priority, -health(*net),
                    net->priority->get(), peer_net_sequence_[peer_net.number],
                    net_sequence_[net->id]);
      const bool in_check = request_.check_net == peer_net.net;
      if (!least || key < *least || in_check) {
        least = key;
        chosen = &peer_net;
      }
      if (in_check) break;
    }
    if (chosen == nullptr) return routed(nullptr);
    const Ni* const ni = best_ni(*our_net(chosen->net));
    return direct(ni, best_peer_ni(nis_on(peer, chosen->net), ni));
  }

  static ExpectedPath direct(const Ni* ni, PeerNi* to) {
    return {.ni = ni, .next_hop = to, .final_destination = to};
  }

  ExpectedPath routed(const Ni* ni) {
    ExpectedPath path{.ni = ni, .final_destination = request_.destination, .via_router = true};
    if (request_.router != nullptr) {
      const Peer* const peer = request_.router->peer;
      bool is_gateway = false;
      for (const auto& route : site_.route_list())
        is_gateway = is_gateway || route->gateway.load() == peer;
      const NetId net = request_.router->net;
      if (is_gateway && (ni != nullptr ? ni->net == net : our_net(net) != nullptr)) {
        path.next_hop = request_.router;
      } else {
        path.hint_missed = true;
      }
    }
    if (path.next_hop == nullptr) {
      NetId net = request_.destination->net;
      if (!request_.forwarded && ni == nullptr) {
        const auto chosen = remote_net(*request_.destination->peer);
        if (!chosen) return {.error = Errc::kNoRoute};
        net = *chosen;
        path.final_destination = best_peer_ni(nis_on(*request_.destination->peer, net), nullptr);
      }
      if (!find_route(path, net, ni)) return {.error = Errc::kNoRoute};
    }
    if (ni == nullptr) path.ni = best_ni(*our_net(path.next_hop->net));
    return path;
  }

  std::optional<NetId> remote_net(const Peer& peer) {
    std::optional<std::tuple<int, std::uint32_t, std::uint64_t>> least;
    std::optional<NetId> chosen;
    for (const PeerNetView& peer_net : peer.seen().nets) {
      if (routes_to(peer_net.net).empty()) continue;
      const std::tuple key(-health(nis_on(peer, peer_net.net)), peer_net.priority,
                           peer_net_sequence_[peer_net.number]);
      if (!least || key < *least) {
        least = key;
        chosen = peer_net.net;
      }
    }
    return chosen;
  }

  bool find_route(ExpectedPath& path, NetId net, const Ni* ni) {
    using Key =
        std::tuple<bool, std::uint32_t, std::uint32_t, int, std::uint32_t, int, std::uint64_t, int>;
    std::optional<Key> least;
    int place = 0;
    for (const Route* const route : routes_to(net)) {
      --place;  // the last of equal ones wins
      if (!route->alive.get()) continue;
      const Peer& gateway = *route->gateway;
      std::vector<PeerNi*> candidates;
      for (PeerNi* const candidate : gateway.seen().nis) {
        if (ni != nullptr ? candidate->net == ni->net : our_net(candidate->net) != nullptr)
          candidates.push_back(candidate);
      }
      PeerNi* const hop = best_peer_ni(candidates, nullptr);
      if (hop == nullptr) continue;
      const Preferences* const rules = path.final_destination->preferences.load();
      const bool preferred = rules != nullptr && rules->prefers_router(gateway.seen().primary);
      const std::uint32_t hops = route->spec.hops == kRouteHopsUndefined ? 1 : route->spec.hops;
      const Key key(!preferred, route->spec.priority, hops, -hop->health.get(),
                    hop->queued_bytes.get(), -hop->tx_credits.get(), route_sequence_[route], place);
      if (!least || key < *least) {
        least = key;
        path.route = route;
        path.next_hop = hop;
      }
    }
    return least.has_value();
  }

  void count(const ExpectedPath& path) {
    count(*path.next_hop);
    net_sequence_[path.ni->net] = ni_sequence_[path.ni] = ++node_sequence_;
    if (!path.via_router) return;
    count(*path.final_destination);
    if (path.route == nullptr || request_.router != nullptr) return;
    std::uint64_t last = 0;
    for (const Route* const route : routes_to(path.route->spec.net)) {
      if (route->alive.get()) last = std::max(last, route_sequence_[route]);
    }
    route_sequence_[path.route] = last + 1;
  }
  void count(const PeerNi& ni) {
    const Peer& peer = *ni.peer;
    const std::uint64_t now = ++peer_sequence_[&peer];
    for (const PeerNetView& net : peer.seen().nets) {
      if (net.net == ni.net) peer_net_sequence_[net.number] = now;
    }
    peer_ni_sequence_[&ni] = now;
  }

  PathSite& site_;
  PathRequest request_;
  std::uint64_t node_sequence_ = 0;
  std::map<NetId, std::uint64_t> net_sequence_;
  std::map<const Ni*, std::uint64_t> ni_sequence_;
  std::map<const Peer*, std::uint64_t> peer_sequence_;
  std::map<std::uint32_t, std::uint64_t> peer_net_sequence_;
  std::map<const PeerNi*, std::uint64_t> peer_ni_sequence_;
  std::map<const Route*, std::uint64_t> route_sequence_;
};

}  // namespace plnet::lnet
