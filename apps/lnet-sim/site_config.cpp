// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-sim/site_config.hpp"

#include "lib/base/random.hpp"

namespace plnet::sim {

drivers::SimShape SiteConfig::shape() const {
  switch (weather) {
    case Weather::kCalm: return drivers::SimShape::calm();
    case Weather::kRough: return drivers::SimShape::rough();
    case Weather::kHostile: return drivers::SimShape::hostile();
  }
  return {};
}

SiteConfig SiteConfig::with_seed(std::uint64_t another) const {
  SiteConfig copy = *this;
  copy.seed = another;
  return copy;
}

SiteConfig site_of_seed(std::uint64_t seed) {
  Random random = Random(seed).fork("site");
  SiteConfig site;
  site.name = "seed";
  site.seed = seed;
  site.nodes = static_cast<unsigned>(random.between(2, 5));
  site.shards.clear();
  for (unsigned i = 0; i < site.nodes; ++i)
    site.shards.push_back(1U << random.below(3));
  site.nets.clear();
  const auto nets = random.between(1, 2);
  for (unsigned i = 0; i < nets; ++i) {
    site.nets.push_back({.kind = random.chance(0.5) ? NetKind::kStream : NetKind::kRdma,
                         .interfaces = static_cast<unsigned>(random.between(1, 2))});
  }
  site.weather = static_cast<Weather>(random.below(3));
  TrafficPlan& traffic = site.traffic;
  traffic.operations = static_cast<unsigned>(random.between(30, 120));
  traffic.window = 1U << random.below(4);
  traffic.burst = 1U << random.below(3);
  traffic.size_max = random.chance(0.3) ? 1U << 20U : 1U << random.between(6, 16);
  traffic.pause = std::chrono::microseconds(1 + random.below(200));
  traffic.unlink_percent = static_cast<unsigned>(random.below(40));
  traffic.abandon_percent = static_cast<unsigned>(random.below(10));
  traffic.scattered = random.chance(0.7);
  site.time = std::chrono::milliseconds(random.between(1, 40));
  if (random.chance(0.4)) site.faults.kills = static_cast<unsigned>(random.between(1, 2));
  if (random.chance(0.3)) site.faults.partitions = static_cast<unsigned>(random.between(1, 3));
  if (random.chance(0.4)) site.faults.peer_deletes = static_cast<unsigned>(random.between(1, 6));
  site.faults.outage = std::chrono::milliseconds(random.between(1, 4000));
  // A megabyte for each descriptor is too much to be real.
  site.lazy_memory = random.chance(0.5) || traffic.size_max > 1U << 14U;
  site.discovery = random.chance(0.8);
  return site;
}

}  // namespace plnet::sim
