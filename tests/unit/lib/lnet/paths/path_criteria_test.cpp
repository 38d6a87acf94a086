// SPDX-License-Identifier: BSD-3-Clause
// Each criterion of each contest: the candidate that is better in it wins, though it is worse in
// all later criteria and not better in any earlier one.
#include <array>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/lib/lnet/paths/path_site.hpp"

namespace plnet::lnet::path_criteria_test {
namespace {

struct Loss {
  const void* loser;
  const void* winner;
  Criterion by;
};

class Losses final : public PathTrace {
 public:
  void lost(const Ni& a, const Ni& b, Criterion by) override { all.push_back({&a, &b, by}); }
  void lost(const PeerNi& a, const PeerNi& b, Criterion by) override {
    all.push_back({&a, &b, by});
  }
  void lost(const PeerNetView& a, const PeerNetView& b, Criterion by) override {
    all.push_back({&a, &b, by});
  }
  void lost(const Route& a, const Route& b, Criterion by) override { all.push_back({&a, &b, by}); }
  void excluded(const PeerNetView& net, Exclusion why) override { out.emplace_back(&net, why); }
  void excluded(const Route& route, Exclusion why) override { out.emplace_back(&route, why); }

  [[nodiscard]] bool has(const void* loser, const void* winner, Criterion by) const {
    for (const Loss& loss : all) {
      if (loss.loser == loser && loss.winner == winner && loss.by == by) return true;
    }
    return false;
  }
  [[nodiscard]] bool has(const void* what, Exclusion why) const {
    for (const auto& [thing, reason] : out) {
      if (thing == what && reason == why) return true;
    }
    return false;
  }

  std::vector<Loss> all;
  std::vector<std::pair<const void*, Exclusion>> out;
};

// Two NIs on one net, one peer NI.
struct Arena {
  PathSite site;
  SitePeer* peer = nullptr;
  std::vector<SitePeer*> gateways;
  std::array<std::uint32_t, 8> device_priorities{};
  CptDistances distances{2, {10, 20, 20, 10}};
  PathRequest request;

