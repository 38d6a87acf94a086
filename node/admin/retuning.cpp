// SPDX-License-Identifier: BSD-3-Clause
#include "node/admin/retuning.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "lib/lnet/node/node.hpp"
#include "node/host/lnet_host.hpp"
#include "node/host/ni_resolver.hpp"
#include "node/host/open_families.hpp"
#include "node/host/shard_tour.hpp"

namespace plnet::node {
namespace {

using lnet::NetConfig;
using lnet::NiConfig;
using lnet::NodeConfig;
using lnet::Reply;

// An NI and its new tunables.
struct Retuned {
  lnet::NiSetup setup;
  std::function<void(unsigned shard)> tune_on;
};

void tune_on(lnet::Node& node, unsigned shard, const std::vector<Retuned>& nis) {
  for (const Retuned& tuned : nis) {
    tuned.tune_on(shard);
    // Shard 0 has the coordinator, which owns the NIs.
    lnet::Ni* const ni = shard == 0 ? node.coordinator().local().ni(tuned.setup.nid) : nullptr;
    if (ni == nullptr) continue;
    ni->lnd_timeout.set(tuned.setup.lnd_timeout);
    ni->lnd_tunables = tuned.setup.lnd_tunables;
  }
}

bool is_meant(const lnet::NiChange& change, const NetConfig& net, const NiConfig& ni) {
  return change.is_for(net.net, ni.nid.value_or(lnet::Nid::any()));
}

}  // namespace

Outcome<void> tune(NodeConfig& config, const lnet::NiChange& change, const OpenFamilies& families) {
  const bool tunes = change.connections_per_peer || change.lnd_timeout_s;
  bool found = change.all;
  for (NetConfig& net : config.nets) {
    for (NiConfig& ni : net.nis) {
      if (!is_meant(change, net, ni)) continue;
      found = true;
      FamilyHost* const host = families.host_of(net.net, ni);
      if (!tunes || host == nullptr) continue;
      auto tuned = host->tune(net.net, ni, change);
      const bool passed_over = change.all && !tuned && tuned.error().code == Errc::kNotSupported;
      if (!tuned && !passed_over) return tuned;
    }
  }
  if (found) return {};
  return failure(Errc::kNotFound, "no such NI");
}

void retune(LnetDesk& desk, LnetHost& host, const NodeConfig& config, Reply<void> after) {
  std::vector<Retuned> nis;
  for (const NetConfig& net : config.nets) {
    for (const NiConfig& ni : net.nis) {
      if (!ni.nid) continue;
      auto resolved = host.resolve(net.net, ni);
      if (!resolved || resolved->family == nullptr) continue;  // not on this machine any more
      FamilyHost& family = host.families().host_of(*resolved->family);
      family.rules()->keep_in_force(ni, resolved->setup);
      auto tuning = family.tuning_of(*ni.nid, resolved->setup.lnd_tunables);
      if (tuning) nis.push_back({std::move(resolved->setup), std::move(tuning)});
    }
  }
  tour_shards(
      desk,
      [nis = std::move(nis)](lnet::Node& node, unsigned shard) {
        tune_on(node, shard, nis);
        return LnetDesk::Progress::kDone;
      },
      std::move(after));
}

std::vector<TunablesInForce> tunables_in_force(lnet::Node& node) {
  std::vector<TunablesInForce> all;
  for (const lnet::Ni* const ni : node.coordinator().local().nis)
    all.push_back({.nid = ni->nid, .values = ni->lnd_tunables});
  return all;
}

void note_in_force(const OpenFamilies& families, const NodeConfig& config,
                   const std::vector<TunablesInForce>& in_force) {
  for (const auto& host : families.hosts())
    host->forget_in_force();
  for (const NetConfig& net : config.nets) {
    for (const NiConfig& ni : net.nis) {
      FamilyHost* const host = families.host_of(net.net, ni);
      const auto there = std::ranges::find_if(
          in_force, [&ni](const TunablesInForce& each) { return ni.nid == each.nid; });
      if (host != nullptr && there != in_force.end()) host->note_in_force(ni, there->values);
    }
  }
}

}  // namespace plnet::node
