// SPDX-License-Identifier: BSD-3-Clause
// Forwarded messages whose gateway fails before they are sent: they take another route if there is
// one.
#include <gtest/gtest.h>

#include "lib/lnet/peers/peer_rules.hpp"
#include "tests/unit/lib/lnet/move/gateway_rig.hpp"

namespace plnet::lnet::forward_ways_test {
namespace {

constexpr Nid kClient = GatewayRig::kClient;
constexpr Nid kServer = GatewayRig::kServer;
constexpr Nid kBackup = GatewayRig::kBackup;
constexpr Nid kFar = GatewayRig::kFar;
constexpr std::size_t kByServer = 0;
constexpr std::size_t kByBackup = 1;

// The test enables the second route.
struct TwoWays : GatewayRig {
  explicit TwoWays(const ForwardSetup& setup, ShardId home = 0)
      : GatewayRig(setup, {Way{kFar, kServer}, Way{kFar, kBackup}}, home) {
    set_alive(kByBackup, false);
    settle();
  }
  // The LND reports it first, then the coordinator updates its routes.
  void say_down(const Nid& hop, unsigned shard = 0) {
    port(hop, shard).on_peer(hop, PeerNotice::kDown, now);
    node.shared().notify_hop_lost();
  }
  void change_ways() {
    set_alive(kByBackup, true);
    set_alive(kByServer, false);
    settle();
  }
  std::size_t held_for(const Nid& hop, unsigned shard = 0) {
    return static_cast<std::size_t>(std::ranges::count(
        out(shard).held, hop, [](const Transmit* t) { return t->next_hop->nid; }));
  }
};

TEST(ForwardWays, MessagesWaitingForABufferTakeTheOtherRoute) {
  TwoWays rig({.buffers = {{8, 2, 8}}});
  EXPECT_EQ(rig.forward(kClient, kFar, 10, {1, 1}), RxVerdict::kReceive);
  EXPECT_EQ(rig.forward(kClient, kFar, 10, {2, 1}), RxVerdict::kPark);
  EXPECT_EQ(rig.cause(Cause::kHeldHopShare), 1U);
  rig.change_ways();
  EXPECT_EQ(rig.go_on(), (std::vector<RxVerdict>{RxVerdict::kReceive}))
      << "the other hop has a share of its own";
  EXPECT_EQ(rig.held_for(kBackup), 1U);
  EXPECT_EQ(rig.held_for(kServer), 1U) << "that one has left";
  rig.end_all();
  EXPECT_EQ(rig.statistic(Statistic::kRouteCount), 2U);
  EXPECT_EQ(rig.statistic(Statistic::kDropCount), 0U);
  rig.expect_conserved();
}

// Two interfaces of one gateway, one of them down, look the same from here.
TEST(ForwardWays, MessagesWaitingForABufferTakeTheOtherRouteThoughTheFirstIsAlive) {
  TwoWays rig({.buffers = {{8, 2, 8}}});
  EXPECT_EQ(rig.forward(kClient, kFar, 10, {1, 1}), RxVerdict::kReceive);
  EXPECT_EQ(rig.forward(kClient, kFar, 10, {2, 1}), RxVerdict::kPark);
  rig.set_alive(kByBackup, true);
  rig.node.directory().find(kServer)->status.set(kNiDown);
  rig.node.shared().notify_hop_lost();
  rig.settle();
  EXPECT_EQ(rig.go_on(), (std::vector<RxVerdict>{RxVerdict::kReceive}));
  EXPECT_EQ(rig.held_for(kBackup), 1U);
  rig.end_all();
  EXPECT_EQ(rig.statistic(Statistic::kDropCount), 0U);
  rig.expect_conserved();
}

// As with a gateway that reports a drain: it still forwards.
TEST(ForwardWays, TheOnlyGatewayGetsAllWaitingMessages) {
  TwoWays rig({.buffers = {{8, 3, 8}}, .tunables = {.peer_credits = 1, .peer_buffer_credits = 32}});
  std::uint32_t parked = 0;
  for (std::uint32_t i = 1; i <= 4; ++i)
    parked += rig.forward(kClient, kFar, 10, {i, 1}) == RxVerdict::kPark ? 1U : 0U;
  ASSERT_GT(parked, 0U);
  ASSERT_EQ(rig.held_for(kServer), 1U) << "another one waits for a credit";
  rig.set_alive(kByServer, false);
  rig.settle();
  EXPECT_EQ(rig.go_on().size(), 0U);
  rig.end_all();
  EXPECT_EQ(rig.statistic(Statistic::kRouteCount), 4U);
  EXPECT_EQ(rig.statistic(Statistic::kDropCount), 0U);
  rig.expect_conserved();
}

TEST(ForwardWays, MessagesWaitingForABufferEndWithoutAnotherRoute) {
  TwoWays rig({.buffers = {{8, 2, 8}}});
  EXPECT_EQ(rig.forward(kClient, kFar, 10, {1, 1}), RxVerdict::kReceive);
  EXPECT_EQ(rig.forward(kClient, kFar, 10, {2, 1}), RxVerdict::kPark);
  rig.say_down(kServer);
  rig.settle();
  EXPECT_EQ(rig.go_on(), (std::vector<RxVerdict>{RxVerdict::kDrop}));
  EXPECT_EQ(rig.cause(Cause::kDroppedForwardNoPath), 1U);
  rig.end_all();
  rig.expect_conserved();
}

// The LND guarantees that it was not sent. It is sent once more, through the gateway with better
// health.
TEST(ForwardWays, UnsentFailuresTakeTheOtherRoute) {
  for (const unsigned shards : {1U, 2U}) {
    const auto home = static_cast<ShardId>(shards - 1);
    TwoWays rig({.shards = shards}, home);
    rig.set_alive(kByBackup, true);
    rig.set_alive(kByServer, false);
    rig.settle();
    EXPECT_EQ(rig.forward(kClient, kFar, 5000, {1, 1}), RxVerdict::kReceive);
    ASSERT_EQ(rig.held_for(kBackup, home), 1U);
    rig.set_alive(kByServer, true);
    const auto refused = std::unexpected(Errc::kRefused);
    rig.end(0, {.status = refused, .health = Health::kRemoteDropped, .unsent = true}, home);
    EXPECT_EQ(rig.held_for(kServer, home), 1U);
    EXPECT_EQ(rig.held_for(kBackup, home), 0U);
    EXPECT_EQ(rig.statistic(Statistic::kResendCount), 1U);
    rig.end_all();
    EXPECT_EQ(rig.statistic(Statistic::kRouteCount), 1U);
    EXPECT_EQ(rig.statistic(Statistic::kDropCount), 0U);
    rig.expect_conserved();
  }
}

TEST(ForwardWays, PossiblySentMessagesAreNotSentAgain) {
  TwoWays rig({});
  rig.set_alive(kByBackup, true);
  for (const Health health :
       {Health::kRemoteDropped, Health::kLocalDropped, Health::kLocalTimeout}) {
    EXPECT_EQ(rig.forward(kClient, kFar, 5000, {1, 1}), RxVerdict::kReceive);
    rig.end(0, {.status = std::unexpected(Errc::kReset), .health = health});
    EXPECT_TRUE(rig.out().held.empty());
  }
  EXPECT_EQ(rig.statistic(Statistic::kResendCount), 0U);
  rig.expect_conserved();
}

TEST(ForwardWays, RetriesAreLimited) {
  TwoWays rig({});
  rig.set_alive(kByBackup, true);
  EXPECT_EQ(rig.forward(kClient, kFar, 5000, {1, 1}), RxVerdict::kReceive);
  const auto retries = static_cast<std::uint64_t>(rig.node.shared().parameters.retry_count.get());
  for (std::uint64_t i = 0; i <= retries; ++i) {
    ASSERT_EQ(rig.out().held.size(), 1U);
    const auto refused = std::unexpected(Errc::kRefused);
    rig.end(0, {.status = refused, .health = Health::kRemoteDropped, .unsent = true});
  }
  EXPECT_TRUE(rig.out().held.empty());
  EXPECT_EQ(rig.statistic(Statistic::kResendCount), retries);
  EXPECT_EQ(rig.statistic(Statistic::kFailedResends), 1U);
  rig.expect_conserved();
}

TEST(ForwardWays, MessagesInReceptionTakeTheOtherRoute) {
  TwoWays rig({});
  ASSERT_EQ(rig.offer(kClient, kFar, 5000, {1, 1}).verdict, RxVerdict::kReceive);
  rig.change_ways();
  rig.received(kClient, {1, 1});
  rig.settle();
  EXPECT_EQ(rig.held_for(kBackup), 1U);
  ASSERT_EQ(rig.offer(kClient, kFar, 5000, {2, 1}).verdict, RxVerdict::kReceive);
  rig.set_alive(kByBackup, false);
  rig.received(kClient, {2, 1});
  rig.settle();
  EXPECT_EQ(rig.held_for(kBackup), 2U) << "where there is no other";
  EXPECT_EQ(rig.cause(Cause::kTxNoPath), 0U);
  rig.end_all();
  rig.expect_conserved();
}

// A credit of the hop or of the interface, on this shard or on another.
TEST(ForwardWays, MessagesWaitingForACreditTakeTheOtherRoute) {
  for (const unsigned shards : {1U, 2U}) {
    for (const bool of_ni : {false, true}) {
      NiTunables tunables{.peer_credits = of_ni ? 8 : 1, .peer_buffer_credits = 32};
      if (of_ni) tunables.credits = 1;
      const auto home = static_cast<ShardId>(shards - 1);
      TwoWays rig({.shards = shards, .buffers = {{16, 16, 16}}, .tunables = tunables}, home);
      for (std::uint32_t i = 1; i <= 3; ++i)
        EXPECT_EQ(rig.forward(kClient, kFar, 10, {i, 1}), RxVerdict::kReceive);
      ASSERT_EQ(rig.held_for(kServer, home), 1U);
      rig.change_ways();
      EXPECT_EQ(rig.held_for(kServer, home), 1U) << "sent messages";
      rig.end(0, {}, home);
      EXPECT_EQ(rig.held_for(kServer, home), 0U);
      EXPECT_EQ(rig.held_for(kBackup, home), 1U);
      rig.end_all();
      EXPECT_EQ(rig.statistic(Statistic::kRouteCount), 3U);
      EXPECT_EQ(rig.statistic(Statistic::kDropCount), 0U);
      rig.expect_conserved();
    }
  }
}

// The LND notices first. Messages in flight fail as usual.
TEST(ForwardWays, MessagesWaitingForADownGatewayTakeTheOtherRoute) {
  for (const unsigned shards : {1U, 2U}) {
    const auto home = static_cast<ShardId>(shards - 1);
    TwoWays rig({.shards = shards,
                 .buffers = {{16, 4, 16}},
                 .tunables = {.peer_credits = 1, .peer_buffer_credits = 32}},
                home);
    for (std::uint32_t i = 1; i <= 2; ++i)
      EXPECT_EQ(rig.forward(kClient, kFar, 10, {i, 1}), RxVerdict::kReceive);
    EXPECT_EQ(rig.forward(kClient, kFar, 10, {3, 1}), RxVerdict::kPark);
    rig.set_alive(kByBackup, true);
    rig.say_down(kServer, home);
    EXPECT_FALSE(rig.routes[kByServer]->alive.get()) << "before the coordinator knows it";
    rig.settle();
    EXPECT_EQ(rig.go_on(), (std::vector<RxVerdict>{RxVerdict::kReceive}));
    EXPECT_EQ(rig.held_for(kBackup, home), 1U);
    rig.end(0, {.status = std::unexpected(Errc::kReset), .health = Health::kRemoteDropped}, home);
    rig.end_all();
    EXPECT_EQ(rig.statistic(Statistic::kRouteCount), 2U);
    EXPECT_EQ(rig.cause(Cause::kForwardFailed), 1U);
    EXPECT_EQ(rig.statistic(Statistic::kDropCount), 0U);
    rig.expect_conserved();
  }
}

TEST(ForwardWays, MessagesTakeAnotherInterfaceOfTheGateway) {
  constexpr Nid kServerToo = ForwardRig::server(22);
  for (const unsigned shards : {1U, 2U}) {
    const auto home = static_cast<ShardId>(shards - 1);
    TwoWays rig({.shards = shards,
                 .buffers = {{16, 16, 16}},
                 .tunables = {.peer_credits = 1, .peer_buffer_credits = 32}},
                home);
    for (std::uint32_t i = 1; i <= 3; ++i)
      EXPECT_EQ(rig.forward(kClient, kFar, 10, {i, 1}), RxVerdict::kReceive);
    ASSERT_EQ(rig.held_for(kServer, home), 1U);
    PeerDirectory& directory = rig.node.directory();
    ASSERT_TRUE(directory.attach(*directory.peer_of(kServer), kServerToo));
    directory.detach(*directory.lookup(kServer));
    directory.commit();
    for (unsigned i = 0; i < 10; ++i)
      rig.settle();
    EXPECT_EQ(rig.cause(Cause::kTxReleased), 0U);
    rig.end_all();
    EXPECT_EQ(rig.statistic(Statistic::kRouteCount), 3U);
    EXPECT_EQ(rig.statistic(Statistic::kDropCount), 0U);
    rig.expect_conserved();
  }
}

// Another interface of the final destination. Not if the originator could not identify the sender
// of the response.
TEST(ForwardWays, MessagesTakeAnotherInterfaceOfTheDestination) {
  constexpr Nid kServerToo = ForwardRig::server(22);
  for (const unsigned shards : {1U, 2U}) {
    for (const bool from_multi_rail : {true, false}) {
      const auto home = static_cast<ShardId>(shards - 1);
      AcquaintedRig rig({.shards = shards,
                         .buffers = {{16, 4, 16}},
                         .tunables = {.peer_credits = 1, .peer_buffer_credits = 32}},
                        home);
      PeerDirectory& directory = rig.node.directory();
      PeerRecord& server = *directory.peer_of(kServer);
      ASSERT_TRUE(directory.attach(server, kServerToo));
      directory.commit();
      PeerRules::become_multi_rail(server);
      if (from_multi_rail) PeerRules::become_multi_rail(*directory.peer_of(kClient));
      for (std::uint32_t i = 1; i <= 2; ++i)
        EXPECT_EQ(rig.forward(kClient, kServer, 10, {i, 1}), RxVerdict::kReceive);
      EXPECT_EQ(rig.forward(kClient, kServer, 10, {3, 1}), RxVerdict::kPark);
      ASSERT_EQ(rig.offer(kClient, kServer, 5000, {4, 1}).verdict, RxVerdict::kReceive);
      directory.find(kServer)->status.set(kNiDown);
      rig.node.shared().notify_hop_lost();
      rig.settle();
      rig.received(kClient, {4, 1});
      rig.settle();
      (void)rig.go_on();
      EXPECT_EQ(rig.cause(Cause::kTxOtherWay), from_multi_rail ? 2U : 0U);
      EXPECT_EQ(rig.cause(Cause::kTxHopDown), from_multi_rail ? 0U : 2U);
      for (const Transmit* const each : rig.out(home).held)
        EXPECT_EQ(each->header.destination, each->next_hop->nid);
      rig.end_all();
      EXPECT_EQ(rig.statistic(Statistic::kRouteCount), from_multi_rail ? 4U : 1U);
      EXPECT_EQ(rig.statistic(Statistic::kDropCount), from_multi_rail ? 0U : 3U);
      rig.expect_conserved();
    }
  }
}

// The message leaves by the better interface and arrives.
TEST(ForwardWays, TheLessHealthyLocalInterfaceDoesNotDecide) {
  for (const bool discovery : {false, true}) {
    TwoWays rig({.more_nis = {ForwardRig::server(2)}});
    rig.node.shared().parameters.discovery.set(discovery ? 1 : 0);
    const PeerNi& gateway = *rig.node.directory().find(kServer);
    Ni& says_so = rig.port(kServer).ni();
    says_so.health.set(kHealthMax - 1);
    rig.say_down(kServer);
    EXPECT_EQ(gateway.status.get(), discovery ? kNiDown : kNiUp);
    EXPECT_EQ(rig.routes[kByServer]->alive.get(), !discovery);
    says_so.health.set(kHealthMax);
    rig.say_down(kServer);
    EXPECT_EQ(gateway.status.get(), kNiDown);
  }
}

// Two of our interfaces on the network of the final destination. The message waits for a credit of
// the peer or of the interface.
TEST(ForwardWays, MessagesLeaveByTheOtherLocalInterface) {
  for (const unsigned shards : {1U, 2U}) {
    for (const bool of_ni : {false, true}) {
      NiTunables tunables{.peer_credits = of_ni ? 8 : 1, .peer_buffer_credits = 32};
      if (of_ni) tunables.credits = 1;
      const auto home = static_cast<ShardId>(shards - 1);
      AcquaintedRig rig({.shards = shards,
                         .buffers = {{16, 16, 16}},
                         .tunables = tunables,
                         .more_nis = {ForwardRig::server(2)}},
                        home);
      for (std::uint32_t i = 1; i <= 3; ++i)
        EXPECT_EQ(rig.forward(kClient, kServer, 10, {i, 1}), RxVerdict::kReceive);
      const bool by_first = !rig.out(home).held.empty();
      Ni& goes = rig.node.ni(by_first ? 2 : 3);
      HeldLnd& before = rig.lnd_of(goes, home);
      HeldLnd& after = rig.lnd_of(rig.node.ni(by_first ? 3 : 2), home);
      ASSERT_EQ(before.held.size(), 1U);
      ASSERT_EQ(after.held.size(), of_ni ? 1U : 0U) << "they take turns";
      rig.node.forget_ni(goes);
      for (unsigned i = 0; i < shards; ++i) {
        rig.node.shard(i).close_port(goes);
        rig.node.shard(i).fail_waiting(goes);
      }
      rig.settle();
      EXPECT_EQ(rig.cause(Cause::kTxReleased), 0U);
      EXPECT_EQ(rig.cause(Cause::kForwardFailed), 1U) << "messages in flight end with it";
      EXPECT_TRUE(before.held.empty());
      while (!after.held.empty()) {
        after.end(0);
        rig.settle();
      }
      EXPECT_EQ(rig.statistic(Statistic::kRouteCount), 2U);
      EXPECT_EQ(rig.statistic(Statistic::kDropCount), 0U);
      rig.expect_conserved();
    }
  }
}

// Its target was evicted, and all remaining peers are in use.
TEST(ForwardWays, AMessageWhoseTargetCannotBeMadeAgainIsADrop) {
  TwoWays rig({.buffers = {{4, 128, 4}},
               .tunables = {.peer_credits = 1, .peer_buffer_credits = 256},
               .messages = 256,
               .receives = 512});
  for (std::uint32_t i = 1; i <= 2; ++i)
    EXPECT_EQ(rig.forward(kClient, kFar, 10, {i, 1}), RxVerdict::kReceive);
  rig.node.delete_peer(kFar);
  rig.settle();
  for (std::uint32_t i = 100; i < 100 + ForwardRig::kPeers; ++i)
    (void)rig.forward(kClient, ForwardRig::server(i), 10, {i, 1});
  ASSERT_GT(rig.cause(Cause::kDroppedForwardNoPeer), 0U);
  const std::uint64_t before = rig.statistic(Statistic::kDropCount);
  rig.change_ways();
  EXPECT_EQ(rig.cause(Cause::kTxNoPeer), 1U);
  EXPECT_EQ(rig.statistic(Statistic::kDropCount), before + 1);
  rig.end_all();
  rig.expect_conserved();
}

// The waiting message is for another network behind the same gateway, without another route.
TEST(ForwardWays, AReroutedMessageLeavesItsBufferToTheNextOne) {
  GatewayRig rig(
      {.buffers = {{16, 4, 16}}, .tunables = {.peer_credits = 1, .peer_buffer_credits = 32}},
      {GatewayRig::Way{kFar, kServer}, GatewayRig::Way{kFar, kBackup},
       GatewayRig::Way{GatewayRig::kFarther, kServer}});
  rig.set_alive(kByBackup, false);
  rig.settle();
  for (std::uint32_t i = 1; i <= 2; ++i)
    EXPECT_EQ(rig.forward(kClient, kFar, 10, {i, 1}), RxVerdict::kReceive);
  EXPECT_EQ(rig.forward(kClient, GatewayRig::kFarther, 10, {3, 1}), RxVerdict::kPark);
  rig.set_alive(kByBackup, true);
  rig.set_alive(kByServer, false);
  rig.settle();
  EXPECT_EQ(rig.go_on(), (std::vector<RxVerdict>{RxVerdict::kReceive}));
  rig.end_all();
  EXPECT_EQ(rig.statistic(Statistic::kRouteCount), 3U);
  rig.expect_conserved();
}

// A hop that accepts nothing must not hold credits of clients, however it got them.
TEST(ForwardWays, AMessageReroutedToAStalledHopReturnsItsCredit) {
  TwoWays rig({.buffers = {{8, 8, 8}}, .tunables = {.peer_credits = 1, .peer_buffer_credits = 32}});
  std::uint32_t parked = 0;
  for (std::uint32_t i = 1; i <= 5; ++i)
    parked += rig.forward(TwoWays::kOther, kBackup, 10, {i, 1}) == RxVerdict::kPark ? 1U : 0U;
  ASSERT_EQ(parked, 1U);
  rig.pass(kHopStall + std::chrono::seconds(2));
  ASSERT_EQ(rig.cause(Cause::kDroppedHopStalled), 1U);
  for (std::uint32_t i = 6; i <= 7; ++i)
    EXPECT_EQ(rig.forward(kClient, kFar, 10, {i, 1}), RxVerdict::kReceive);
  ASSERT_EQ(rig.peer(kClient)->client.used(), 2);
  rig.change_ways();
  EXPECT_EQ(rig.peer(kClient)->client.used(), 1) << "of messages sent by the first";
  rig.end_all();
  rig.expect_conserved();
}

// Each attempt moves from a failed gateway to the next one, a limited number of times.
TEST(ForwardWays, AMessageThatLosesAllRoutesEndsOnce) {
  TwoWays rig({.tunables = {.peer_credits = 1, .peer_buffer_credits = 32}});
  for (std::uint32_t i = 1; i <= 2; ++i)
    EXPECT_EQ(rig.forward(kClient, kFar, 10, {i, 1}), RxVerdict::kReceive);
  rig.set_alive(kByBackup, true);
  for (const Nid& hop : {kServer, kBackup})
    rig.say_down(hop);
  rig.settle();
  EXPECT_EQ(rig.cause(Cause::kForwardFailed), 1U);
  EXPECT_EQ(rig.core().buffers.held(), 1U);
  // Routes by the hop although it is down: the coordinator judges them separately.
  EXPECT_EQ(rig.forward(kClient, kFar, 10, {3, 1}), RxVerdict::kDrop);
  rig.set_alive(kByServer, true);
  EXPECT_EQ(rig.forward(kClient, kFar, 10, {4, 1}), RxVerdict::kDrop);
  EXPECT_EQ(rig.cause(Cause::kDroppedHopDown), 1U);
  rig.end_all();
  rig.expect_conserved();
}

}  // namespace
}  // namespace plnet::lnet::forward_ways_test
