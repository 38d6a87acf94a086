// SPDX-License-Identifier: BSD-3-Clause
// Forwarded messages: their form when they leave, their waits and their ends.
#include <gtest/gtest.h>

#include "tests/unit/lib/lnet/move/forward_rig.hpp"

namespace plnet::lnet::forward_test {
namespace {

constexpr std::uint32_t kPage = 4096;
using Rig = AcquaintedRig;
constexpr Nid kClient = Rig::kClient;
constexpr Nid kOther = Rig::kOther;
constexpr Nid kServer = Rig::kServer;
constexpr Nid kBackup = Rig::kBackup;

TEST(Forward, LeavesAsItCameFromTheBufferThatItWasReceivedInto) {
  Rig rig;
  const RxDecision decision = rig.offer(kClient, kServer, 100, {3, 1});
  ASSERT_EQ(decision.verdict, RxVerdict::kReceive);
  EXPECT_EQ(decision.length, 100U);
  ASSERT_EQ(decision.target.length, 100U);
  rig.settle();
  EXPECT_TRUE(rig.out().held.empty()) << "store and forward";
  rig.received(kClient, {3, 1});
  rig.settle();
  ASSERT_EQ(rig.out().held.size(), 1U);
  const Transmit& sent = *rig.out().held[0];
  EXPECT_EQ(sent.header.source, kClient);
  EXPECT_EQ(sent.header.destination, kServer);
  EXPECT_EQ(sent.header.source_pid, 88U);
  EXPECT_EQ(sent.header.destination_pid, 77U);
  EXPECT_EQ(sent.header.area<PutArea>().match_bits, 3U);
  EXPECT_EQ(sent.next_hop->nid, kServer);
  EXPECT_TRUE(sent.routed);
  EXPECT_FALSE(sent.next_hop_is_router);
  EXPECT_EQ(sent.deadline, Instant::max());
  ASSERT_EQ(sent.source.length, 100U);
  EXPECT_EQ(sent.source.fragments.data(), decision.target.fragments.data());
  rig.end(0);
  EXPECT_EQ(rig.statistic(Statistic::kRouteCount), 1U);
  EXPECT_EQ(rig.statistic(Statistic::kRouteLength), 100U);
  EXPECT_EQ(rig.statistic(Statistic::kSendCount), 0U);
  EXPECT_EQ(rig.statistic(Statistic::kReceiveCount), 0U);
  EXPECT_EQ(rig.port(kClient).traffic.get(LnetTraffic::Id::kReceivedPut), 1U);
  EXPECT_EQ(rig.port(kServer).traffic.get(LnetTraffic::Id::kSentPut), 1U);
  EXPECT_EQ(rig.peer(kClient)->traffic.get(LnetTraffic::Id::kReceivedPut), 1U);
  EXPECT_EQ(rig.peer(kServer)->traffic.get(LnetTraffic::Id::kSentPut), 1U);
  rig.expect_conserved();
}

TEST(Forward, EveryTypeGoesBothWaysAndNoGetHasASink) {
  Rig rig;
  std::uint32_t index = 0;
  for (const MessageType type :
       {MessageType::kPut, MessageType::kAck, MessageType::kGet, MessageType::kReply}) {
    const bool carries = type == MessageType::kPut || type == MessageType::kReply;
    const RxHandle rx{index++, 1};
    ASSERT_EQ(rig.offer(kServer, kClient, carries ? 5000 : 0, rx, type).verdict,
              RxVerdict::kReceive);
    rig.received(kServer, rx);
    rig.settle();
    ASSERT_EQ(rig.in().held.size(), 1U);
    EXPECT_EQ(rig.in().held[0]->header.type, type);
    EXPECT_TRUE(rig.in().held[0]->sink.empty());
    EXPECT_EQ(rig.in().held[0]->source.length, carries ? 5000U : 0U);
    rig.in().end(0);
    rig.settle();
  }
  EXPECT_EQ(rig.statistic(Statistic::kRouteCount), 4U);
  rig.expect_conserved();
}

TEST(Forward, NothingIsForwardedWhileRoutingIsOff) {
  Rig rig;
  rig.node.shared().parameters.routing.set(static_cast<std::int32_t>(RoutingState::kDisabled));
  EXPECT_EQ(rig.forward(kClient, kServer, 10, {1, 1}), RxVerdict::kDrop);
  EXPECT_EQ(rig.cause(Cause::kDroppedNotRouting), 1U);
  for (const RoutingState state :
       {RoutingState::kEnabled, RoutingState::kStopping, RoutingState::kStarting}) {
    rig.node.shared().parameters.routing.set(static_cast<std::int32_t>(state));
    EXPECT_EQ(rig.forward(kClient, kServer, 10, {1, 1}), RxVerdict::kReceive);
  }
  rig.end_all();
  rig.expect_conserved();
}

TEST(Forward, UnknownDestinationsBecomePeers) {
  ForwardRig rig;
  EXPECT_EQ(rig.forward(kClient, kServer, 10, {1, 1}), RxVerdict::kPark);
  EXPECT_EQ(rig.go_on(), std::vector{RxVerdict::kReceive});
  ASSERT_EQ(rig.out().held.size(), 1U);
  EXPECT_EQ(rig.out().held[0]->next_hop->nid, kServer);
  rig.end_all();
  rig.expect_conserved();
}

TEST(Forward, ToNowhereIsDroppedAndCounted) {
  Rig rig;
  const Nid nowhere = Nid::of(NetType::kTcp, 9, 1);
  EXPECT_EQ(rig.forward(kClient, nowhere, 10, {1, 1}), RxVerdict::kDrop);
  EXPECT_EQ(rig.cause(Cause::kDroppedForwardNoPath), 1U);
  EXPECT_EQ(rig.statistic(Statistic::kDropCount), 1U);
  EXPECT_EQ(rig.port(kClient).traffic.get(LnetTraffic::Id::kDroppedPut), 1U);
  rig.expect_conserved();
}

TEST(Forward, WithoutBuffersOfItsSizeItIsDropped) {
  Rig rig({.buffers = {{1, 1, 0}}});
  EXPECT_EQ(rig.forward(kClient, kServer, kPage + 1, {1, 1}), RxVerdict::kDrop);
  EXPECT_EQ(rig.cause(Cause::kDroppedNoBuffers), 1U);
  rig.expect_conserved();
}

TEST(Forward, AClientIsLimitedByItsCreditsAndServedInOrder) {
  Rig rig({.buffers = {{32, 32, 32}}, .tunables = {.peer_buffer_credits = 2}});
  EXPECT_EQ(rig.forward(kClient, kServer, 10, {1, 1}), RxVerdict::kReceive);
  EXPECT_EQ(rig.forward(kClient, kServer, 10, {2, 1}), RxVerdict::kReceive);
  EXPECT_EQ(rig.forward(kClient, kServer, 10, {3, 1}), RxVerdict::kPark);
  EXPECT_EQ(rig.forward(kClient, kServer, 10, {4, 1}), RxVerdict::kPark);
  EXPECT_EQ(rig.peer(kClient)->client.credits, -2);
  EXPECT_EQ(rig.peer(kClient)->client.credits_min, -2);
  EXPECT_EQ(rig.forward(kOther, kServer, 10, {5, 1}), RxVerdict::kReceive) << "has its own";
  EXPECT_EQ(rig.cause(Cause::kHeldClientCredit), 2U);
  rig.end(0);
  ASSERT_EQ(rig.in().resumed.size(), 1U);
  EXPECT_EQ(rig.in().resumed[0].first, (RxHandle{3, 1}));
  rig.go_on();
  rig.end(0);
  ASSERT_EQ(rig.in().resumed.size(), 1U);
  EXPECT_EQ(rig.in().resumed[0].first, (RxHandle{4, 1}));
  rig.end_all();
  EXPECT_EQ(rig.statistic(Statistic::kRouteCount), 5U);
  rig.expect_conserved();
}

TEST(Forward, AClientHasThePeerCreditsOfItsNetworkUnlessTheNodeHasANumber) {
  Rig rig({.tunables = {.peer_credits = 5}});
  EXPECT_EQ(rig.forward(kClient, kServer, 10, {1, 1}), RxVerdict::kReceive);
  EXPECT_EQ(rig.peer(kClient)->client.credits_max, 5);
  rig.node.shared().parameters.peer_buffer_credits.set(3);
  EXPECT_EQ(rig.forward(kClient, kServer, 10, {2, 1}), RxVerdict::kReceive);
  EXPECT_EQ(rig.peer(kClient)->client.credits_max, 3);
  EXPECT_EQ(rig.peer(kClient)->client.credits, 1);
  rig.end_all();
  rig.expect_conserved();
}

TEST(Forward, AHopThatTakesNothingGetsHalfOfTheBuffersAndOthersTheRest) {
  Rig rig({.buffers = {{8, 8, 8}}, .tunables = {.peer_buffer_credits = 32}});
  std::uint32_t index = 0;
  unsigned got = 0;
  while (rig.forward(kClient, kServer, kPage, {++index, 1}) == RxVerdict::kReceive)
    ++got;
  EXPECT_EQ(got, 4U);
  EXPECT_EQ(rig.forward(kClient, kServer, 0, {++index, 1}), RxVerdict::kReceive)
      << "another class, another queue";
  EXPECT_EQ(rig.forward(kOther, kBackup, kPage, {++index, 1}), RxVerdict::kReceive);
  EXPECT_EQ(rig.core().buffers.free_count(BufferClass::kSmall), 3U);
  EXPECT_EQ(rig.core().buffers.view(BufferClass::kSmall).credits, -1) << "one message waits";
  EXPECT_EQ(rig.cause(Cause::kHeldHopShare), 1U);
  rig.end_all();
  EXPECT_EQ(rig.statistic(Statistic::kRouteCount), index);
  rig.expect_conserved();
}

TEST(Forward, HopsThatWaitAreServedInTurn) {
  Rig rig({.buffers = {{1, 2, 1}}, .tunables = {.peer_buffer_credits = 32}});
  std::uint32_t index = 0;
  EXPECT_EQ(rig.forward(kClient, kServer, 10, {++index, 1}), RxVerdict::kReceive);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(rig.forward(kClient, kServer, 10, {++index, 1}), RxVerdict::kPark);
  EXPECT_EQ(rig.forward(kClient, kBackup, 10, {++index, 1}), RxVerdict::kReceive);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(rig.forward(kClient, kBackup, 10, {++index, 1}), RxVerdict::kPark);
  std::vector<Nid> order;
  while (!rig.out().held.empty()) {
    order.push_back(rig.out().held[0]->next_hop->nid);
    rig.end(0);
    rig.go_on();
  }
  ASSERT_EQ(order.size(), 8U);
  for (std::size_t i = 0; i + 1 < order.size(); i += 2)
    EXPECT_NE(order[i], order[i + 1]);
  rig.expect_conserved();
}

// It connected to us and cannot be connected to, so an unreachable host does not mean that it is
// down.
TEST(Forward, MessagesToAPlainProcessIgnoreADownNid) {
  for (const bool waits : {false, true}) {
    Rig rig({.buffers = {{8, 2, 8}}});
    const auto offer = [&rig](std::uint32_t pid, RxHandle rx) {
      MessageHeader header{.destination = kServer, .source = kClient, .type = MessageType::kPut};
      header.destination_pid = pid;
      header.payload_length = 10;
      header.set_area(PutArea{.match_bits = rx.index, .portal = 5});
      return rig.port(kClient).on_header({.header = header, .from = kClient, .rx = rx}).verdict;
    };
    const auto goes_down = [&rig] {
      rig.port(kServer).on_peer(kServer, PeerNotice::kDown, rig.now);
    };
    if (!waits) goes_down();
    if (waits) {
      EXPECT_EQ(rig.forward(kOther, kServer, 10, {9, 1}), RxVerdict::kReceive);
    }
    EXPECT_EQ(offer(77 | kPidUserFlag, {1, 1}), waits ? RxVerdict::kPark : RxVerdict::kReceive);
    if (waits) goes_down();
    rig.settle();
    if (!waits) rig.received(kClient, {1, 1});
    rig.settle();
    rig.end_all();
    EXPECT_EQ(rig.statistic(Statistic::kRouteCount), waits ? 2U : 1U);
    EXPECT_EQ(rig.cause(Cause::kDroppedHopDown) + rig.cause(Cause::kTxHopDown), 0U);
    EXPECT_EQ(offer(77, {2, 1}), RxVerdict::kDrop);
    rig.expect_conserved();
  }
}

TEST(Forward, ToAHopThatIsDownIsDroppedAtTheExpenseOfItsHealth) {
  Rig rig;
  rig.port(kServer).on_peer(kServer, PeerNotice::kDown, rig.now);
  EXPECT_EQ(rig.forward(kClient, kServer, 10, {1, 1}), RxVerdict::kDrop);
  EXPECT_EQ(rig.cause(Cause::kDroppedHopDown), 1U);
  EXPECT_EQ(rig.statistic(Statistic::kDropCount), 1U);
  EXPECT_EQ(rig.statistic(Statistic::kRemoteDropped), 1U);
  EXPECT_EQ(rig.node.directory().find(kServer)->health.get(), kHealthMax - 100);
  EXPECT_EQ(rig.node.directory().find(kClient)->health.get(), kHealthMax);
  EXPECT_EQ(rig.port(kServer).traffic.get(LnetTraffic::Id::kDroppedPut), 1U);
  EXPECT_EQ(rig.forward(kClient, kBackup, 10, {2, 1}), RxVerdict::kReceive);
  rig.port(kServer).on_peer(kServer, PeerNotice::kAlive, rig.now);
  EXPECT_EQ(rig.forward(kClient, kServer, 10, {3, 1}), RxVerdict::kReceive);
  rig.end_all();
  rig.expect_conserved();
}

TEST(Forward, AHopThatIsDownIsAskedForOncePerSecond) {
  Rig rig;
  rig.port(kServer).on_peer(kServer, PeerNotice::kDown, rig.now);
  Nid hop;
  EXPECT_FALSE(rig.core().recovery_requests->pop(hop)) << "no output wants it";
  std::uint32_t index = 0;
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(rig.forward(kClient, kServer, 10, {++index, 1}), RxVerdict::kDrop);
  EXPECT_TRUE(rig.node.shared().recovery_requested.load());
  ASSERT_TRUE(rig.core().recovery_requests->pop(hop));
  EXPECT_EQ(hop, kServer);
  EXPECT_FALSE(rig.core().recovery_requests->pop(hop));
  rig.pass(std::chrono::seconds(1));
  EXPECT_EQ(rig.forward(kClient, kServer, 10, {++index, 1}), RxVerdict::kDrop);
  EXPECT_TRUE(rig.core().recovery_requests->pop(hop));
  rig.expect_conserved();
}

TEST(Forward, WithoutAPeerTimeoutNoPeerIsDown) {
  Rig rig({.tunables = {.peer_timeout_s = 0}});
  rig.port(kServer).on_peer(kServer, PeerNotice::kDown, rig.now);
  EXPECT_EQ(rig.forward(kClient, kServer, 10, {1, 1}), RxVerdict::kReceive);
  rig.end_all();
  rig.expect_conserved();
}

TEST(Forward, AllThatWaitsForAHopEndsAtOnceWhenItGoesDown) {
  for (const unsigned shards : {1U, 2U}) {
    Rig rig({.shards = shards,
             .buffers = {{8, 8, 8}},
             .tunables = {.peer_credits = 2, .peer_buffer_credits = 32}},
            static_cast<ShardId>(shards - 1));
    std::uint32_t index = 0;
    while (rig.forward(kClient, kServer, 10, {++index, 1}) == RxVerdict::kReceive) {
    }
    HeldLnd& out = rig.out(shards - 1);
    ASSERT_EQ(out.held.size(), 2U) << "its credits; two wait for one, one for a buffer";
    rig.port(kServer, shards - 1).on_peer(kServer, PeerNotice::kDown, rig.now);
    rig.settle();
    EXPECT_EQ(rig.go_on(), std::vector{RxVerdict::kDrop});
    EXPECT_EQ(rig.cause(Cause::kDroppedHopDown), 1U);
    EXPECT_EQ(rig.cause(Cause::kTxHopDown), 2U);
    Nid hop;
    EXPECT_TRUE(rig.core().recovery_requests->pop(hop) ||
                rig.core(shards - 1).recovery_requests->pop(hop));
    EXPECT_EQ(rig.cause(Cause::kForwardFailed), 2U);
    EXPECT_EQ(rig.core().buffers.held(), 2U);
    while (!out.held.empty())
      rig.end(0, {.status = std::unexpected(Errc::kReset), .health = Health::kRemoteDropped},
              shards - 1);
    EXPECT_EQ(rig.cause(Cause::kForwardFailed), 4U);
    EXPECT_EQ(rig.statistic(Statistic::kDropCount), 3U);
    EXPECT_EQ(rig.statistic(Statistic::kRemoteDropped), 5U);
    rig.expect_conserved();
  }
}

TEST(Forward, AWaitingMessageEndsWithItsConnection) {
  Rig rig({.buffers = {{8, 2, 8}}, .tunables = {.peer_buffer_credits = 2}});
  EXPECT_EQ(rig.forward(kClient, kServer, 10, {1, 1}), RxVerdict::kReceive);
  EXPECT_EQ(rig.forward(kClient, kServer, 10, {2, 1}), RxVerdict::kPark) << "for a buffer";
  EXPECT_EQ(rig.forward(kClient, kServer, 10, {3, 1}), RxVerdict::kPark) << "for a credit";
  rig.port(kClient).on_parked_gone({2, 1}, Errc::kReset);
  rig.port(kClient).on_parked_gone({3, 1}, Errc::kReset);
  rig.settle();
  EXPECT_EQ(rig.cause(Cause::kDroppedConnectionLost), 2U);
  EXPECT_EQ(rig.core().buffers.view(BufferClass::kSmall).credits, 1);
  EXPECT_EQ(rig.forward(kClient, kBackup, 10, {4, 1}), RxVerdict::kReceive);
  rig.end_all();
  rig.expect_conserved();
}

TEST(Forward, AMessageWithAFailedPayloadIsNotSent) {
  Rig rig;
  ASSERT_EQ(rig.offer(kClient, kServer, 10, {1, 1}).verdict, RxVerdict::kReceive);
  rig.received(kClient, {1, 1}, std::unexpected(Errc::kReset));
  rig.settle();
  EXPECT_TRUE(rig.out().held.empty());
  EXPECT_EQ(rig.cause(Cause::kReceiveFailed), 1U);
  rig.expect_conserved();
}

TEST(Forward, WaitsForAMessageAndIsNotLost) {
  Rig rig({.buffers = {{32, 32, 32}}, .tunables = {.peer_buffer_credits = 32}, .messages = 2});
  EXPECT_EQ(rig.forward(kClient, kServer, 10, {1, 1}), RxVerdict::kReceive);
  for (std::uint32_t i = 2; i <= 6; ++i)
    EXPECT_EQ(rig.forward(kClient, kServer, 10, {i, 1}), RxVerdict::kPark);
  EXPECT_EQ(rig.out().held.size(), 1U) << "the other one is for another hop";
  EXPECT_EQ(rig.cause(Cause::kHeldRecords), 5U);
  EXPECT_EQ(rig.cause(Cause::kAnswersWaited), 0U);
  rig.end_all();
  EXPECT_EQ(rig.statistic(Statistic::kRouteCount), 6U);
  rig.expect_conserved();
}

TEST(Forward, WaitingMessagesFindADeletedHopAgain) {
  Rig rig({.buffers = {{8, 2, 8}}});
  ASSERT_EQ(rig.offer(kClient, kServer, 10, {1, 1}).verdict, RxVerdict::kReceive);
  ASSERT_EQ(rig.offer(kClient, kServer, 10, {2, 1}).verdict, RxVerdict::kPark);
  rig.node.delete_peer(kServer);
  for (unsigned i = 0; i < 10; ++i)
    rig.settle();
  rig.received(kClient, {1, 1});
  rig.settle();
  ASSERT_EQ(rig.out().held.size(), 1U);
  EXPECT_EQ(rig.out().held[0]->next_hop->nid, kServer);
  rig.end_all();
  EXPECT_EQ(rig.statistic(Statistic::kRouteCount), 2U);
  rig.expect_conserved();
}

TEST(Forward, MessagesOfADeletedClientContinue) {
  Rig rig({.buffers = {{32, 32, 32}}, .tunables = {.peer_buffer_credits = 2}});
  for (std::uint32_t i = 1; i <= 3; ++i)
    (void)rig.forward(kClient, kServer, 10, {i, 1});
  rig.node.delete_peer(kClient);
  for (unsigned i = 0; i < 10; ++i)
    rig.settle();
  rig.end_all();
  EXPECT_EQ(rig.statistic(Statistic::kRouteCount), 3U);
  rig.expect_conserved();
}

TEST(Forward, CrossesToTheHomeOfTheNextHopAndBack) {
  for (ShardId home = 0; home < 3; ++home) {
    Rig rig({.shards = 3}, home);
    ASSERT_EQ(rig.offer(kClient, kServer, kPage, {1, 1}, MessageType::kPut, 1).verdict,
              RxVerdict::kReceive);
    rig.received(kClient, {1, 1}, {}, 1);
    rig.settle();
    ASSERT_EQ(rig.out(home).held.size(), 1U);
    EXPECT_EQ(rig.core(1).buffers.held(), 1U);
    rig.end(0, {}, home);
    EXPECT_EQ(rig.core(1).statistics.get(Statistic::kRouteCount), 1U);
    rig.expect_conserved();
  }
}

TEST(Forward, QuarantinedBuffersReturnLater) {
  Rig rig;
  EXPECT_EQ(rig.forward(kClient, kServer, 10, {1, 1}), RxVerdict::kReceive);
  Transmit& sent = *rig.out().held[0];
  rig.end(0, {.status = std::unexpected(Errc::kTimedOut),
              .health = Health::kNetworkTimeout,
              .quarantined = true});
  EXPECT_EQ(rig.core().buffers.held(), 1U);
  rig.port(kServer).on_quarantine_over(sent);
  rig.settle();
  EXPECT_EQ(rig.cause(Cause::kForwardFailed), 1U);
  rig.expect_conserved();
}

}  // namespace
}  // namespace plnet::lnet::forward_test