  Result<Path> select_explained(Losses& losses) {
    const auto foreseen =
        explain_path(request, site.local, site.routes, site.sequences, site.parameters, losses);
    const auto path = site.select(request);
    EXPECT_EQ(foreseen.has_value(), path.has_value());
    if (foreseen && path) {
      EXPECT_EQ(foreseen->ni, path->ni);
      EXPECT_EQ(foreseen->next_hop, path->next_hop);
      EXPECT_EQ(foreseen->destination, path->destination);
      EXPECT_EQ(foreseen->route, path->route);
    }
    return path;
  }
};

struct Rung {
  Criterion criterion;
  // Makes candidate `good` better than candidate `bad` in this criterion only.
  std::function<void(Arena&, std::size_t good, std::size_t bad)> favour;
};

// For each criterion: the second candidate is better in it, the first in all lower ones. Then with
// exchanged roles, so that the position in the list cannot decide.
void climb(const std::vector<Rung>& ladder, const std::function<void(Arena&)>& build,
           const std::function<const void*(Arena&, const Path&)>& winner_of,
           const std::function<const void*(Arena&, std::size_t)>& candidate) {
  for (std::size_t rung = 0; rung < ladder.size(); ++rung) {
    for (const std::size_t good : {0U, 1U}) {
      SCOPED_TRACE(std::string(text_of(ladder[rung].criterion)) + ", candidate " +
                   std::to_string(good));
      Arena arena;
      build(arena);
      ladder[rung].favour(arena, good, 1 - good);
      for (std::size_t lower = rung + 1; lower < ladder.size(); ++lower)
        ladder[lower].favour(arena, 1 - good, good);
      Losses losses;
      const auto path = arena.select_explained(losses);
      ASSERT_TRUE(path);
      EXPECT_EQ(winner_of(arena, *path), candidate(arena, good));
      EXPECT_TRUE(
          losses.has(candidate(arena, 1 - good), candidate(arena, good), ladder[rung].criterion));
    }
  }
}

TEST(PathCriteria, local_interfaces_are_compared_in_the_kernels_order) {
  const std::vector<Rung> ladder = {
      {Criterion::kFatal,
       [](Arena& a, std::size_t, std::size_t bad) { a.site.ni(bad).fatal.set(true); }},
      {Criterion::kHealth,
       [](Arena& a, std::size_t, std::size_t bad) { a.site.ni(bad).health.set(900); }},
      {Criterion::kPriority,
       [](Arena& a, std::size_t good, std::size_t) { a.site.ni(good).priority.set(3); }},
      {Criterion::kDevicePriority,
       [](Arena& a, std::size_t, std::size_t bad) {
         a.device_priorities[a.site.ni(bad).number] = 7;
       }},
      {Criterion::kDistance,
       [](Arena& a, std::size_t, std::size_t bad) { a.site.ni(bad).device_cpt = 1; }},
      {Criterion::kCredits, [](Arena& a, std::size_t good,
                               std::size_t) { PathSite::set_credits(a.site.ni(good), 101); }},
      {Criterion::kSequence,
       [](Arena& a, std::size_t, std::size_t bad) {
         a.site.sequences.use(a.site.local.nets[0], a.site.ni(bad));
       }},
  };
  climb(
      ladder,
      [](Arena& a) {
        a.site.add_net(kTcp0, 2);
        a.peer = &a.site.add_peer(true, {{kTcp0, 1}});
        a.request = {.destination = &a.peer->ni(),
                     .distances = &a.distances,
                     .device_priorities = a.device_priorities};
      },
      [](Arena&, const Path& path) -> const void* { return path.ni; },
      [](Arena& a, std::size_t i) -> const void* { return &a.site.ni(i); });
}

const std::vector<Rung> kPeerNiLadder = {
    {Criterion::kHealth,
     [](Arena& a, std::size_t, std::size_t bad) { a.peer->ni(bad).health.set(0); }},
    {Criterion::kPriority,
     [](Arena& a, std::size_t good, std::size_t) { a.peer->ni(good).priority.set(0); }},
    {Criterion::kPreferred,
     [](Arena& a, std::size_t good, std::size_t) {
       a.site.prefer(a.peer->ni(good), {a.site.ni(0).nid}, {});
     }},
    {Criterion::kCredits,
     [](Arena& a, std::size_t, std::size_t bad) { a.peer->ni(bad).tx_credits.set(-3); }},
    {Criterion::kSequence,
     [](Arena& a, std::size_t, std::size_t bad) {
       a.site.sequences.use(a.peer->nets[0], a.peer->ni(bad));
     }},
};

TEST(PathCriteria, peer_interfaces_are_compared_in_the_kernels_order) {
  climb(
      kPeerNiLadder,
      [](Arena& a) {
        a.site.add_net(kTcp0, 1);
        a.peer = &a.site.add_peer(true, {{kTcp0, 2}});
        a.request = {.destination = &a.peer->ni()};
      },
      [](Arena&, const Path& path) -> const void* { return path.next_hop; },
      [](Arena& a, std::size_t i) -> const void* { return &a.peer->ni(i); });
}

TEST(PathCriteria, of_a_remote_peer_nothing_is_preferred_by_source_as_none_is_chosen_yet) {
  auto ladder = kPeerNiLadder;
  ladder.erase(ladder.begin() + 2);
  climb(
      ladder,
      [](Arena& a) {
        a.site.add_net(kTcp0, 1);
        a.peer = &a.site.add_peer(true, {{kIb0, 2}});
        a.gateways.push_back(&a.site.add_peer(true, {{kTcp0, 1}}));
        a.site.add_route(kIb0, *a.gateways[0]);
        a.request = {.destination = &a.peer->ni()};
      },
      [](Arena&, const Path& path) -> const void* { return path.destination; },
      [](Arena& a, std::size_t i) -> const void* { return &a.peer->ni(i); });
}

const std::vector<Rung> kPeerNetLadder = {
    {Criterion::kHealth,
     [](Arena& a, std::size_t, std::size_t bad) { a.peer->ni(bad).health.set(700); }},
    {Criterion::kPriority,
     [](Arena& a, std::size_t good, std::size_t) { a.peer->nets[good].priority = 9; }},
    {Criterion::kLocalNetHealth,
     [](Arena& a, std::size_t, std::size_t bad) { a.site.ni(bad).fatal.set(true); }},
    {Criterion::kLocalNetPriority,
     [](Arena& a, std::size_t good, std::size_t) { a.site.local.nets[good].priority->set(2); }},
    {Criterion::kSequence,
     [](Arena& a, std::size_t, std::size_t bad) {
       a.site.sequences.use(a.peer->nets[bad], a.peer->ni(bad));
     }},
    {Criterion::kLocalNetSequence,
     [](Arena& a, std::size_t, std::size_t bad) {
       a.site.sequences.use(a.site.local.nets[bad], a.site.ni(bad));
     }},
};

TEST(PathCriteria, nets_that_are_ours_are_compared_in_the_kernels_order) {
  climb(
      kPeerNetLadder,
      [](Arena& a) {
        a.site.add_net(kTcp0, 1);
        a.site.add_net(kTcp1, 1);
        a.peer = &a.site.add_peer(true, {{kTcp0, 1}, {kTcp1, 1}});
        a.request = {.destination = &a.peer->ni()};
      },
      [](Arena& a, const Path& path) -> const void* { return a.peer->view.net(path.ni->net); },
      [](Arena& a, std::size_t i) -> const void* { return &a.peer->nets[i]; });
}

TEST(PathCriteria, nets_behind_gateways_are_compared_in_the_kernels_order) {
  climb(
      {kPeerNetLadder[0], kPeerNetLadder[1], kPeerNetLadder[4]},
      [](Arena& a) {
        a.site.add_net(kTcp0, 1);
        a.peer = &a.site.add_peer(true, {{kIb0, 1}, {kIb1, 1}});
        a.gateways.push_back(&a.site.add_peer(true, {{kTcp0, 1}}));
        a.site.add_route(kIb0, *a.gateways[0]);
        a.site.add_route(kIb1, *a.gateways[0]);
        a.request = {.destination = &a.peer->ni()};
      },
      [](Arena& a, const Path& path) -> const void* {
        return a.peer->view.net(path.destination->net);
      },
      [](Arena& a, std::size_t i) -> const void* { return &a.peer->nets[i]; });
}

TEST(PathCriteria, routes_are_compared_in_the_kernels_order) {
  const auto route = [](Arena& a, std::size_t i) -> Route& { return *a.site.route_list()[i]; };
  const auto gateway = [](Arena& a, std::size_t i) -> PeerNi& { return a.gateways[i]->ni(); };
  const std::vector<Rung> ladder = {
      {Criterion::kPreferred,
       [=](Arena& a, std::size_t good, std::size_t) {
         a.site.prefer(a.peer->ni(), {}, {a.gateways[good]->view.primary});
       }},
      {Criterion::kRoutePriority,
       [=](Arena& a, std::size_t, std::size_t bad) { route(a, bad).spec.priority = 1; }},
      {Criterion::kHops,
       [=](Arena& a, std::size_t, std::size_t bad) { route(a, bad).spec.hops = 2; }},
      {Criterion::kGatewayHealth,
       [=](Arena& a, std::size_t, std::size_t bad) { gateway(a, bad).health.set(999); }},
      {Criterion::kQueuedBytes,
       [=](Arena& a, std::size_t, std::size_t bad) { gateway(a, bad).queued_bytes.set(4096); }},
      {Criterion::kCredits,
       [=](Arena& a, std::size_t good, std::size_t) { gateway(a, good).tx_credits.set(9); }},
      {Criterion::kSequence,
       [=](Arena& a, std::size_t, std::size_t bad) { a.site.sequences.use(route(a, bad)); }},
  };
  climb(
      ladder,
      [](Arena& a) {
        a.site.add_net(kTcp0, 1);
        a.peer = &a.site.add_peer(true, {{kIb0, 1}});
        for (int i = 0; i < 2; ++i) {
          a.gateways.push_back(&a.site.add_peer(true, {{kTcp0, 1}}));
          a.site.add_route(kIb0, *a.gateways.back());
        }
        a.request = {.destination = &a.peer->ni()};
      },
      [](Arena&, const Path& path) -> const void* { return path.route; },
      [=](Arena& a, std::size_t i) -> const void* { return &route(a, i); });
}

TEST(PathCriteria, hops_that_nobody_defined_count_as_one) {
  PathSite site;
  site.add_net(kTcp0, 1);
  SitePeer& peer = site.add_peer(true, {{kIb0, 1}});
  Route& undefined = site.add_route(kIb0, site.add_peer(true, {{kTcp0, 1}}));
  Route& one = site.add_route(kIb0, site.add_peer(true, {{kTcp0, 1}}), 0, 1);
  site.sequences.use(one);
  EXPECT_EQ(site.select(peer.ni())->route, &undefined);
}

TEST(PathCriteria, of_equal_interfaces_the_first_wins_and_of_equal_routes_the_last) {
  Arena a;
  a.site.add_net(kTcp0, 2);
  a.peer = &a.site.add_peer(true, {{kIb0, 1}});
  Route& first = a.site.add_route(kIb0, a.site.add_peer(true, {{kTcp0, 1}}));
  Route& last = a.site.add_route(kIb0, a.site.add_peer(true, {{kTcp0, 1}}));
  a.request = {.destination = &a.peer->ni()};
  Losses losses;
  const auto path = a.select_explained(losses);
  ASSERT_TRUE(path);
  EXPECT_EQ(path->ni, &a.site.ni(0));
  EXPECT_TRUE(losses.has(&a.site.ni(1), &a.site.ni(0), Criterion::kOrder));
  EXPECT_EQ(path->route, &last);
  EXPECT_TRUE(losses.has(&first, &last, Criterion::kOrder));
}

TEST(PathCriteria, distances_within_the_numa_range_are_one) {
  PathSite site;
  site.add_net(kTcp0, 2);
  SitePeer& peer = site.add_peer(true, {{kTcp0, 1}});
  const CptDistances distances(2, {10, 20, 20, 10});
  site.ni(0).device_cpt = 1;
  PathRequest request{.destination = &peer.ni(), .distances = &distances};
  site.parameters.numa_range.set(19);
  EXPECT_EQ(site.select(request)->ni, &site.ni(1));
  EXPECT_EQ(site.select(request)->ni, &site.ni(1));
  site.parameters.numa_range.set(20);
  EXPECT_EQ(site.select(request)->ni, &site.ni(0));
  EXPECT_EQ(site.select(request)->ni, &site.ni(1));

  // Device priorities do not count without device memory.
  const std::array<std::uint32_t, 8> same{};
  request.device_priorities = same;
  EXPECT_EQ(site.select(request)->ni, &site.ni(1));
  EXPECT_EQ(site.select(request)->ni, &site.ni(1));
}

TEST(PathCriteria, distances_to_cpts_that_there_are_not_are_the_farthest) {
  const CptDistances distances(2, {10, 20, 21, 11});
  EXPECT_EQ(distances.between(0, 1), 20U);
  EXPECT_EQ(distances.between(1, 0), 21U);
  EXPECT_EQ(distances.between(2, 0), UINT32_MAX);
  EXPECT_EQ(distances.between(0, 2), UINT32_MAX);
}

TEST(PathCriteria, what_is_no_alternative_is_named_with_its_reason) {
  Arena a;
  a.site.add_net(kTcp0, 1);
  a.site.add_net(kTcp1, 1);
  a.peer = &a.site.add_peer(true, {{kKfi0, 1}, {kIb0, 1}});
  Route& down = a.site.add_route(kIb0, a.site.add_peer(true, {{kTcp0, 1}}));
  Route& elsewhere = a.site.add_route(kIb0, a.site.add_peer(true, {{kIb1, 1}}));
  Route& good = a.site.add_route(kIb0, a.site.add_peer(true, {{kTcp1, 1}}));
  down.alive.set(false);
  a.request = {.destination = &a.peer->ni(1)};
  Losses losses;
  const auto path = a.select_explained(losses);
  ASSERT_TRUE(path);
  EXPECT_EQ(path->route, &good);
  EXPECT_TRUE(losses.has(&a.peer->nets[0], Exclusion::kNotLocal));
  EXPECT_TRUE(losses.has(&a.peer->nets[1], Exclusion::kNotLocal));
  EXPECT_TRUE(losses.has(&a.peer->nets[0], Exclusion::kNoRoutes));
  EXPECT_TRUE(losses.has(&down, Exclusion::kRouteDown));
  EXPECT_TRUE(losses.has(&elsewhere, Exclusion::kGatewayNotOnNet));
  EXPECT_FALSE(text_of(Exclusion::kRouteDown).empty());
}

TEST(PathCriteria, explaining_changes_nothing) {
  PathSite site;
  site.add_net(kTcp0, 2);
  SitePeer& peer = site.add_peer(false, {{kTcp0, 1}});
  Losses losses;
  for (int i = 0; i < 3; ++i) {
    const auto path = explain_path({.destination = &peer.ni()}, site.local, site.routes,
                                   site.sequences, site.parameters, losses);
    ASSERT_TRUE(path);
    EXPECT_EQ(path->ni, &site.ni(0));
    EXPECT_TRUE(path->record_preference);
    EXPECT_EQ(peer.ni().preferred_ni.get(), nullptr);
    EXPECT_EQ(site.sequences.of(site.ni(0)), 0U);
  }
}

}  // namespace
}  // namespace plnet::lnet::path_criteria_test
