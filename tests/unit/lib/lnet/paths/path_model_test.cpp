// SPDX-License-Identifier: BSD-3-Clause
// Path selection against a slow and obvious model of the same rules: every candidate gets an
// explicit key, the least key wins. The model counts as the kernel does (per node, per peer, per
// list of routes) and always writes, where the real one has one counter and leaves out what no
// choice depends on.
#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "lib/base/random.hpp"
#include "tests/unit/lib/lnet/paths/site.hpp"

namespace plnet::lnet {
namespace {

class NoWords final : public PathTrace {
 public:
  void lost(const Ni&, const Ni&, Criterion) override {}
  void lost(const PeerNi&, const PeerNi&, Criterion) override {}
  void lost(const PeerNetView&, const PeerNetView&, Criterion) override {}
  void lost(const Route&, const Route&, Criterion) override {}
  void excluded(const PeerNetView&, Exclusion) override {}
  void excluded(const Route&, Exclusion) override {}
};

struct Expected {
  std::optional<Errc> error;
  bool loopback = false;
  const Ni* ni = nullptr;
  PeerNi* next_hop = nullptr;
  PeerNi* final_destination = nullptr;
  const Route* route = nullptr;
  bool via_router = false;
  bool hint_missed = false;
  const Ni* preferred_after = nullptr;  // of the final destination
};

class Model {
 public:
  explicit Model(Site& site) : site_(site) {}

