// SPDX-License-Identifier: BSD-3-Clause
// All faults of a router, alone and in pairs: first longer than their detection takes, then long
// enough for recovery. The site checks its invariants itself; this test checks that the faults of
// each case have happened.
#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "apps/lnet-sim/site/site.hpp"

namespace plnet::sim::mishaps_test {
namespace {

constexpr std::uint64_t kSeedsMax = 6;  // until the faults of a case have happened
constexpr unsigned kEpisodes = 2;

bool contains(const std::vector<Mishap>& all, Mishap one) {
  return std::ranges::find(all, one) != all.end();
}

// Clients with TCP and servers without, each with routes by three routers.
SiteConfig site_with(const std::vector<Mishap>& mishaps, std::uint64_t seed) {
  SiteConfig site;
  site.seed = seed;
  site.nodes = 8;
  site.nets = {{.name = "edge", .kind = NetKind::kTcp}, {.name = "core"}};
  const std::vector<RoutePlan> out{{.net = 1, .via = 1, .hops = 1}};
  const std::vector<RoutePlan> home{{.net = 0, .via = 1, .hops = 1}};
  site.groups = {
      {.name = "clients",
       .nodes = 3,
       .shards = {1, 2},
       .nets = {0},
       .talks_to = {2},
       .routes = out},
      {.name = "routers", .nodes = 3, .shards = {1, 2, 4}, .nets = {0, 1}, .router = true},
      {.name = "servers", .nodes = 2, .shards = {2}, .nets = {1}, .talks_to = {0}, .routes = home}};
  site.gateways = {.check_interval_s = 1, .ping_timeout_s = 5};
  site.lnd_timeout_s = 3;
  site.time = std::chrono::seconds(40);
  site.traffic.operations = 80;
  site.traffic.pause = std::chrono::seconds(1);
  if (contains(mishaps, Mishap::kExhaustion)) {
    // One large buffer each, and every few seconds many simultaneous messages that need one.
    site.groups[1].shards = {1};
    site.groups[1].buffers = {{1, 1, 1}};
    site.traffic.operations = 240;
    site.traffic.window = site.traffic.burst = 24;
    site.traffic.pause = std::chrono::seconds(6);
    site.traffic.size_min = site.traffic.size_max = 1U << 14U;
  }
  EpisodePlan episode{.count = kEpisodes};
  for (const Mishap mishap : mishaps) {
    if (mishap != Mishap::kExhaustion) episode.mishaps.push_back(mishap);
  }
  if (!episode.mishaps.empty()) site.faults.episodes = {episode};
  const RouteBounds bounds(site.gateways);
  site.faults.outage = bounds.gone() + std::chrono::seconds(1);
  site.faults.outage_max = 2 * bounds.gone();
  return site;
}

std::string name_of_all(const std::vector<Mishap>& mishaps) {
  std::string name;
  for (const Mishap mishap : mishaps)
    name += (name.empty() ? "" : "_and_") + std::string(name_of(mishap));
  return name;
}

// The number of times that routes were checked for being up again, and for being down.
struct Held {
  std::uint64_t up = 0;
  std::uint64_t down = 0;
};

Held held_by(const SiteReport& report) {
  const auto count = [&](RouteTruth truth) {
    return report.routes_outlasted[static_cast<std::size_t>(truth)];
  };
  return {.up = count(RouteTruth::kUp),
          .down = count(RouteTruth::kGone) + count(RouteTruth::kLinkDown) +
                  count(RouteTruth::kNotRouting)};
}

// The state of routes that this fault alone requires; kUnknown: none meanwhile.
RouteTruth truth_behind(Mishap mishap) {
  switch (mishap) {
    case Mishap::kCrash:
    case Mishap::kPartition:
    case Mishap::kOneWay: return RouteTruth::kGone;
    case Mishap::kFlap: return RouteTruth::kLinkDown;
    case Mishap::kDrain: return RouteTruth::kNotRouting;
    default: return RouteTruth::kUnknown;
  }
}

// Only these faults cut the route through a router in every case.
bool takes_way(Mishap mishap) {
  return mishap == Mishap::kCrash || mishap == Mishap::kFlap || mishap == Mishap::kPartition;
}

bool takes_any_way(const std::vector<Mishap>& mishaps) {
  return std::ranges::any_of(mishaps, takes_way);
}

class Alone : public testing::TestWithParam<Mishap> {};

TEST_P(Alone, IsSurvivedAndNoticed) {
  const Mishap mishap = GetParam();
  const auto behind = static_cast<std::size_t>(truth_behind(mishap));
  std::uint64_t seen = 0;
  std::uint64_t held_to = 0;
  Held held;
  const auto has_happened = [&] { return seen > 0 && held.up > 0 && (behind == 0 || held_to > 0); };
  for (std::uint64_t seed = 1; seed <= kSeedsMax && !has_happened(); ++seed) {
    const SiteReport report = run_site(site_with({mishap}, seed));
    ASSERT_EQ(report.violation, "") << name_of(mishap) << ", seed " << seed;
    EXPECT_GT(report.wire.relayed, report.operations.begun);
    for (std::size_t i = 0; i < kMishaps; ++i) {
      const auto other = static_cast<Mishap>(i);
      if (other == mishap || other == Mishap::kExhaustion) continue;
      EXPECT_EQ(report.mishaps.seen(other), 0U) << "not alone: " << name_of(other);
    }
    seen += report.mishaps.seen(mishap);
    held.up += held_by(report).up;
    held.down += held_by(report).down;
    held_to += report.routes_outlasted[behind];
    if (mishap == Mishap::kExhaustion || mishap == Mishap::kPeerDelete) ++held.up;  // no route lost
  }
  EXPECT_GT(seen, 0U);
  EXPECT_GT(held.up, 0U) << "routes that have come back";
  if (behind != 0) {
    EXPECT_GT(held_to, 0U) << "routes that were to be down for longer than is allowed";
  }
  testing::Test::RecordProperty("held_up", std::to_string(held.up));
  testing::Test::RecordProperty("held_down", std::to_string(held.down));
}

using Pair = std::tuple<Mishap, Mishap>;

std::vector<Pair> all_pairs() {
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < kMishaps; ++i) {
    for (std::size_t j = i + 1; j < kMishaps; ++j)
      pairs.emplace_back(static_cast<Mishap>(i), static_cast<Mishap>(j));
  }
  return pairs;
}

std::vector<Mishap> all_mishaps() {
  std::vector<Mishap> all;
  for (std::size_t i = 0; i < kMishaps; ++i)
    all.push_back(static_cast<Mishap>(i));
  return all;
}

class InPairs : public testing::TestWithParam<Pair> {};

TEST_P(InPairs, AreSurvivedAndNoticed) {
  const auto [one, other] = GetParam();
  const std::vector<Mishap> both{one, other};
  std::uint64_t together = 0;
  Held held;
  for (std::uint64_t seed = 1; seed <= kSeedsMax && together == 0; ++seed) {
    const SiteReport report = run_site(site_with(both, seed));
    ASSERT_EQ(report.violation, "") << name_of_all(both) << ", seed " << seed;
    together += report.mishaps.together(one, other);
    held.up += held_by(report).up;
    held.down += held_by(report).down;
  }
  EXPECT_GT(together, 0U) << name_of_all(both);
  if (takes_any_way(both)) {
    EXPECT_GT(held.up, 0U) << "routes that have come back";
    EXPECT_GT(held.down, 0U) << "routes that were gone for longer than is allowed";
  }
}

INSTANTIATE_TEST_SUITE_P(Mishaps, Alone, testing::ValuesIn(all_mishaps()),
                         [](const auto& one) { return std::string(name_of(one.param)); });
INSTANTIATE_TEST_SUITE_P(Mishaps, InPairs, testing::ValuesIn(all_pairs()), [](const auto& pair) {
  return name_of_all({std::get<0>(pair.param), std::get<1>(pair.param)});
});

}  // namespace
}  // namespace plnet::sim::mishaps_test
