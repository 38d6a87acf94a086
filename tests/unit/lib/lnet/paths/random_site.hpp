// SPDX-License-Identifier: BSD-3-Clause
// A site with many equal values, so that late criteria decide often.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "lib/base/random.hpp"
#include "tests/unit/lib/lnet/paths/path_site.hpp"

namespace plnet::lnet {

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
      PathSite::set_credits(*ni, static_cast<std::int32_t>(dice(99, 100)));
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
      request.accepts_any_nid = chance(0.5);
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

  PathSite site;

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

}  // namespace plnet::lnet