  Expected select(const PathRequest& request) {
    request_ = request;
    Expected result = decide();
    if (result.error || result.loopback) return result;
    count(result);
    const Peer& peer = *result.final_destination->peer;
    result.preferred_after = result.final_destination->preferred_ni.get();
    const bool forwarded_to_end = request.forwarded && !result.via_router;
    if (result.preferred_after == nullptr && !peer.multi_rail() && !request.response &&
        !forwarded_to_end) {
      result.preferred_after = result.ni;
    }
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

  Expected decide() {
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
    const bool one_rail =
        !peer.multi_rail() || request_.recovery || (last_router && to->status.get() == kNiUp);
    if (one_rail && net != nullptr) {
      const Ni* const preferred = to->preferred_ni.get();
      if (!request_.forwarded && !request_.reserved_portal && preferred != nullptr &&
          preferred->net == to->net) {
        return direct(preferred, to);
      }
      return direct(best_ni(*net), to);
    }
    if (one_rail) return routed(to->preferred_ni.get());
    if (request_.response) return net != nullptr ? direct(best_ni(*net), to) : routed(nullptr);
    return any_multi_rail(peer);
  }

  Expected any_multi_rail(const Peer& peer) {
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

  static Expected direct(const Ni* ni, PeerNi* to) {
    return {.ni = ni, .next_hop = to, .final_destination = to};
  }

  Expected routed(const Ni* ni) {
    Expected path{.ni = ni, .final_destination = request_.destination, .via_router = true};
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

  bool find_route(Expected& path, NetId net, const Ni* ni) {
    using Key =
        std::tuple<bool, std::uint32_t, std::uint32_t, int, std::uint32_t, int, std::uint64_t, int>;
    std::optional<Key> least;
    int place = 0;
    for (const Route* const route : routes_to(net)) {
      --place;  // of equal ones the last wins
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

  void count(const Expected& path) {
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

  Site& site_;
  PathRequest request_;
  std::uint64_t node_sequence_ = 0;
  std::map<NetId, std::uint64_t> net_sequence_;
  std::map<const Ni*, std::uint64_t> ni_sequence_;
  std::map<const Peer*, std::uint64_t> peer_sequence_;
  std::map<std::uint32_t, std::uint64_t> peer_net_sequence_;
  std::map<const PeerNi*, std::uint64_t> peer_ni_sequence_;
  std::map<const Route*, std::uint64_t> route_sequence_;
};

// A site in which much is equal, so that late criteria get their turn.
class RandomSite {
 public:
  explicit RandomSite(Random& random) : random_(random) {
    const std::vector<NetId> nets = {kTcp0, kTcp1, kIb0, kIb1, kKfi0};
    ours_ = random_.between(1, 3);
    for (std::size_t i = 0; i < ours_; ++i)
      site.add_net(nets[i], random_.between(1, 3));
    if (chance(0.3)) {
      self_ = &site.add_peer(true, {{make_net(NetType::kLoopback), 1}, {nets[0], 1}});
      peers_.push_back(self_);
    }
    const std::size_t peers = random_.between(3, 6);
    for (std::size_t i = 0; i < peers; ++i) {
      const bool multi_rail = chance(0.6);
      std::vector<std::pair<NetId, std::size_t>> spread;
      for (const NetId net : nets) {
        if (chance(0.45)) spread.emplace_back(net, multi_rail ? random_.between(1, 3) : 1);
      }
      if (spread.empty()) spread.emplace_back(nets[random_.below(nets.size())], 1);
      random_.shuffle(std::span(spread));
      peers_.push_back(&site.add_peer(multi_rail, spread));
    }
    for (std::size_t i = ours_; i < nets.size(); ++i) {
      for (SitePeer* const gateway : peers_) {
        if (gateway == self_ || !chance(0.5)) continue;
        const std::uint32_t hops = chance(0.5) ? kRouteHopsUndefined : dice(1, 2);
        Route& route = site.add_route(nets[i], *gateway, chance(0.8) ? 0 : 1, hops);
        route.alive.set(chance(0.9));
      }
    }
    for (SitePeer* const peer : peers_) {
      for (PeerNi* const ni : peer->nis)
        add_preferences(*ni);
      for (PeerNetView& net : peer->nets)
        net.priority = chance(0.8) ? kPriorityLowest : dice(0, 2);
    }
    site.parameters.numa_range.set(chance(0.5) ? 0 : 20);
    stir(1.0);
  }

  void stir(double probability) {
    for (Ni* const ni : site.local.nis) {
      if (!chance(probability)) continue;
      ni->health.set(chance(0.8) ? kHealthMax : static_cast<std::int32_t>(dice(0, 1000)));
      ni->fatal.set(chance(0.1));
      ni->priority.set(chance(0.8) ? kPriorityLowest : dice(0, 2));
      ni->device_cpt = static_cast<std::uint16_t>(dice(0, 2));
      Site::set_credits(*ni, static_cast<std::int32_t>(dice(99, 100)));
    }
    for (const Net& net : site.local.nets) {
      if (chance(probability)) net.priority->set(chance(0.8) ? kPriorityLowest : dice(0, 2));
    }
    for (SitePeer* const peer : peers_) {
      for (PeerNi* const ni : peer->nis) {
        if (!chance(probability)) continue;
        ni->health.set(chance(0.8) ? kHealthMax : static_cast<std::int32_t>(dice(0, 1000)));
        ni->status.set(chance(0.8) ? kNiUp : kNiDown);
        ni->priority.set(chance(0.8) ? kPriorityLowest : dice(0, 2));
        ni->tx_credits.set(chance(0.7) ? 8 : static_cast<std::int32_t>(dice(0, 8)) - 2);
        ni->queued_bytes.set(chance(0.8) ? 0 : dice(0, 2));
      }
    }
  }

  PathRequest request() {
    PathRequest request;
    SitePeer& peer = *peers_[random_.below(peers_.size())];
    if (!chance(0.02)) request.destination = &any_ni(peer);
    const double kind = random_.unit();
    if (kind < 0.2) {
      request.response = true;
      if (chance(0.7)) request.router = &any_ni(*peers_[random_.below(peers_.size())]);
      if (chance(0.8)) request.source = site.ni(random_.below(site.local.nis.size())).nid;
    } else if (kind < 0.35) {
      request.forwarded = true;
      request.response = chance(0.3);
    } else if (kind < 0.45) {
      request.recovery = request.reserved_portal = true;
    } else if (kind < 0.55) {
      request.reserved_portal = true;
      if (chance(0.3)) request.check_net = chance(0.5) ? kTcp1 : kTcp0;
    } else if (kind < 0.65) {
      request.source =
          chance(0.9) ? site.ni(random_.below(site.local.nis.size())).nid : nid_on(kTcp0, 5);
    }
    if (chance(0.4)) request.distances = &distances_;
    request.memory_cpt = static_cast<std::uint16_t>(dice(0, 1));
    if (chance(0.1)) {
      device_priorities_.assign(16, 0);
      for (auto& priority : device_priorities_)
        priority = dice(0, 1);
      request.device_priorities = device_priorities_;
    }
    return request;
  }

  Site site;

 private:
  bool chance(double probability) { return random_.chance(probability); }
  std::uint32_t dice(std::uint32_t first, std::uint32_t last) {
    return static_cast<std::uint32_t>(random_.between(first, last));
  }
  PeerNi& any_ni(SitePeer& peer) { return peer.ni(random_.below(peer.nis.size())); }
  void add_preferences(PeerNi& ni) {
    if (!chance(0.25)) return;
    std::vector<Nid> nids;
    std::vector<Nid> routers;
    if (chance(0.6)) nids.push_back(site.ni(random_.below(site.local.nis.size())).nid);
    if (chance(0.6)) routers.push_back(peers_[random_.below(peers_.size())]->view.primary);
    site.prefer(ni, nids, routers);
  }

  Random& random_;
  std::size_t ours_ = 0;
  SitePeer* self_ = nullptr;
  std::vector<SitePeer*> peers_;
  CptDistances distances_{2, {10, 20, 21, 11}};
  std::vector<std::uint32_t> device_priorities_;
};

// What came of the cases, to see that none of them was missed.
struct Tally {
  int errors = 0;
  int loopback = 0;
  int direct = 0;
  int routed = 0;
  int hinted = 0;
  int hint_missed = 0;
  int recorded = 0;
};

void compare(const Expected& expected, const Result<Path>& path, Tally& tally) {
  ASSERT_EQ(path.has_value(), !expected.error.has_value());
  if (!path) {
    ++tally.errors;
    ASSERT_EQ(std::optional(path.error()), expected.error);
    return;
  }
  ASSERT_EQ(path->loopback, expected.loopback);
  if (path->loopback) {
    ++tally.loopback;
    return;
  }
  ASSERT_EQ(path->ni, expected.ni);
  ASSERT_EQ(path->next_hop, expected.next_hop);
  ASSERT_EQ(path->destination, expected.final_destination);
  ASSERT_EQ(path->route, expected.route);
  ASSERT_EQ(path->via_router, expected.via_router);
  ASSERT_EQ(path->hint_missed, expected.hint_missed);
  ASSERT_EQ(path->destination->preferred_ni.get(), expected.preferred_after);
  ASSERT_EQ(path->ni->net, path->next_hop->net);
  ++(path->via_router ? tally.routed : tally.direct);
  tally.hinted += path->via_router && path->route == nullptr;
  tally.hint_missed += path->hint_missed;
  tally.recorded += path->record_preference;
}

void run_site(std::uint64_t seed, Tally& tally) {
  Random random(seed);
  RandomSite world(random);
  Model model(world.site);
  NoWords trace;
  for (int message = 0; message < 20; ++message) {
    const PathRequest request = world.request();
    const Expected expected = model.select(request);
    Site& site = world.site;
    const auto foreseen =
        explain_path(request, site.local, site.routes, site.sequences, site.parameters, trace);
    const auto path = site.select(request);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", message " + std::to_string(message));
    ASSERT_NO_FATAL_FAILURE(compare(expected, path, tally));
    ASSERT_EQ(foreseen.has_value(), path.has_value());
    if (path) {
      ASSERT_EQ(foreseen->ni, path->ni);
      ASSERT_EQ(foreseen->next_hop, path->next_hop);
      ASSERT_EQ(foreseen->destination, path->destination);
      ASSERT_EQ(foreseen->record_preference, path->record_preference);
    }
    if (random.chance(0.5)) world.stir(0.2);
  }
}

TEST(PathModel, chooses_what_the_model_chooses) {
  Tally tally;
  for (std::uint64_t seed = 1; seed <= 2500; ++seed)
    ASSERT_NO_FATAL_FAILURE(run_site(seed, tally));
  RecordProperty("direct", tally.direct);
  RecordProperty("routed", tally.routed);
  EXPECT_GT(tally.errors, 1000);
  EXPECT_GT(tally.loopback, 500);
  EXPECT_GT(tally.direct, 10000);
  EXPECT_GT(tally.routed, 5000);
  EXPECT_GT(tally.hinted, 500);
  EXPECT_GT(tally.hint_missed, 200);
  EXPECT_GT(tally.recorded, 500);
}

}  // namespace
}  // namespace plnet::lnet
