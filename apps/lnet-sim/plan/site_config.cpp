// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-sim/plan/site_config.hpp"

#include <algorithm>

#include "apps/lnet-sim/plan/seeded_routers.hpp"
#include "lib/base/random.hpp"

namespace plnet::sim {

drivers::SimShape SiteConfig::shape() const {
  drivers::SimShape shape;
  switch (weather) {
    case Weather::kCalm: break;
    case Weather::kRough: shape = drivers::SimShape::rough(); break;
    case Weather::kHostile: shape = drivers::SimShape::hostile(); break;
  }
  shape.verbs.drains_early = drains_early;
  return shape;
}

bool SiteConfig::is_lazy() const {
  return lazy_memory &&
         std::ranges::all_of(nets, [](const NetPlan& net) { return traits_of(net.kind).is_lazy; });
}

SiteConfig SiteConfig::with_seed(std::uint64_t another) const {
  SiteConfig copy = *this;
  copy.seed = another;
  return copy;
}

namespace {

constexpr std::uint32_t kRealSizeMax = 1U << 15U;
// Share of all seeds. It has a generator of its own, so that a change leaves the other draws
// unchanged.
constexpr double kRouted = 0.25;

}  // namespace

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
    site.nets.push_back(
        {.kind = drawn_kind(random), .interfaces = static_cast<unsigned>(random.between(1, 2))});
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
  Random routed = Random(seed).fork("routed");
  if (routed.chance(kRouted)) put_routers_into(site, routed);
  // 1 MiB for each descriptor is too much for real memory.
  site.lazy_memory = random.chance(0.5) || traffic.size_max > 1U << 14U;
  if (!site.is_lazy()) traffic.size_max = std::min(traffic.size_max, kRealSizeMax);
  site.discovery = random.chance(0.8);
  for (NetPlan& net : site.nets) {
    if (random.chance(0.4)) net.faults = drawn_faults(net.kind, random);
  }
  return site;
}

}  // namespace plnet::sim
