// SPDX-License-Identifier: BSD-3-Clause
// Router buffers that starve: which grow, which do not, and what is told of them.
#include <optional>

#include <gtest/gtest.h>

#include "tests/unit/lib/lnet/move/forward_rig.hpp"

namespace plnet::lnet {
namespace {

using What = StarvingNote::What;

constexpr auto kSmall = BufferClass::kSmall;
const Nid kClient = ForwardRig::client(10);
const Nid kServer = ForwardRig::server(20);
const Nid kBackup = ForwardRig::server(21);
constexpr Duration kLook = std::chrono::milliseconds(1500);

ForwardSetup setup(bool automatic) {
  return {.buffers = {{8, 4, 8}},
          .automatic = {{automatic, automatic, automatic}},
          .budget = {.most_bytes = std::uint64_t{100} << 20U, .most = {{8, 6, 8}}, .records = 100},
          .tunables = {.peer_buffer_credits = 64}};
}

struct Pools : ForwardRig {
  explicit Pools(bool automatic) : ForwardRig(setup(automatic)) {
    for (const Nid& nid : {kClient, kServer, kBackup})
      node.add_peer(nid, ShardId{0});
    settle();
  }
  void forward_to(const Nid& to) { (void)forward(kClient, to, 10, {++index, 1}); }
  // One hop has its share, the other nearly all that is left.
  void starve() {
    for (const Nid& to : {kServer, kServer, kServer, kBackup, kBackup})
      forward_to(to);
  }
  std::optional<StarvingNote> note() {
    StarvingNote told;
    if (core().keeper.take_note(told)) return told;
    return std::nullopt;
  }
  std::uint32_t small() { return core().buffers.total(kSmall); }

  std::uint32_t index = 0;
};

TEST(ForwardPools, AClassThatStarvesGrowsAndWhatWaitsGoesOn) {
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

TEST(ForwardPools, AClassThatIsSetStaysWhatItIsAndSaysSo) {
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

TEST(ForwardPools, ItIsToldAgainWhileItLastsAndOnceWhenItIsOver) {
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

}  // namespace
}  // namespace plnet::lnet
