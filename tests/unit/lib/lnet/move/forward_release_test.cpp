// SPDX-License-Identifier: BSD-3-Clause
// Peers that are deleted or go down, and routing that is disabled, while forwarded messages wait.
#include <gtest/gtest.h>

#include "tests/unit/lib/lnet/move/forward_rig.hpp"

namespace plnet::lnet::forward_release_test {
namespace {

const Nid kClient = ForwardRig::client(10);
const Nid kServer = ForwardRig::server(20);
const Nid kBackup = ForwardRig::server(21);

// The LND does not know the link, so the message does not end with it.
TEST(ForwardRelease, AMessageThatARuleHoldsOutlivesItsSender) {
  for (const bool known : {false, true}) {
    ForwardRig rig;
    rig.settle();
    if (known) rig.node.add_peer(kClient, ShardId{0});
    ASSERT_TRUE(
        rig.node.faults().add({.kind = FaultKind::kDelay, .rate = 1, .latency_s = 3}, rig.now));
    rig.node.publish_faults();
    EXPECT_EQ(rig.forward(kClient, kServer, 10, {1, 1}), RxVerdict::kPark);
    EXPECT_EQ(rig.cause(Cause::kDelayedByRule), 1U);
    ASSERT_NE(rig.peer(kClient), nullptr);
    rig.node.delete_peer(kClient);
    for (unsigned i = 0; i < 10; ++i)
      rig.settle();
    ASSERT_EQ(rig.peer(kClient), nullptr);
    rig.pass(std::chrono::seconds(4));
    EXPECT_NE(rig.peer(kClient), nullptr) << "it creates its sender anew";
    EXPECT_EQ(rig.go_on(), std::vector{RxVerdict::kReceive});
    EXPECT_EQ(rig.cause(Cause::kDelayedByRule), 2U) << "once on arrival, once on departure";
    rig.pass(std::chrono::seconds(4));
    rig.end_all();
    EXPECT_EQ(rig.statistic(Statistic::kRouteCount), 1U);
    rig.expect_conserved();
  }
}

TEST(ForwardRelease, MessagesWaitingForAnInterfaceEndWhenTheirHopGoesDown) {
  for (const unsigned shards : {1U, 2U}) {
    ForwardRig rig({.shards = shards,
                    .buffers = {{16, 16, 16}},
                    .tunables = {.peer_buffer_credits = 32, .credits = 2}});
    for (const Nid& nid : {kClient, kServer, kBackup})
      rig.node.add_peer(nid, static_cast<ShardId>(shards - 1));
    rig.settle();
    HeldLnd& out = rig.out(shards - 1);
    std::uint32_t index = 0;
    for (const Nid& to : {kServer, kBackup, kServer, kBackup, kServer})
      EXPECT_EQ(rig.forward(kClient, to, 10, {++index, 1}), RxVerdict::kReceive);
    ASSERT_EQ(out.held.size(), 2U);
    rig.port(kServer, shards - 1).on_peer(kServer, PeerNotice::kDown, rig.now);
    rig.settle();
    EXPECT_EQ(rig.cause(Cause::kTxHopDown), 2U);
    EXPECT_EQ(rig.cause(Cause::kForwardFailed), 2U);
    EXPECT_EQ(rig.core().buffers.held(), 3U);
    EXPECT_EQ(rig.port(kServer, shards - 1).tx_credits(), -1) << "the other hop's waits";
    rig.end(0, {.status = std::unexpected(Errc::kReset), .health = Health::kRemoteDropped},
            shards - 1);
    EXPECT_EQ(out.held.size(), 2U);
    for (const Transmit* const each : out.held)
      EXPECT_EQ(each->next_hop->nid, kBackup);
    rig.end_all();
    EXPECT_EQ(rig.statistic(Statistic::kRouteCount), 2U);
    rig.expect_conserved();
  }
}

// A drain waits for all of them.
TEST(ForwardRelease, WaitingMessagesCountAsHeldLikeBufferedOnes) {
  ForwardRig rig({.buffers = {{8, 2, 8}}, .tunables = {.peer_buffer_credits = 2}});
  for (const Nid& nid : {kClient, kServer})
    rig.node.add_peer(nid, ShardId{0});
  rig.settle();
  const auto held = [&] {
    rig.settle();
    return rig.core().routed_held.get();
  };
  EXPECT_EQ(rig.forward(kClient, kServer, 10, {1, 1}), RxVerdict::kReceive);
  EXPECT_EQ(held(), 1U);
  EXPECT_EQ(rig.forward(kClient, kServer, 10, {2, 1}), RxVerdict::kPark);
  EXPECT_EQ(rig.cause(Cause::kHeldHopShare), 1U);
  EXPECT_EQ(held(), 2U);
  EXPECT_EQ(rig.forward(kClient, kServer, 10, {3, 1}), RxVerdict::kPark);
  EXPECT_EQ(rig.cause(Cause::kHeldClientCredit), 1U);
  EXPECT_EQ(held(), 3U);
  rig.port(kClient).on_parked_gone({3, 1}, Errc::kReset);
  EXPECT_EQ(held(), 2U);
  rig.end_all();
  EXPECT_EQ(held(), 0U);
  rig.expect_conserved();
}

// Otherwise it would continue as buffers return, for as long as the hops take.
TEST(ForwardRelease, BufferedMessagesSurviveTheEndOfRouting) {
  ForwardRig rig({.buffers = {{8, 2, 8}}, .tunables = {.peer_buffer_credits = 2}});
  for (const Nid& nid : {kClient, kServer})
    rig.node.add_peer(nid, ShardId{0});
  rig.settle();
  for (std::uint32_t i = 1; i <= 5; ++i)
    (void)rig.forward(kClient, kServer, 10, {i, 1});
  EXPECT_EQ(rig.cause(Cause::kHeldHopShare), 1U);
  EXPECT_EQ(rig.cause(Cause::kHeldClientCredit), 3U);
  const auto set = [&](RoutingState state) {
    rig.node.shared().parameters.routing.set(static_cast<std::int32_t>(state));
    rig.settle();
  };
  set(RoutingState::kStopping);
  EXPECT_TRUE(rig.in().resumed.empty()) << "it is served to its end";
  set(RoutingState::kDisabled);
  EXPECT_EQ(rig.go_on(), (std::vector<RxVerdict>(4, RxVerdict::kDrop)));
  EXPECT_EQ(rig.cause(Cause::kDroppedNotRouting), 4U);
  EXPECT_EQ(rig.statistic(Statistic::kDropCount), 4U);
  rig.end_all();
  EXPECT_EQ(rig.statistic(Statistic::kRouteCount), 1U);
  EXPECT_EQ(rig.core().routed_held.get(), 0U);
  rig.expect_conserved();
}

TEST(ForwardRelease, DelayedMessagesAreDroppedAfterTheEndOfRouting) {
  ForwardRig rig;
  rig.settle();
  ASSERT_TRUE(
      rig.node.faults().add({.kind = FaultKind::kDelay, .rate = 1, .latency_s = 3}, rig.now));
  rig.node.publish_faults();
  EXPECT_EQ(rig.forward(kClient, kServer, 10, {1, 1}), RxVerdict::kPark);
  rig.node.shared().parameters.routing.set(static_cast<std::int32_t>(RoutingState::kDisabled));
  rig.pass(std::chrono::seconds(4));
  EXPECT_EQ(rig.go_on(), std::vector{RxVerdict::kDrop});
  EXPECT_EQ(rig.cause(Cause::kDroppedNotRouting), 1U);
  rig.expect_conserved();
}

}  // namespace
}  // namespace plnet::lnet::forward_release_test
