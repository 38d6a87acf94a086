// SPDX-License-Identifier: BSD-3-Clause
// Next hops that take nothing, and an interface on which each parked message keeps a receive.
#include "lib/lnet/flow/parked_share.hpp"

#include <gtest/gtest.h>

#include "tests/unit/lib/lnet/move/forward_rig.hpp"

namespace plnet::lnet::parked_share_test {
namespace {

constexpr Nid kClient = AcquaintedRig::kClient;
constexpr Nid kOther = AcquaintedRig::kOther;
constexpr Nid kServer = AcquaintedRig::kServer;
constexpr Nid kBackup = AcquaintedRig::kBackup;

struct Rig : AcquaintedRig {
  Rig()
      : AcquaintedRig({.buffers = {{4, 4, 4}},
                       .tunables = {.peer_credits = 64, .peer_buffer_credits = 64}}) {}

  // The message takes a receive of the LND, and keeps it while it is parked.
  RxVerdict send(const Nid& from, const Nid& to) {
    in().free_receives = kReceives - parked - 1;
    const RxVerdict verdict = forward(from, to, 10, {++index, 1});
    if (verdict == RxVerdict::kPark) ++parked;
    return verdict;
  }
  // Until one is refused; returns how many were parked.
  std::size_t flood(const Nid& from, const Nid& to) {
    const std::size_t before = parked;
    for (unsigned i = 0; i < 2 * kReceives; ++i) {
      if (send(from, to) == RxVerdict::kDrop) break;
    }
    return parked - before;
  }

  static constexpr std::size_t kReceives = 16;
  std::size_t parked = 0;
  std::uint32_t index = 0;
};

TEST(ParkedShare, AHopThatTakesNothingHasHalfOfTheReceives) {
  Rig rig;
  EXPECT_EQ(rig.flood(kClient, kServer), 8U);
  EXPECT_EQ(rig.cause(Cause::kDroppedHopParked), 1U);
  EXPECT_EQ(rig.send(kOther, kServer), RxVerdict::kDrop) << "from any client";
  EXPECT_EQ(rig.send(kOther, kBackup), RxVerdict::kReceive);
  PeerComplaint complaint;
  ASSERT_TRUE(rig.core().complaints->take(complaint));
  EXPECT_EQ(complaint.nid, kServer);
  EXPECT_EQ(complaint.cause, "dropped_hop_parked");
  rig.end_all();
  EXPECT_EQ(rig.statistic(Statistic::kRouteCount), 11U);
  rig.expect_conserved();
}

TEST(ParkedShare, WhatWaitedLeavesTheShareFree) {
  Rig rig;
  ASSERT_EQ(rig.flood(kClient, kServer), 8U);
  rig.end_all();
  rig.parked = 0;
  EXPECT_EQ(rig.flood(kClient, kServer), 8U);
  rig.end_all();
  rig.expect_conserved();
}

TEST(ParkedShare, TheSenderOfAMessageThatTheLndLetsGoIsNamed) {
  Rig rig;
  while (rig.send(kClient, kServer) != RxVerdict::kPark) {
  }
  rig.port(kClient).on_parked_gone({rig.index, 1}, Errc::kNoSpace);
  rig.settle();
  PeerComplaint complaint;
  ASSERT_TRUE(rig.core().complaints->take(complaint));
  EXPECT_EQ(complaint.nid, kClient);
  EXPECT_EQ(complaint.cause, "dropped_parked_share");
  EXPECT_EQ(rig.cause(Cause::kDroppedConnectionLost), 1U);
  rig.end_all();
  rig.expect_conserved();
}

// A connection of a stream that waits is not read: the other connections lack nothing.
TEST(ParkedShare, MessagesOfStreamsAreNotCounted) {
  Rig rig;
  for (unsigned i = 0; i < 40; ++i)
    EXPECT_NE(rig.forward(kClient, kServer, 10, {++rig.index, 1}), RxVerdict::kDrop);
  rig.end_all();
  EXPECT_EQ(rig.statistic(Statistic::kRouteCount), 40U);
  rig.expect_conserved();
}

TEST(ParkedShare, TheHoldersOfAllReceivesLeaveSome) {
  std::size_t free = 1000;
  for (unsigned holder = 0; holder < 9; ++holder) {
    for (std::size_t parked = 0; may_park(parked, free - 1); ++parked)
      --free;
  }
  EXPECT_GT(free, 0U);
  EXPECT_TRUE(may_park(0, 1));
  EXPECT_FALSE(may_park(0, 0));
}

}  // namespace
}  // namespace plnet::lnet::parked_share_test
