// SPDX-License-Identifier: BSD-3-Clause
// Starving router buffers: which pools grow, which do not, and the reports.
#include <optional>

#include <gtest/gtest.h>

#include "tests/unit/lib/lnet/move/forward_rig.hpp"

namespace plnet::lnet::forward_pools_test {
namespace {

using What = StarvingNote::What;

constexpr auto kSmall = BufferClass::kSmall;
const Nid kClient = ForwardRig::client(10);
const Nid kServer = ForwardRig::server(20);
const Nid kBackup = ForwardRig::server(21);
constexpr Duration kLook = std::chrono::milliseconds(1500);

ForwardSetup setup(bool automatic) {
  return {.buffers = {{8, 4, 1}},
          .automatic = {{automatic, automatic, automatic}},
          .budget = {.most_bytes = std::uint64_t{100} << 20U, .most = {{8, 6, 1}}, .records = 100},
          .tunables = {.peer_buffer_credits = 64}};
}

struct Pools : ForwardRig {
  explicit Pools(bool automatic) : ForwardRig(setup(automatic)) {
    for (const Nid& nid : {kClient, kServer, kBackup})
      node.add_peer(nid, ShardId{0});
    settle();
  }
  void forward_to(const Nid& to) { (void)forward(kClient, to, 10, {++index, 1}); }
  // One hop has its share, the other nearly all that remains.
  void starve() {
    for (const Nid& to : {kServer, kServer, kServer, kBackup, kBackup})
      forward_to(to);
  }
  std::optional<StarvingNote> note() {
    StarvingNote told;
    if (core().keeper.pop_note(told)) return told;
    return std::nullopt;
  }
  std::uint32_t small() { return core().buffers.total(kSmall); }

  std::uint32_t index = 0;
};

TEST(ForwardPools, AStarvingClassGrowsAndWaitingMessagesContinue) {
  Pools pools(true);
  pools.starve();
  EXPECT_EQ(pools.out().held.size(), 3U);
  pools.pass(kLook);
  EXPECT_GT(pools.small(), 4U);
  pools.go_on();
  EXPECT_GT(pools.out().held.size(), 3U) << "before any buffer came home";
  const auto told = pools.note();
  ASSERT_TRUE(told);
  EXPECT_EQ(told->what, What::kBegins);
  EXPECT_EQ(told->of, kSmall);
  EXPECT_EQ(told->waited, 1U) << "the other one waited for its hop's share";
  EXPECT_EQ(told->buffers, 5U);
  EXPECT_EQ(told->bound, PoolBound::kNone);
  EXPECT_EQ(told->hop, kServer);
  EXPECT_EQ(told->hop_holds, 2U);
  EXPECT_FALSE(pools.note());
  pools.end_all();
  pools.expect_conserved();
}

TEST(ForwardPools, AConfiguredClassStaysAndIsReported) {
  Pools pools(false);
  pools.starve();
  pools.pass(kLook);
  EXPECT_EQ(pools.small(), 4U);
  const auto told = pools.note();
  ASSERT_TRUE(told);
  EXPECT_EQ(told->bound, PoolBound::kSet);
  pools.end_all();
  pools.expect_conserved();
}

TEST(ForwardPools, AHopThatHasItsShareIsNoReasonToGrow) {
  Pools pools(true);
  for (int i = 0; i < 4; ++i)
    pools.forward_to(kServer);
  EXPECT_EQ(pools.cause(Cause::kHeldHopShare), 2U);
  pools.pass(kLook);
  EXPECT_EQ(pools.small(), 4U);
  EXPECT_FALSE(pools.note());
  EXPECT_EQ(pools.core().buffers.view(kSmall).waited, 2U);
  pools.end_all();
  pools.expect_conserved();
}

TEST(ForwardPools, GrowNoFurtherThanTheyMay) {
  Pools pools(true);
  for (int round = 0; round < 8; ++round) {
    pools.starve();
    pools.pass(kLook);
    pools.end_all();
  }
  EXPECT_EQ(pools.small(), 6U);
  EXPECT_EQ(pools.core().buffers.bounds()[kSmall], PoolBound::kPlace);
  pools.expect_conserved();
}

TEST(ForwardPools, StarvationIsReportedRepeatedlyAndItsEndOnce) {
  Pools pools(false);
  const Instant begun = pools.now;
  unsigned starved = 0;
  for (; pools.now - begun < PoolKeeper::kTellAgain + std::chrono::seconds(5); ++starved) {
    pools.starve();
    pools.pass(kLook);
    pools.end_all();
  }
  EXPECT_EQ(pools.note()->what, What::kBegins);
  const auto again = pools.note();
  ASSERT_TRUE(again);
  EXPECT_EQ(again->what, What::kGoesOn);
  EXPECT_GT(again->waited, 30U);
  EXPECT_FALSE(pools.note()) << "not in between";
  pools.pass(PoolKeeper::kQuiet + 2 * kLook);
  const auto over = pools.note();
  ASSERT_TRUE(over);
  EXPECT_EQ(over->what, What::kOver);
  EXPECT_EQ(over->hop_holds, 0U);
  EXPECT_EQ(1 + again->waited + over->waited, starved);
  pools.pass(PoolKeeper::kTellAgain + 2 * kLook);
  EXPECT_FALSE(pools.note());
  pools.expect_conserved();
}

// --- Credits lent to clients ---

constexpr std::uint32_t kPage = 4096;

struct Lenders : ForwardRig {
  explicit Lenders(const NiTunables& tunables)
      : ForwardRig({.buffers = {{24, 24, 1}}, .tunables = tunables}) {
    for (std::uint32_t i = 10; i < 30; ++i) {
      node.add_peer(client(i), ShardId{0});
      node.add_peer(server(i), ShardId{0});
    }
    settle();
  }
  // Sends until a message has to wait.
  unsigned send_all(std::uint32_t from, std::uint32_t bytes = kPage) {
    unsigned went = 0;
    while (forward(client(from), server(20), bytes, {++index, 1}) == RxVerdict::kReceive)
      ++went;
    return went;
  }

