// SPDX-License-Identifier: BSD-3-Clause
// Next hops that accept nothing for a while, and the effect on others.
#include <gtest/gtest.h>

#include "tests/unit/lib/lnet/move/forward_rig.hpp"

namespace plnet::lnet::forward_stall_test {
namespace {

using Rig = AcquaintedRig;
constexpr Nid kClient = Rig::kClient;
constexpr Nid kOther = Rig::kOther;
constexpr Nid kServer = Rig::kServer;
constexpr Nid kBackup = Rig::kBackup;

TEST(ForwardStall, AClientIsReadAgainThoughAStalledHopHoldsItsCredits) {
  Rig rig({.buffers = {{32, 32, 32}}, .tunables = {.peer_buffer_credits = 4}});
  for (std::uint32_t i = 1; i <= 4; ++i)
    EXPECT_EQ(rig.forward(kClient, kServer, 10, {i, 1}), RxVerdict::kReceive);
  EXPECT_EQ(rig.forward(kClient, kBackup, 10, {5, 1}), RxVerdict::kPark);
  rig.pass(kHopStall - std::chrono::seconds(1));
  EXPECT_TRUE(rig.in().resumed.empty());
  rig.pass(std::chrono::seconds(3));
  EXPECT_EQ(rig.go_on(), std::vector{RxVerdict::kReceive}) << "to the other";
  std::uint32_t index = 5;
  while (rig.forward(kClient, kServer, 10, {++index, 1}) == RxVerdict::kReceive) {
  }
  EXPECT_EQ(index, 18U) << "it has its share, beyond its client's credits";
  EXPECT_EQ(rig.cause(Cause::kDroppedHopStalled), 1U) << "and nothing waits";
  EXPECT_EQ(rig.forward(kClient, kBackup, 10, {++index, 1}), RxVerdict::kReceive);
  rig.end(0);  // the hop makes progress again
  rig.end(0);
  EXPECT_EQ(rig.forward(kClient, kServer, 10, {++index, 1}), RxVerdict::kReceive);
  rig.end_all();
  rig.expect_conserved();
}

// For example a restarting peer or a slow server: no other hop lacks anything, so nothing is
// dropped.
TEST(ForwardStall, AHopThatIsSilentForLongWithinItsShareTakesAllInTheEnd) {
  Rig rig({.buffers = {{32, 32, 32}}, .tunables = {.peer_buffer_credits = 4}});
  std::uint32_t index = 0;
  bool parked = false;  // its connection is parked as well
  for (const Instant begun = rig.now; rig.now - begun < std::chrono::seconds(20);) {
    if (!parked && index < 12)
      parked = rig.forward(kClient, kServer, 10, {++index, 1}) == RxVerdict::kPark;
    rig.pass(std::chrono::seconds(1));
    if (!rig.go_on().empty()) parked = false;
  }
  ASSERT_EQ(index, 12U);
  EXPECT_EQ(rig.core().buffers.held(), 12U);
  EXPECT_EQ(rig.forward(kClient, kBackup, 10, {++index, 1}), RxVerdict::kReceive);
  rig.end_all();
  EXPECT_EQ(rig.statistic(Statistic::kRouteCount), 13U);
  EXPECT_EQ(rig.statistic(Statistic::kDropCount), 0U);
  rig.expect_conserved();
}

TEST(ForwardStall, MessagesWaitingForAStalledHopAreDropped) {
  Rig rig({.buffers = {{8, 8, 8}}, .tunables = {.peer_buffer_credits = 32}});
  for (std::uint32_t i = 1; i <= 6; ++i)
    (void)rig.forward(kClient, kServer, 10, {i, 1});
  rig.pass(kHopStall + std::chrono::seconds(2));
  EXPECT_EQ(rig.go_on(), (std::vector{RxVerdict::kDrop, RxVerdict::kDrop}));
  EXPECT_EQ(rig.cause(Cause::kDroppedHopStalled), 2U);
  rig.end_all();
  rig.expect_conserved();
}

TEST(ForwardStall, ASlowHopIsNotStalledWhileAnythingMoves) {
  Rig rig({.buffers = {{8, 8, 8}}, .tunables = {.peer_buffer_credits = 32}});
  for (std::uint32_t i = 1; i <= 8; ++i)
    (void)rig.forward(kClient, kServer, 10, {i, 1});
  while (!rig.out().held.empty()) {
    rig.pass(kHopStall - std::chrono::seconds(1));
    rig.end(0);
    rig.go_on();
  }
  EXPECT_EQ(rig.cause(Cause::kDroppedHopStalled), 0U);
  EXPECT_EQ(rig.statistic(Statistic::kRouteCount), 8U);
  rig.expect_conserved();
}

// Another hop has all credits of the interface and would count as stalled if it accepted nothing.
TEST(ForwardStall, AHopThatWaitsForCreditsThatAnotherHoldsIsNotStalled) {
  Rig rig({.buffers = {{16, 16, 16}},
           .tunables = {.peer_credits = 8, .peer_buffer_credits = 32, .credits = 4}});
  for (std::uint32_t i = 1; i <= 4; ++i)
    EXPECT_EQ(rig.forward(kClient, kServer, 10, {i, 1}), RxVerdict::kReceive);
  std::uint32_t index = 4;
  while (rig.forward(kOther, kBackup, 10, {++index, 1}) == RxVerdict::kReceive) {
  }
  ASSERT_EQ(rig.out().held.size(), 4U);
  rig.pass(kHopStall * 3);
  EXPECT_TRUE(rig.in().resumed.empty());
  EXPECT_FALSE(rig.peer(kBackup)->hop.stalled);
  EXPECT_EQ(rig.cause(Cause::kDroppedHopStalled), 0U);
  rig.end_all();
  EXPECT_EQ(rig.statistic(Statistic::kDropCount), 0U);
  rig.expect_conserved();
}

TEST(ForwardStall, EachHopOfALendingInterfaceHasOneMessageInFlight) {
  Rig rig({.buffers = {{16, 16, 16}},
           .tunables = {
               .peer_credits = 8, .peer_buffer_credits = 32, .credits = 4, .lends_credits = true}});
  for (std::uint32_t i = 1; i <= 6; ++i)
    EXPECT_EQ(rig.forward(kClient, kServer, 10, {i, 1}), RxVerdict::kReceive);
  ASSERT_EQ(rig.out().held.size(), 4U);
  for (std::uint32_t i = 7; i <= 9; ++i) {
    EXPECT_EQ(rig.forward(kOther, kBackup, 10, {i, 1}), RxVerdict::kReceive);
    ASSERT_EQ(rig.out().held.size(), 5U);
    EXPECT_EQ(rig.out().held[4]->next_hop->nid, kBackup);
    rig.end(4);
  }
  ASSERT_EQ(rig.out().held.size(), 4U) << "no waiting message used a lent credit";
  rig.end_all();
  EXPECT_EQ(rig.statistic(Statistic::kRouteCount), 9U);
  rig.expect_conserved();
}

// Nothing was handed to it yet: a client stopped in the middle of a payload.
TEST(ForwardStall, AHopThatWaitsForPayloadsIsNotStalled) {
  Rig rig({.buffers = {{8, 2, 8}}});
  EXPECT_EQ(rig.offer(kClient, kServer, 10, {1, 1}).verdict, RxVerdict::kReceive);
  EXPECT_EQ(rig.offer(kOther, kServer, 10, {2, 1}).verdict, RxVerdict::kPark);
  rig.pass(kHopStall + std::chrono::seconds(2));
  EXPECT_TRUE(rig.in().resumed.empty());
  rig.received(kClient, {1, 1});
  rig.pass(kHopStall - std::chrono::seconds(1));
  EXPECT_TRUE(rig.in().resumed.empty()) << "its time begins now";
  rig.end_all();
  EXPECT_EQ(rig.statistic(Statistic::kRouteCount), 2U);
  EXPECT_EQ(rig.cause(Cause::kDroppedHopStalled), 0U);
  rig.expect_conserved();
}

// Payloads complete one after the other, which is no sign of life of the hop.
TEST(ForwardStall, LaterMessagesDoNotPostponeTheStall) {
  Rig rig({.buffers = {{8, 4, 8}}, .tunables = {.peer_buffer_credits = 32}});
  for (std::uint32_t i = 1; i <= 2; ++i)
    ASSERT_EQ(rig.offer(kClient, kServer, 10, {i, 1}).verdict, RxVerdict::kReceive);
  EXPECT_EQ(rig.offer(kOther, kServer, 10, {9, 1}).verdict, RxVerdict::kPark);
  rig.received(kClient, {1, 1});
  rig.pass(kHopStall - std::chrono::seconds(1));
  rig.received(kClient, {2, 1});
  rig.pass(std::chrono::seconds(3));
  EXPECT_EQ(rig.go_on(), std::vector{RxVerdict::kDrop});
  EXPECT_EQ(rig.cause(Cause::kDroppedHopStalled), 1U);
  rig.end_all();
  rig.expect_conserved();
}

}  // namespace
}  // namespace plnet::lnet::forward_stall_test
