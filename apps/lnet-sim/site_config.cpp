// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-sim/site_config.hpp"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>

#include "apps/lnet-sim/seeded_routers.hpp"
#include "lib/base/random.hpp"

namespace plnet::sim {

drivers::Seam seam_of(NetKind kind) {
  if (kind == NetKind::kKfi) return drivers::Seam::kEndpoint;
  return kind == NetKind::kRdma ? drivers::Seam::kVerbs : drivers::Seam::kStream;
}

Outcome<void> check_faults(const NetPlan& net) {
  for (const drivers::FaultRule& rule : net.faults.view()) {
    using drivers::Fault;
    const bool is_stream = net.kind == NetKind::kStream || net.kind == NetKind::kTcp;
    if (is_stream && rule.fault == Fault::kCorrupt) {
      return failure(Errc::kInvalid, "corrupt: TCP's checksum would catch it");
    }
    const bool spoils = rule.fault == Fault::kCorrupt || rule.fault == Fault::kTruncate;
    if (net.kind == NetKind::kKfi && spoils) {
      return failure(Errc::kInvalid,
                     fmt::format("{}: the NIC's CRC would catch it", drivers::name_of(rule.fault)));
    }
  }
  return drivers::check_plan(net.faults, seam_of(net.kind));
}

drivers::SimShape SiteConfig::shape() const {
  switch (weather) {
    case Weather::kCalm: return drivers::SimShape::calm();
    case Weather::kRough: return drivers::SimShape::rough();
    case Weather::kHostile: return drivers::SimShape::hostile();
  }
  return {};
}

bool SiteConfig::is_lazy() const {
  return lazy_memory && !has_kind(NetKind::kTcp) && !has_kind(NetKind::kKfi);
}

bool SiteConfig::has_kind(NetKind kind) const {
  return std::ranges::find(nets, kind, &NetPlan::kind) != nets.end();
}

SiteConfig SiteConfig::with_seed(std::uint64_t another) const {
  SiteConfig copy = *this;
  copy.seed = another;
  return copy;
}

namespace {

constexpr std::uint32_t kRealSizeMax = 1U << 15U;
// Of all seeds. They have dice of their own, so that this may change and the others stay.
constexpr double kRouted = 0.25;

// Some of what a device of that kind may do to an LND.
drivers::FaultPlan wire_faults(NetKind kind, Random& random) {
  using drivers::Direction;
  using drivers::Fault;
  struct Choice {
    Fault fault;
    Direction direction;
    bool breaks;  // a connection: seldom, else nothing is ever sent whole
  };
  static constexpr std::array kStreamChoices{
      Choice{Fault::kDelay, Direction::kTx, false}, Choice{Fault::kDelay, Direction::kRx, false},
      Choice{Fault::kStall, Direction::kTx, false}, Choice{Fault::kStall, Direction::kRx, false},
      Choice{Fault::kSplit, Direction::kTx, false}, Choice{Fault::kTruncate, Direction::kTx, true},
      Choice{Fault::kReset, Direction::kTx, true},  Choice{Fault::kReset, Direction::kRx, true}};
  static constexpr std::array kVerbsChoices{
      Choice{Fault::kDelay, Direction::kRx, false}, Choice{Fault::kStall, Direction::kTx, false},
      Choice{Fault::kReset, Direction::kTx, true}, Choice{Fault::kReset, Direction::kRx, true},
      Choice{Fault::kFail, Direction::kRx, true}};
  const std::span<const Choice> choices = kind == NetKind::kRdma
                                              ? std::span<const Choice>(kVerbsChoices)
                                              : std::span<const Choice>(kStreamChoices);
  drivers::FaultPlan plan;
  const auto count = random.between(1, 3);
  for (std::uint64_t i = 0; i < count; ++i) {
    const Choice& choice = choices[random.below(choices.size())];
    drivers::FaultRule rule{.fault = choice.fault, .direction = choice.direction};
    rule.probability = choice.breaks ? 0.002 * static_cast<double>(random.between(1, 10))
                                     : 0.01 * static_cast<double>(random.between(1, 20));
    rule.delay = std::chrono::microseconds(random.between(1, 3000));
    (void)plan.add(rule);
  }
  return plan;
}

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
    site.nets.push_back({.kind = static_cast<NetKind>(random.below(3)),
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
  Random routed = Random(seed).fork("routed");
  if (routed.chance(kRouted)) put_routers_into(site, routed);
  // A megabyte for each descriptor is too much to be real.
  site.lazy_memory = random.chance(0.5) || traffic.size_max > 1U << 14U;
  if (!site.is_lazy()) traffic.size_max = std::min(traffic.size_max, kRealSizeMax);
  site.discovery = random.chance(0.8);
  for (NetPlan& net : site.nets) {
    if (random.chance(0.4)) net.faults = wire_faults(net.kind, random);
  }
  return site;
}

}  // namespace plnet::sim
