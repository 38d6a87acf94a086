// SPDX-License-Identifier: BSD-3-Clause
// Handshakes, messages before them, purge and repeated greeting.
#include <gtest/gtest.h>

#include "tests/unit/lib/kfilnd/scripted_endpoint.hpp"

namespace plnet::kfilnd::handshake_test {
namespace {

using Call = ScriptedEndpoint::Call;
using enum FabricEvent;
using std::chrono::seconds;

constexpr std::uint32_t kBulkBytes = 65536;

bool is(const ScriptedEndpoint::Post& post, Kind kind) {
  return post.message.kind == kind;
}

TEST(KfilndHello, TheFirstMessageWaitsForTheHandshake) {
  ScriptedNode node;
  node.put(100);
  node.put(100);
  const auto request = node.endpoint.take(Call::kSend);
  ASSERT_TRUE(is(request, Kind::kHelloRequest));
  EXPECT_EQ(request.to.receive_context, 0) << "where everybody listens";
  EXPECT_EQ(request.message.hello,
            (Hello{.version = 2, .rx_base = 2, .session_key = 1, .rx_count = 1}));
  EXPECT_EQ(node.endpoint.waiting(Call::kSend), 0U) << "one handshake at a time";
  node.done(kSent, request);
  node.turn(seconds(1));
  EXPECT_EQ(node.endpoint.waiting(Call::kSend), 0U);
  node.hello(Kind::kHelloResponse, {.version = 2, .rx_base = 5, .session_key = 9});
  EXPECT_EQ(node.state(), PeerState::kUpToDate);
  EXPECT_EQ(node.core->notices(), std::vector{lnet::PeerNotice::kAlive});
  for (int i = 0; i < 2; ++i) {
    const auto send = node.endpoint.take(Call::kSend);
    EXPECT_TRUE(is(send, Kind::kImmediate));
    EXPECT_EQ(send.to.receive_context, 5);
    node.done(kSent, send);
  }
  EXPECT_EQ(node.completions(), 2U);
  EXPECT_EQ(node.count(LndId::kThrottled), 2U);
  node.expect_clean();
}

TEST(KfilndHello, CrossingHellos) {
  ScriptedNode node;
  node.put(100);
  const auto request = node.endpoint.take(Call::kSend);
  node.hello(Kind::kHelloRequest, {.rx_base = 7, .session_key = 9});
  EXPECT_EQ(node.state(), PeerState::kWaitResponse);
  const auto response = node.endpoint.take(Call::kSend);
  ASSERT_TRUE(is(response, Kind::kHelloResponse)) << "and no second request";
  EXPECT_EQ(response.to.receive_context, 7);
  EXPECT_EQ(response.message.hello.version, 2);
  EXPECT_EQ(node.endpoint.waiting(Call::kSend), 0U) << "not answered yet";
  node.done(kSent, response);
  node.done(kSent, request);
  node.hello(Kind::kHelloResponse, {.rx_base = 7, .session_key = 9});
  EXPECT_TRUE(is(node.endpoint.take(Call::kSend), Kind::kImmediate));
  node.expect_clean();
}

TEST(KfilndHello, AStrangerIsGreetedToo) {
  ScriptedNode node;
  node.hello(Kind::kHelloRequest, {.rx_base = 7, .session_key = 9});
  EXPECT_TRUE(is(node.endpoint.take(Call::kSend), Kind::kHelloRequest));
  EXPECT_TRUE(is(node.endpoint.take(Call::kSend), Kind::kHelloResponse));
  EXPECT_EQ(node.count(LndId::kHellosReceived), 1U);
}

TEST(KfilndHello, ALostResponseIsAskedForAgainAfterTheTimeout) {
  ScriptedNode node;
  node.put(100);
  node.done(kSent, node.endpoint.take(Call::kSend));
  node.turn(seconds(64));
  ASSERT_EQ(node.completions(), 1U) << "throttled for half of the timeout, no more";
  EXPECT_EQ(node.last().status, Result<void>(std::unexpected(Errc::kTimedOut)));
  EXPECT_EQ(node.last().health, Health::kNetworkTimeout);
  node.put(100);
  EXPECT_EQ(node.endpoint.waiting(Call::kSend), 0U) << "the first is still waited for";
  node.turn(seconds(62));
  node.put(100);
  EXPECT_TRUE(is(node.endpoint.take(Call::kSend), Kind::kHelloRequest));
}

TEST(KfilndHello, WaitingMessagesEndWithAFailedHandshake) {
  ScriptedNode node;
  node.put(100);
  node.put(kBulkBytes);
  node.done(kSent, node.endpoint.take(Call::kSend), std::unexpected(Errc::kNoRoute));
  node.turn();
  ASSERT_EQ(node.completions(), 2U);
  for (const lnet::Completion& completion : node.core->completions()) {
    EXPECT_EQ(completion.status, Result<void>(std::unexpected(Errc::kCancelled)));
    EXPECT_EQ(completion.health, Health::kNetworkTimeout);
  }
  EXPECT_EQ(node.endpoint.waiting(Call::kPostTagged), 0U);
  EXPECT_EQ(node.lnd->transactions(), 0U);
  node.endpoint.fail_next(Call::kSend, Errc::kIo);
  node.put(100);
  EXPECT_EQ(node.last().status, Result<void>(std::unexpected(Errc::kIo))) << "not even begun";
}

TEST(KfilndHello, VersionOnePeer) {
  ScriptedNode node;
  node.meet(1, 1);
  node.put(kBulkBytes);
  const auto request = node.endpoint.take(Call::kSend);
  EXPECT_EQ(request.message.version, 1);
  EXPECT_EQ(request.head.size(), kBulkV1Bytes);
  node.meet(2, 2);
  node.hello(Kind::kHelloRequest, {.version = 3, .session_key = 4}, 3);
  while (node.endpoint.waiting(Call::kSend) > 0) {
    const auto hello = node.endpoint.take(Call::kSend);
    EXPECT_EQ(hello.message.hello.version, 2) << "the newest of ours";
  }
  node.expect_clean();
}

TEST(KfilndHello, MessagesOtherThanHelloAreDropped) {
  ScriptedNode node;
  for (const Hello& bad : {Hello{.rx_count = 0}, Hello{.version = 0}, Hello{.rx_base = 300}})
    node.hello(Kind::kHelloRequest, bad);
  node.hello(Kind::kHelloResponse, {.version = 3});
  EXPECT_EQ(node.count(LndId::kBadHello), 4U);
  node.hello(Kind::kHelloResponse, {.session_key = 3});
  EXPECT_EQ(node.count(LndId::kStrayHellos), 1U) << "no request";
  EXPECT_EQ(node.lnd->peer(nid_of(1)), nullptr);
  EXPECT_EQ(node.endpoint.waiting(Call::kSend), 0U);
}

TEST(KfilndHello, ARebootedPeerGreetsAndIsSentToByItsNewKeys) {
  ScriptedNode node;
  node.meet();
  node.hello(Kind::kHelloRequest, {.rx_base = 6, .session_key = 1});
  EXPECT_EQ(node.state(), PeerState::kUpToDate) << "the survivor stays as it is";
  EXPECT_EQ(node.count(LndId::kPeerRestarts), 1U);
  EXPECT_EQ(node.core->notices().back(), lnet::PeerNotice::kLost);
  EXPECT_TRUE(is(node.endpoint.take(Call::kSend), Kind::kHelloResponse));
  EXPECT_EQ(node.endpoint.waiting(Call::kSend), 0U);
  node.put(100);
  EXPECT_EQ(node.endpoint.take(Call::kSend).to.receive_context, 6);
  EXPECT_EQ(node.lnd->peer(nid_of(1))->remote_session_key, 1U);
}

TEST(KfilndPeers, GreetedAgainAfterTwoTimeoutsOfSilence) {
  ScriptedNode node;
  node.meet();
  node.turn(seconds(249));
  node.put(100);
  ASSERT_TRUE(is(node.endpoint.take(Call::kSend), Kind::kImmediate));
  node.turn(seconds(2));
  node.put(100);
  EXPECT_TRUE(is(node.endpoint.take(Call::kSend), Kind::kHelloRequest));
  EXPECT_TRUE(is(node.endpoint.take(Call::kSend), Kind::kImmediate)) << "and it waits for nothing";
}

TEST(KfilndPeers, PurgedAfterFiveTimeoutsOfSilence) {
  for (const int silent : {624, 626}) {
    ScriptedNode node;
    node.meet();
    const auto fail = [&](Errc cause) {
      node.put(100);
      while (node.endpoint.waiting(Call::kSend) > 0)
        node.done(kSent, node.endpoint.take(Call::kSend), std::unexpected(cause));
    };
    fail(Errc::kTimedOut);
    EXPECT_EQ(node.state(), PeerState::kStale);
    node.turn(seconds(silent));
    fail(Errc::kTimedOut);
    EXPECT_EQ(node.lnd->peer(nid_of(1)) == nullptr, silent > 625);
    EXPECT_EQ(node.count(LndId::kPeersDeleted), silent > 625 ? 1U : 0U);
  }
}

TEST(KfilndPeers, UnreachableIsDownAndComesBackByHello) {
  ScriptedNode node;
  node.meet();
  node.put(100);
  node.done(kSent, node.endpoint.take(Call::kSend), std::unexpected(Errc::kClosed));
  EXPECT_EQ(node.state(), PeerState::kDown);
  EXPECT_EQ(node.core->notices().back(), lnet::PeerNotice::kLost);
  node.put(100);
  const auto hello = node.endpoint.take(Call::kSend);
  ASSERT_TRUE(is(hello, Kind::kHelloRequest));
  EXPECT_EQ(node.endpoint.waiting(Call::kSend), 0U) << "throttled";
  node.done(kSent, hello);
  node.hello(Kind::kHelloResponse, {.rx_base = 3, .session_key = 77});
  EXPECT_TRUE(is(node.endpoint.take(Call::kSend), Kind::kImmediate));
  node.expect_clean();
}

TEST(KfilndPeers, StalePeersAreGreetedWhileTheirTrafficGoesOn) {
  ScriptedNode node;
  node.meet();
  node.put(100);
  node.done(kSent, node.endpoint.take(Call::kSend), std::unexpected(Errc::kTimedOut));
  node.put(100);
  EXPECT_TRUE(is(node.endpoint.take(Call::kSend), Kind::kHelloRequest));
  EXPECT_TRUE(is(node.endpoint.take(Call::kSend), Kind::kImmediate));
}

std::vector<std::byte> early_put(std::uint32_t length, std::uint16_t version = 2) {
  Message message = lnet_message(1, 0, length > kInlineBytesMax ? Kind::kBulkPut : Kind::kImmediate,
                                 version, lnet::MessageType::kPut, length);
  message.key = 5;
  message.session_key = 0x99;
  message.header.set_area(lnet::PutArea{.ack_handle = {}, .match_bits = 1});
  return bytes_of(message, length > kInlineBytesMax ? 0 : length);
}

TEST(KfilndEarly, WaitsForTheHelloOutsideTheReceiveBuffer) {
  ScriptedNode node;
  node.arrive(early_put(500));
  node.arrive(early_put(kBulkBytes), true);
  EXPECT_EQ(node.count(LndId::kEarly), 2U);
  EXPECT_EQ(node.count(LndId::kCopiedOut), 1U);
  EXPECT_EQ(node.endpoint.buffers_posted, 9U) << "posted again though both wait";
  EXPECT_EQ(node.core->tally().puts, 0U);
  ASSERT_TRUE(is(node.endpoint.take(Call::kSend), Kind::kHelloRequest));
  node.hello(Kind::kHelloRequest, {.rx_base = 3, .session_key = 77});
  node.turn();
  EXPECT_EQ(node.core->tally().puts, 1U);
  EXPECT_EQ(node.endpoint.take(Call::kRead).tag, tag_of(0x99, 5)) << "the key of the message";
  node.expect_clean();
}

TEST(KfilndEarly, BulkOfVersionOneIsDropped) {
  ScriptedNode node;
  node.arrive(early_put(kBulkBytes, 1));
  EXPECT_EQ(node.count(LndId::kEarlyV1), 1U);
  EXPECT_TRUE(is(node.endpoint.take(Call::kSend), Kind::kHelloRequest));
  EXPECT_EQ(node.lnd->transactions(), 1U) << "the HELLO";
}

TEST(KfilndEarly, IsDroppedWhenTheHandshakeFailsOrTakesTooLong) {
  ScriptedNode node;
  node.arrive(early_put(500));
  node.done(kSent, node.endpoint.take(Call::kSend), std::unexpected(Errc::kNoRoute));
  node.turn();
  EXPECT_EQ(node.count(LndId::kEarlyDropped), 1U);
  node.arrive(early_put(500));
  node.turn(seconds(64));
  node.turn();
  EXPECT_EQ(node.count(LndId::kEarlyDropped), 2U);
  EXPECT_EQ(node.core->tally().puts, 0U);
  node.expect_clean();
}

TEST(KfilndEarly, NoMoreThanThereArePlaces) {
  ScriptedNode node({.copies_max = 4});
  for (int i = 0; i < 10; ++i)
    node.arrive(early_put(500));
  EXPECT_EQ(node.count(LndId::kEarlyDropped), 6U);
  EXPECT_EQ(node.lnd->transactions(), 5U);
}

// Messages that wait for a HELLO leave a transaction for it.
TEST(KfilndEarly, LeavesRoomForTheHello) {
  ScriptedNode node({.receives_max = 4});
  for (int i = 0; i < 6; ++i)
    node.arrive(early_put(500));
  EXPECT_EQ(node.count(LndId::kEarlyDropped), 4U);
  EXPECT_EQ(node.count(LndId::kPutOff), 0U);
  ASSERT_TRUE(is(node.endpoint.take(Call::kSend), Kind::kHelloRequest));
  node.hello(Kind::kHelloRequest, {.rx_base = 3, .session_key = 77});
  node.turn();
  EXPECT_EQ(node.core->tally().puts, 2U);
  node.arrive(early_put(500));
  EXPECT_EQ(node.core->tally().puts, 3U);
  node.expect_clean();
}

TEST(KfilndPeers, NoMoreThanThereArePlaces) {
  ScriptedNode node({.peers_max = 3});
  node.meet(1);
  node.meet(2);
  node.put(10, 3);
  node.put(10, 4);
  EXPECT_EQ(node.last().status, Result<void>(std::unexpected(Errc::kNoMemory)));
  EXPECT_EQ(node.count(LndId::kPeersRefused), 1U);
  node.turn(seconds(626));  // nothing was sent to 1 and 2 or heard from them
  node.turn();
  node.put(10, 4);
  EXPECT_NE(node.lnd->peer(nid_of(4)), nullptr);
}

TEST(KfilndPeers, SoManyStrangersInATurn) {
  ScriptedNode node({.peers_max = 64});
  for (unsigned i = 1; i <= 40; ++i)
    node.land(bytes_of(hello_message(i, 0, Kind::kHelloRequest, {.session_key = i})));
  EXPECT_EQ(node.count(LndId::kPeersMade), 16U);
  EXPECT_EQ(node.count(LndId::kPutOff), 24U);
  node.turn();
  EXPECT_EQ(node.count(LndId::kPeersMade), 32U);
  node.turn();
  EXPECT_EQ(node.count(LndId::kPeersMade), 40U) << "and every one gets its turn";
  EXPECT_EQ(node.endpoint.waiting(Call::kSend), 80U);
}

// Each scan of a full table is short, and repeated scans cover all of it.
TEST(KfilndPeers, AFullTableIsLookedThroughPieceByPiece) {
  ScriptedEndpoint endpoint;
  PeerCache peers(1000, 1, endpoint);
  const Instant now{};
  for (unsigned i = 0; i < 1000; ++i) {
    Peer& peer = **peers.create(nid_of(i), now, seconds(125));
    if (i != 900) peers.use(peer);
  }
  unsigned tries = 1;
  while (!peers.create(nid_of(2000), now, seconds(125)) && tries < 100)
    ++tries;
  EXPECT_EQ(tries, (900 / PeerCache::kLookedAtMax) + 1) << "the one that is idle";
  EXPECT_EQ(peers.find(nid64_of(900)), nullptr);
  EXPECT_NE(peers.find(nid64_of(2000)), nullptr);
}

TEST(KfilndHello, AnOldOneThatFailsDoesNotEndTheOneUnderWay) {
  ScriptedNode node;
  node.put(100);
  const auto old = node.endpoint.take(Call::kSend);  // it is never answered
  node.turn(seconds(126));
  node.put(100);
  const auto current = node.endpoint.take(Call::kSend);
  ASSERT_TRUE(is(current, Kind::kHelloRequest));
  node.done(kSent, old, std::unexpected(Errc::kTimedOut));
  EXPECT_EQ(node.count(LndId::kHellosFailed), 0U);
  EXPECT_EQ(node.lnd->peer(nid_of(1))->hello_state, HelloState::kSending);
  node.hello(Kind::kHelloResponse, {.rx_base = 3, .session_key = 7});
  EXPECT_TRUE(is(node.endpoint.take(Call::kSend), Kind::kImmediate)) << "it has waited on";
}

TEST(KfilndHello, APeerThatHasOnlyForgottenUs) {
  ScriptedNode node;
  node.meet(1, 2, 77);
  node.hello(Kind::kHelloRequest, {.rx_base = 3, .session_key = 80});
  EXPECT_EQ(node.count(LndId::kPeerForgot), 1U);
  EXPECT_EQ(node.count(LndId::kPeerRestarts), 0U);
  EXPECT_EQ(node.core->notices(), std::vector{lnet::PeerNotice::kAlive});
  EXPECT_EQ(node.lnd->peer(nid_of(1))->remote_session_key, 80U);
  node.hello(Kind::kHelloRequest, {.rx_base = 3, .session_key = 2});
  EXPECT_EQ(node.count(LndId::kPeerRestarts), 1U) << "it counts from the beginning";
  node.hello(Kind::kHelloRequest, {.rx_base = 3, .session_key = 0x9000'0000});
  EXPECT_EQ(node.count(LndId::kPeerRestarts), 2U) << "no peer loses its state so often";
}

TEST(KfilndShutDown, HealthyPeersAreNotReportedAsLost) {
  ScriptedNode node;
  node.meet();
  node.put(kBulkBytes);
  const auto tagged = node.endpoint.take(Call::kPostTagged);
  node.done(kSent, node.endpoint.take(Call::kSend));
  node.lnd->shut_down();
  node.turn();
  ASSERT_EQ(node.endpoint.waiting(Call::kCancel), 1U);
  node.done(kTaggedCancelled, tagged);
  ASSERT_EQ(node.completions(), 1U);
  EXPECT_EQ(node.last().status, Result<void>(std::unexpected(Errc::kShutdown)));
  EXPECT_EQ(node.core->notices(), std::vector{lnet::PeerNotice::kAlive});
  EXPECT_EQ(node.count(LndId::kPeersDeleted), 0U);
  EXPECT_EQ(node.lnd->peer(nid_of(1)), nullptr) << "it may still know the tag";
  node.expect_clean();
}

TEST(KfilndLink, AnAddressThatIsNotOursIsFatal) {
  ScriptedNode node;
  node.lnd->on_link(true, kFirstNic);
  node.lnd->on_link(false, kFirstNic);
  node.lnd->on_link(true, kFirstNic + 9);
  using enum lnet::InterfaceState;
  EXPECT_EQ(node.core->interface_states(), (std::vector{kUp, kFatal, kFatal}));
}

TEST(KfilndLink, AFlappingLinkCountsAfterItStayedUp) {
  ScriptedNode node;
  using enum lnet::InterfaceState;
  const auto told = [&] { return node.core->interface_states().size(); };
  node.turn(seconds(1));
  for (std::size_t fall = 1; fall <= LinkHold::kFalls; ++fall) {
    node.lnd->on_link(false, kFirstNic);
    node.turn(seconds(1));
    node.lnd->on_link(true, kFirstNic);
    node.turn(seconds(1));
    EXPECT_EQ(told(), fall < LinkHold::kFalls ? 2 * fall : 2 * fall - 1);
  }
  EXPECT_EQ(node.core->interface_states().back(), kFatal);
  EXPECT_EQ(node.count(LndId::kLinkHeld), 1U);
  EXPECT_LE(node.lnd->next_deadline(), node.now + LinkHold::kHold);
  node.turn(LinkHold::kHold - seconds(2));
  EXPECT_EQ(node.core->interface_states().back(), kFatal);
  node.turn(seconds(2));
  EXPECT_EQ(node.core->interface_states().back(), kUp);
  EXPECT_EQ(told(), 2 * LinkHold::kFalls);
  node.lnd->on_link(false, kFirstNic);
  node.turn(seconds(1));
  EXPECT_EQ(node.core->interface_states().back(), kFatal) << "that is reported at once";
}

TEST(KfilndLink, ALinkThatReturnsWithAnotherAddressIsFatalAtOnce) {
  ScriptedNode node;
  node.turn(seconds(1));
  for (std::size_t fall = 0; fall < LinkHold::kFalls; ++fall) {
    node.lnd->on_link(false, kFirstNic);
    node.turn(seconds(1));
    node.lnd->on_link(true, fall + 1 < LinkHold::kFalls ? kFirstNic : kFirstNic + 9);
    node.turn();
  }
  EXPECT_EQ(node.core->interface_states().back(), lnet::InterfaceState::kFatal);
  EXPECT_EQ(node.lnd->moved_to(), nid_of(9));
}

// The interface goes down, comes up with another address, moves once more, and returns.
TEST(KfilndLink, TheNidOfAnotherAddress) {
  ScriptedNode node;
  EXPECT_EQ(node.lnd->moved_to(), std::nullopt);
  node.put(100, 2);  // waits for a handshake
  node.meet();
  node.lnd->on_link(false, kFirstNic + 9);
  EXPECT_EQ(node.lnd->moved_to(), std::nullopt) << "nothing is certain while it is down";
  node.lnd->on_link(true, kFirstNic + 9);
  EXPECT_EQ(node.lnd->moved_to(), nid_of(9));
  node.turn();
  ASSERT_EQ(node.completions(), 1U) << "it does not wait for answers to a NID that is gone";
  node.put(100);
  EXPECT_EQ(node.completions(), 2U);
  for (const lnet::Completion& completion : node.core->completions()) {
    EXPECT_EQ(completion.status, Result<void>(std::unexpected(Errc::kStale)));
    EXPECT_EQ(completion.health, Health::kLocalError) << "not the peer's fault";
  }
  EXPECT_EQ(node.endpoint.waiting(Call::kSend), 0U);
  node.lnd->on_link(true, kFirstNic + 10);
  EXPECT_EQ(node.lnd->moved_to(), nid_of(10));
  node.lnd->on_link(true, kFirstNic);
  EXPECT_EQ(node.lnd->moved_to(), std::nullopt);
  node.put(100);
  EXPECT_EQ(node.endpoint.take(Call::kSend).message.kind, Kind::kImmediate);
  EXPECT_EQ(node.count(LndId::kAddressChanged), 2U);
  using enum lnet::InterfaceState;
  EXPECT_EQ(node.core->interface_states(), (std::vector{kFatal, kFatal, kUp}));
}

}  // namespace
}  // namespace plnet::kfilnd::handshake_test
