// SPDX-License-Identifier: BSD-3-Clause
// Kept payloads of messages that fail: the payload is fetched before its buffer is reused, and the
// keeper exists until then.
#include <chrono>
#include <cstdint>

#include <gtest/gtest.h>

#include "tests/unit/lib/lnet/move/kept_rig.hpp"

namespace plnet::lnet::kept::forward_kept_end_test {
namespace {

// --- Failures ---

TEST(ForwardKept, IsBroughtBeforeItsBufferIsAnothers) {
  KeptRig rig;
  rig.keep(kServer, {1, 1});
  rig.end(0, kReset);
  EXPECT_EQ(rig.keeper.brought, 1U) << "else it would be put there later";
  EXPECT_EQ(rig.cause(Cause::kForwardFailed), 1U);
  rig.expect_conserved();
}

TEST(ForwardKept, EndsWithItsHopThatIsDown) {
  const ForwardSetup peer{.tunables = {.peer_credits = 1}};
  const ForwardSetup interface{.tunables = {.credits = 1}};
  for (const ForwardSetup& setup : {peer, interface}) {
    KeptRig rig(setup);
    rig.keep(kServer, {1, 1});
    rig.keep(kServer, {2, 1});  // waits for a credit
    rig.offer_to_keep(kServer, {3, 1});
    rig.port(kServer).on_peer(kServer, PeerNotice::kDown, rig.now);
    rig.settle();
    EXPECT_EQ(rig.cause(Cause::kTxHopDown), 1U);
    EXPECT_FALSE(rig.keeper.keeps({2, 1}));
    rig.kept({3, 1});
    EXPECT_EQ(rig.cause(Cause::kTxHopDown), 2U);
    EXPECT_EQ(rig.cause(Cause::kForwardFailed), 2U);
    EXPECT_FALSE(rig.keeper.keeps({3, 1}));
    EXPECT_EQ(rig.core().buffers.held(), 1U);
    rig.expect_kept(0, {1, 1});
    rig.end(0, kReset);
    EXPECT_EQ(rig.keeper.brought, 3U);
    EXPECT_EQ(rig.statistic(Statistic::kRouteCount), 0U);
    rig.expect_conserved();
  }
}

TEST(ForwardKept, EndsWithItsHopThatIsTakenAway) {
  KeptRig rig({.tunables = {.peer_credits = 1}});
  rig.keep(kServer, {1, 1});
  rig.keep(kServer, {2, 1});
  rig.node.delete_peer(kServer);
  for (unsigned i = 0; i < 10; ++i)
    rig.settle();
  EXPECT_EQ(rig.cause(Cause::kTxReleased), 1U);
  EXPECT_FALSE(rig.keeper.keeps({2, 1}));
  rig.expect_kept(0, {1, 1});
  rig.end_all();
  for (unsigned i = 0; i < 10; ++i)
    rig.settle();
  EXPECT_EQ(rig.keeper.brought, 2U);
  rig.expect_conserved();
}

TEST(ForwardKept, EndsWithTheInterfaceOfItsHop) {
  for (const bool by_peer : {true, false}) {
    const NiTunables tunables = by_peer ? NiTunables{.peer_credits = 1} : NiTunables{.credits = 1};
    KeptRig rig({.tunables = tunables});
    rig.keep(kServer, {1, 1});
    rig.keep(kServer, {2, 1});
    rig.offer_to_keep(kServer, {3, 1});
    EXPECT_TRUE(rig.unplug(kServer));
    rig.kept({3, 1});
    EXPECT_EQ(rig.cause(Cause::kTxReleased), 2U);
    EXPECT_EQ(rig.cause(Cause::kForwardFailed), 3U);
    EXPECT_EQ(rig.keeper.brought, 3U);
    rig.expect_conserved();
  }
}

// The keeper is removed with its interface, not earlier.
TEST(ForwardKept, HoldsTheInterfaceThatItCameBy) {
  for (const bool lnd_brings : {false, true}) {
    KeptRig rig({.tunables = {.peer_credits = 1}});
    rig.keep(kServer, {1, 1});
    rig.keep(kServer, {2, 1});
    EXPECT_FALSE(rig.unplug(kClient));
    if (lnd_brings) (void)rig.keeper.bring({2, 1});
    rig.keeper.take({1, 1});
    rig.end(0);
    EXPECT_FALSE(rig.unplug(kClient));
    rig.expect_kept(0, {2, 1});
    rig.end(0);
    EXPECT_EQ(rig.keeper.brought, 1U);
    EXPECT_TRUE(rig.unplug(kClient));
    rig.keeper.gone = true;
    rig.settle();
    rig.expect_conserved();
  }
}

TEST(ForwardKept, OutlivesTheClientThatSentIt) {
  KeptRig rig({.tunables = {.peer_credits = 1}});
  rig.keep(kServer, {1, 1});
  rig.keep(kServer, {2, 1});
  rig.node.delete_peer(kClient);
  for (unsigned i = 0; i < 10; ++i)
    rig.settle();
  rig.expect_kept(0, {1, 1});
  rig.keeper.take({1, 1});
  rig.end(0);
  rig.expect_kept(0, {2, 1});
  rig.end_all();
  EXPECT_EQ(rig.statistic(Statistic::kRouteCount), 2U);
  rig.expect_conserved();
}

TEST(ForwardKept, StaysInTheBufferThatIsInQuarantine) {
  KeptRig rig;
  rig.keep(kServer, {1, 1});
  Transmit& sent = *rig.out().held[0];
  rig.end(0, {.status = std::unexpected(Errc::kTimedOut),
              .health = Health::kNetworkTimeout,
              .quarantined = true});
  EXPECT_EQ(rig.core().buffers.held(), 1U);
  rig.port(kServer).on_quarantine_over(sent);
  rig.settle();
  EXPECT_FALSE(rig.keeper.keeps({1, 1}));
  rig.expect_conserved();
}

// --- Rules, and the end of routing ---

TEST(ForwardKept, IsBroughtWhenARuleStrikesIt) {
  KeptRig rig;
  rig.offer_to_keep(kServer, {1, 1});
  rig.rule(kStruck);
  rig.kept({1, 1});
  EXPECT_TRUE(rig.out().held.empty());
  EXPECT_EQ(rig.cause(Cause::kTxFaultRule), 1U);
  EXPECT_EQ(rig.cause(Cause::kForwardFailed), 1U);
  EXPECT_EQ(rig.keeper.brought, 1U);
  EXPECT_EQ(rig.offer(kClient, kServer, kLength, {2, 1}).verdict, RxVerdict::kReceive);
  rig.received(kClient, {2, 1});
  rig.settle();
  rig.expect_conserved();
}

TEST(ForwardKept, IsHeldByARuleAsItIs) {
  KeptRig rig;
  rig.offer_to_keep(kServer, {1, 1});
  rig.rule(kDelayed);
  rig.kept({1, 1});
  EXPECT_EQ(rig.cause(Cause::kDelayedByRule), 1U);
  rig.pass(std::chrono::seconds(2));
  EXPECT_TRUE(rig.out().held.empty());
  rig.pass(std::chrono::seconds(2));
  rig.expect_kept(0, {1, 1});
  rig.end_all();
  rig.expect_conserved();
}

TEST(ForwardKept, EndsWithTheInterfaceOfItsHopThoughARuleHoldsIt) {
  for (const Nid& nid : {kServer, kClient}) {
    KeptRig rig;
    rig.offer_to_keep(kServer, {1, 1});
    rig.rule(kDelayed);
    rig.kept({1, 1});
    EXPECT_EQ(rig.unplug(nid), nid == kServer);
    EXPECT_EQ(rig.cause(Cause::kTxReleased), nid == kServer ? 1U : 0U);
    rig.pass(std::chrono::seconds(4));
    rig.end_all();
    EXPECT_EQ(rig.keeper.brought, 1U);
    if (nid == kClient) {
      EXPECT_TRUE(rig.unplug(kClient));
    }
    rig.expect_conserved();
  }
}

TEST(ForwardKept, GoesOnWhenRoutingEndsAndIsWaitedFor) {
  KeptRig rig({.tunables = {.peer_credits = 1}});
  rig.keep(kServer, {1, 1});
  rig.keep(kServer, {2, 1});
  rig.offer_to_keep(kServer, {3, 1});
  rig.node.shared().parameters.routing.set(static_cast<std::int32_t>(RoutingState::kDisabled));
  ASSERT_TRUE(rig.core().buffers.resize({{0, 0, 0}}));
  rig.settle();
  EXPECT_EQ(rig.core().routed_held.get(), 3U);
  rig.kept({3, 1});
  for (std::uint32_t i = 1; i <= 3; ++i) {
    rig.expect_kept(0, {i, 1});
    rig.keeper.take({i, 1});
    rig.end(0);
  }
  EXPECT_EQ(rig.core().routed_held.get(), 0U);
  EXPECT_EQ(rig.core().buffers.total(BufferClass::kLarge), 0U);
  EXPECT_EQ(rig.statistic(Statistic::kRouteCount), 3U);
  EXPECT_EQ(rig.keeper.brought, 0U);
  rig.expect_conserved();
}

// --- Lost ---

TEST(ForwardKept, IsNotSentByAnotherShardIfItIsLost) {
  KeptRig rig({.shards = 2}, 0);
  rig.offer_to_keep(kServer, {1, 1});
  rig.node.delete_peer(kServer);  // it is created again with another home
  for (unsigned i = 0; i < 10; ++i)
    rig.settle();
  rig.node.add_peer(kServer, ShardId{1});
  rig.keeper.loses = true;
  rig.kept({1, 1});
  for (unsigned i = 0; i < 10; ++i)
    rig.settle();
  EXPECT_TRUE(rig.out(1).held.empty());
  EXPECT_EQ(rig.cause(Cause::kForwardFailed), 1U);
  rig.expect_conserved();
}

TEST(ForwardKept, IsKnownAsLostToTheLndThatHasTheMessage) {
  KeptRig rig;
  rig.keep(kServer, {1, 1});
  rig.keep(kServer, {2, 1});
  rig.port(kClient).on_kept_lost({2, 1});
  EXPECT_FALSE(rig.port(kServer).kept_payload(*rig.out().held[0]).lost);
  EXPECT_TRUE(rig.port(kServer).kept_payload(*rig.out().held[1]).lost);
  rig.end(1, {.status = std::unexpected(Errc::kIo), .health = Health::kOk});
  rig.end(0);
  EXPECT_EQ(rig.cause(Cause::kForwardFailed), 1U);
  EXPECT_TRUE(rig.out().held.empty()) << "it is not sent again";
  rig.expect_conserved();
}

}  // namespace
}  // namespace plnet::lnet::kept::forward_kept_end_test