  std::uint32_t index = 0;
};

TEST(ForwardPools, AClientAloneBorrowsAThirdOfTheBuffers) {
  Lenders rig({.peer_credits = 4});
  EXPECT_EQ(rig.send_all(10), 8U);
  EXPECT_EQ(rig.cause(Cause::kHeldClientCredit), 1U);
  EXPECT_EQ(rig.cause(Cause::kHeldHopShare), 0U);
  const ClientCredits& client = rig.peer(ForwardRig::client(10))->client;
  EXPECT_EQ(client.available(), -1) << "one waits, as the kernel shows it";
  EXPECT_EQ(client.credits_min, -1);
  rig.end_all();
  EXPECT_EQ(client.available(), 4);
  rig.expect_conserved();
}

TEST(ForwardPools, ALoanOfOneClassDoesNotBlockOtherClasses) {
  Lenders rig({.peer_credits = 4});
  EXPECT_EQ(rig.send_all(10, kPage), 8U);
  rig.end_all();
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(rig.forward(ForwardRig::client(10), ForwardRig::server(20), kPage, {++rig.index, 1}),
              RxVerdict::kReceive);
  EXPECT_EQ(rig.send_all(10, 0), 8U) << "tiny ones, beyond its credits";
  rig.end_all();
  rig.expect_conserved();
}

TEST(ForwardPools, AClientThatComesLateFindsRoomAndTheFirstOneGoesBackToItsShare) {
  Lenders rig({.peer_credits = 2});
  EXPECT_EQ(rig.send_all(10), 8U);
  EXPECT_EQ(rig.send_all(11), 3U) << "its credits, and a quarter of the remaining ones";
  for (int i = 0; i < 4; ++i)
    rig.end(0);
  EXPECT_TRUE(rig.in().resumed.empty()) << "the first one has four left, which is its part";
  rig.end(0);
  EXPECT_EQ(rig.in().resumed.size(), 1U);
  rig.end_all();
  EXPECT_EQ(rig.statistic(Statistic::kRouteCount), 13U);
  rig.expect_conserved();
}

TEST(ForwardPools, HoweverManyClientsBorrowMostBuffersStayFree) {
  Lenders rig({.peer_credits = 1});
  for (std::uint32_t i = 10; i < 20; ++i)
    (void)rig.send_all(i);
  EXPECT_GE(rig.core().buffers.free_count(kSmall), 8U);
  rig.end_all();
  rig.expect_conserved();
}

TEST(ForwardPools, AClientWithConfiguredCreditsBorrowsNone) {
  Lenders rig({.peer_credits = 2, .peer_buffer_credits = 3});
  EXPECT_EQ(rig.send_all(10), 3U);
  rig.end_all();
  Lenders node_wide({.peer_credits = 2});
  node_wide.node.shared().parameters.peer_buffer_credits.set(5);
  EXPECT_EQ(node_wide.send_all(10), 5U);
  node_wide.end_all();
  node_wide.expect_conserved();
}

TEST(ForwardPools, AClientAlwaysHasItsOwnCredits) {
  Lenders rig({.peer_credits = 8});
  EXPECT_EQ(rig.send_all(10), 8U) << "a third is as many";
  EXPECT_GE(rig.send_all(11), 4U) << "then its hop has its share";
  EXPECT_EQ(rig.cause(Cause::kHeldHopShare), 1U);
  rig.end_all();
  rig.expect_conserved();
}

}  // namespace
}  // namespace plnet::lnet::forward_pools_test
