// SPDX-License-Identifier: BSD-3-Clause
// The state machine of discovery, row by row, with a remote node that the test controls.
#include "lib/lnet/control/discovery.hpp"

#include <gtest/gtest.h>

#include "tests/unit/lib/lnet/control/discovery_fixture.hpp"

namespace plnet::lnet::discovery_test {
namespace {

TEST_F(DiscoveryTest, AMessageWaitsForPingAndPush) {
  TestParcel parcel;
  node_.send(parcel, kTheirs);
  EXPECT_FALSE(parcel.over);
  EXPECT_TRUE(node_.peer(kTheirs)->is(kPeerDiscovering));
  settle();
  EXPECT_TRUE(parcel.over);
  EXPECT_TRUE(parcel.outcome);
  EXPECT_EQ(state(kTheirs), kGood | kPeerMultiRail);
  EXPECT_EQ(node_.nids_of(kTheirs), (std::vector{kTheirs, kSecond}));
  EXPECT_EQ(far_.pings, 1);
  EXPECT_EQ(far_.sink, 272U);
  EXPECT_EQ(far_.pushes, 1);
  EXPECT_EQ(far_.pushed.source, kOurs);
  EXPECT_EQ(far_.pushed.target, kTheirs);
  const auto pushed = PingView::parse(far_.pushed.payload);
  ASSERT_TRUE(pushed);
  EXPECT_EQ(pushed->features(), 0x1eU);
  EXPECT_EQ(pushed->primary(), kOurs);
  EXPECT_EQ(pushed->sequence(), node_.coordinator.ping_target().sequence());
  node_.send(parcel, kTheirs);
  EXPECT_TRUE(parcel.over) << "now it goes at once";
  EXPECT_EQ(node_.coordinator.discovery().counters().get(Id::kQueued), 0U);
}

TEST_F(DiscoveryTest, ManyMessagesWaitForOneDiscovery) {
  std::array<TestParcel, 20> parcels;
  for (TestParcel& parcel : parcels)
    node_.send(parcel, kTheirs);
  settle();
  for (const TestParcel& parcel : parcels)
    EXPECT_TRUE(parcel.over && parcel.outcome);
  EXPECT_EQ(far_.pings, 1);
}

TEST_F(DiscoveryTest, APeerWithoutDiscoveryAndMultiRailIsNotPushedTo) {
  far_.say({kTheirs, kSecond}, 0x06);
  EXPECT_TRUE(discover(kTheirs));
  EXPECT_EQ(state(kTheirs), kGood | kPeerNoDiscovery);
  EXPECT_EQ(node_.nids_of(kTheirs), std::vector{kTheirs});
  EXPECT_EQ(far_.pushes, 0);
  EXPECT_TRUE(discover(kTheirs, true)) << "a forced push is not sent either, and does not stay";
  EXPECT_EQ(state(kTheirs), kGood | kPeerNoDiscovery);
  EXPECT_EQ(far_.pings, 2);
}

TEST_F(DiscoveryTest, MultiRailWithDiscoveryOffAtTheOtherEndCountsForNothing) {
  far_.say({kTheirs, kSecond}, 0x0e);
  EXPECT_TRUE(discover(kTheirs));
  EXPECT_EQ(state(kTheirs), kGood | kPeerNoDiscovery);
  EXPECT_EQ(node_.nids_of(kTheirs), std::vector{kTheirs});
}

TEST_F(DiscoveryTest, WithDiscoveryOffHereAPeerIsPingedAndLeftAsItIs) {
  node_.coordinator.set_discovery(false);
  TestParcel parcel;
  node_.send(parcel, kTheirs);
  settle();
  EXPECT_TRUE(parcel.over && parcel.outcome);
  EXPECT_EQ(state(kTheirs), kGood | kPeerNoDiscovery);
  EXPECT_EQ(node_.nids_of(kTheirs), std::vector{kTheirs});
  EXPECT_EQ(far_.pushes, 0);
  // A discovery by its other NID updates the peer's statuses, not its NIDs.
  far_.say({kSecond, kTheirs}, 0x1e, 1);
  EXPECT_TRUE(discover(kTheirs));
  EXPECT_EQ(node_.nids_of(kTheirs), std::vector{kTheirs});
  EXPECT_EQ(node_.coordinator.peers().find(kTheirs)->status.get(), kNiDown);
}

TEST_F(DiscoveryTest, TheRoutingFeatureIsRemembered) {
  far_.say({kTheirs}, 0x1a);
  EXPECT_TRUE(discover(kTheirs));
  EXPECT_TRUE(node_.peer(kTheirs)->is(kPeerRouterEnabled));
  far_.say({kTheirs}, 0x1e);
  EXPECT_TRUE(discover(kTheirs));
  EXPECT_FALSE(node_.peer(kTheirs)->is(kPeerRouterEnabled));
}

TEST_F(DiscoveryTest, APeerThatTurnsDiscoveryOffBeginsAnew) {
  ASSERT_TRUE(discover(kTheirs));
  far_.say({kTheirs, kSecond}, 0x0e);
  EXPECT_TRUE(discover(kTheirs));
  EXPECT_EQ(state(kTheirs), kGood | kPeerNoDiscovery);
  EXPECT_EQ(node_.nids_of(kTheirs), std::vector{kTheirs});
  EXPECT_EQ(node_.nids_of(kSecond), std::vector{kSecond}) << "that is another one now";
  TestParcel parcel;
  node_.send(parcel, kTheirs);
  settle();
  EXPECT_TRUE(parcel.over && parcel.outcome);
}

TEST_F(DiscoveryTest, MultiRailThatVanishesIsLostUnlessConfigured) {
  ASSERT_TRUE(discover(kTheirs));
  far_.say({kTheirs, kSecond}, 0x16);
  EXPECT_TRUE(discover(kTheirs));
  EXPECT_FALSE(node_.peer(kTheirs)->multi_rail());
  EXPECT_EQ(node_.count(Id::kMultiRailLost), 1U);
}

TEST_F(DiscoveryTest, AConfiguredPeerStaysAsConfigured) {
  ASSERT_TRUE(node_.coordinator.add_peer(kTheirs, Nid::any(), true));
  EXPECT_TRUE(discover(kTheirs));
  EXPECT_EQ(node_.nids_of(kTheirs), std::vector{kTheirs});
  EXPECT_EQ(state(kTheirs), kGood | kPeerMultiRail | kPeerConfigured);
  EXPECT_EQ(node_.count(Id::kNidsRefused), 1U);
  far_.say({kTheirs, kSecond}, 0x06);
  EXPECT_TRUE(discover(kTheirs));
  EXPECT_TRUE(node_.peer(kTheirs)->multi_rail()) << "the configured value";
  EXPECT_TRUE(node_.coordinator.add_peer(kThird, Nid::any(), false));
}

TEST_F(DiscoveryTest, ConfiguredAsNotMultiRailItStaysSo) {
  ASSERT_TRUE(node_.coordinator.add_peer(kTheirs, Nid::any(), false));
  EXPECT_TRUE(discover(kTheirs));
  EXPECT_EQ(state(kTheirs), kGood | kPeerConfigured);
  EXPECT_EQ(far_.pushes, 0);
}

TEST_F(DiscoveryTest, ASilentPeerFailsMessagesAfterTheTimeoutAndIsAskedAgainByTheNext) {
  far_.answers = false;
  TestParcel parcel;
  node_.send(parcel, kTheirs);
  settle(std::chrono::seconds(149));
  EXPECT_FALSE(parcel.over);
  settle(std::chrono::seconds(2));
  ASSERT_TRUE(parcel.over);
  EXPECT_EQ(parcel.outcome.error(), Errc::kTimedOut);
  EXPECT_TRUE(node_.peer(kTheirs)->is(kPeerRediscover));
  EXPECT_FALSE(node_.peer(kTheirs)->is(kPeerDiscovering));
  far_.answers = true;
  node_.send(parcel, kTheirs);
  settle();
  EXPECT_TRUE(parcel.over && parcel.outcome);
  EXPECT_EQ(state(kTheirs), kGood | kPeerMultiRail);
}

TEST_F(DiscoveryTest, AFailedSendFailsMessagesAtOnce) {
  network_.send_failure = 1;
  TestParcel parcel;
  node_.send(parcel, kTheirs);
  settle();
  ASSERT_TRUE(parcel.over);
  EXPECT_EQ(parcel.outcome.error(), Errc::kIo);
  EXPECT_EQ(node_.count(Id::kPingsFailed), 1U);
}

TEST_F(DiscoveryTest, MessagesToAnUnreachablePeerFailAtOnce) {
  TestParcel parcel;
  node_.send(parcel, kThird);
  settle();
  ASSERT_TRUE(parcel.over);
  EXPECT_EQ(parcel.outcome.error(), Errc::kNoRoute);
  EXPECT_EQ(node_.operations.mds(), 2U) << "only the two targets are left";
}

TEST_F(DiscoveryTest, APushThatIsNotAcknowledgedFailsMessages) {
  far_.acknowledges = false;
  TestParcel parcel;
  node_.send(parcel, kTheirs);
  settle(std::chrono::seconds(200));
  ASSERT_TRUE(parcel.over);
  EXPECT_EQ(parcel.outcome.error(), Errc::kTimedOut);
  EXPECT_EQ(node_.count(Id::kPushesFailed), 1U);
  far_.acknowledges = true;
  node_.send(parcel, kTheirs);
  settle();
  EXPECT_TRUE(parcel.over && parcel.outcome);
  EXPECT_EQ(far_.pings, 1) << "its NIDs are known";
  EXPECT_EQ(far_.pushes, 2);
}

TEST_F(DiscoveryTest, AMessageThatItsUserHasUnlinkedWaitsNoLonger) {
  far_.acknowledges = false;
  Relaxed<bool> given_up;
  TestParcel parcel;
  TestParcel other;
  parcel.given_up = &given_up;
  node_.send(parcel, kTheirs);
  node_.send(other, kTheirs);
  settle(std::chrono::seconds(3));
  EXPECT_EQ(far_.pushes, 1);
  EXPECT_FALSE(parcel.over);
  given_up.set(true);
  settle(std::chrono::seconds(2));
  ASSERT_TRUE(parcel.over);
  EXPECT_EQ(parcel.outcome.error(), Errc::kCancelled);
  EXPECT_FALSE(other.over);
  EXPECT_EQ(node_.count(Id::kGivenUp), 1U);
  settle(std::chrono::seconds(200));
  EXPECT_TRUE(other.over);
  EXPECT_FALSE(node_.coordinator.discovery().waiting());
}

TEST_F(DiscoveryTest, AQuestionThatMayBeLostWithItsConnectionIsAskedAgain) {
  far_.answers = far_.acknowledges = false;
  TestParcel parcel;
  node_.send(parcel, kTheirs);
  settle(std::chrono::seconds(3));
  EXPECT_EQ(far_.pings, 1);
  auto& losses = node_.coordinator.directory().find(kTheirs)->losses;
  losses.set(1);
  far_.answers = true;
  settle(std::chrono::seconds(2));
  settle();
  EXPECT_EQ(far_.pings, 2);
  EXPECT_EQ(far_.pushes, 1);
  EXPECT_FALSE(parcel.over);
  losses.set(2);
  far_.acknowledges = true;
  settle(std::chrono::seconds(2));
  settle();
  EXPECT_EQ(far_.pushes, 2);
  EXPECT_TRUE(parcel.over && parcel.outcome);
  EXPECT_EQ(state(kTheirs), kGood | kPeerMultiRail);
  EXPECT_EQ(node_.count(Id::kAskedAgain), 2U);
  EXPECT_EQ(node_.operations.mds(), 2U);
}

TEST_F(DiscoveryTest, ANodeThatIsLostAgainAndAgainIsNotAskedForEver) {
  far_.answers = false;
  TestParcel parcel;
  node_.send(parcel, kTheirs);
  for (std::uint16_t i = 1; i < 40; ++i) {
    node_.coordinator.directory().find(kTheirs)->losses.set(i);
    settle(std::chrono::seconds(2));
  }
  EXPECT_EQ(far_.pings, 1 + Discovery::kRetriesMax);
  settle(std::chrono::seconds(160));
  settle();
  EXPECT_TRUE(parcel.over);
  EXPECT_EQ(node_.operations.mds(), 2U);
}

TEST_F(DiscoveryTest, AMessageWaitsForOneTimeoutThoughPingAndPushMayTakeTwo) {
  far_.answers = far_.acknowledges = false;
  TestParcel parcel;
  node_.send(parcel, kTheirs);
  settle(std::chrono::seconds(100));
  far_.push(kTheirs, kOurs);
  settle(std::chrono::seconds(52));
  EXPECT_EQ(far_.pushes, 1) << "a push replaces the reply to a ping";
  settle();
  ASSERT_TRUE(parcel.over);
  EXPECT_EQ(parcel.outcome.error(), Errc::kTimedOut);
}

TEST_F(DiscoveryTest, ATruncatedReplyIsAskedForAgainWithMoreRoom) {
  std::vector<Nid> many;
  for (std::uint32_t i = 0; i < 100; ++i)
    many.push_back(Nid::of(NetType::kTcp, 0, kTheirs.address32() + i));
  far_.say(many);
  EXPECT_TRUE(discover(kTheirs));
  EXPECT_EQ(far_.pings, 2);
  EXPECT_EQ(far_.sink, 16U + 101 * 16);
  EXPECT_EQ(node_.nids_of(kTheirs).size(), 100U);
  EXPECT_EQ(node_.count(Id::kRepliesTruncated), 1U);
  EXPECT_GE(node_.coordinator.discovery().wanted_push_bytes(), far_.sink);
}

TEST_F(DiscoveryTest, GarbageIsAskedForAgainButNotForEver) {
  far_.buffer.assign(64, std::byte{0x5a});
  TestParcel parcel;
  node_.send(parcel, kTheirs);
  settle();
  ASSERT_TRUE(parcel.over);
  EXPECT_EQ(parcel.outcome.error(), Errc::kProtocol);
  EXPECT_EQ(far_.pings, Discovery::kRetriesMax + 1);
  far_.say({kTheirs});
  node_.send(parcel, kTheirs);
  settle();
  EXPECT_TRUE(parcel.over && parcel.outcome);
}

TEST_F(DiscoveryTest, ABufferThatClaimsToBeEndlessIsGivenUp) {
  far_.say({kTheirs, nid("fd00::1@tcp")});
  const std::uint32_t endless = 0x7ffffff0;
  std::memcpy(far_.buffer.data() + 16 + 12, &endless, 4);
  EXPECT_EQ(discover(kTheirs).error(), Errc::kTooBig);
  EXPECT_EQ(far_.pings, 1);
}

TEST_F(DiscoveryTest, ABufferOfTheOtherByteOrderIsRead) {
  far_.say({kTheirs, kSecond});
  for (std::size_t at = 0; at < 16; at += 4)
    std::reverse(far_.buffer.begin() + static_cast<std::ptrdiff_t>(at),
                 far_.buffer.begin() + static_cast<std::ptrdiff_t>(at) + 4);
  for (std::size_t at = 16; at < far_.buffer.size(); at += 16) {
    const auto entry = far_.buffer.begin() + static_cast<std::ptrdiff_t>(at);
    std::reverse(entry, entry + 8);
    std::reverse(entry + 8, entry + 12);
    std::reverse(entry + 12, entry + 16);
  }
  EXPECT_TRUE(discover(kTheirs));
  EXPECT_EQ(node_.nids_of(kTheirs), (std::vector{kTheirs, kSecond}));
}

TEST_F(DiscoveryTest, AForcedDiscoveryPingsAndPushesThoughAllIsKnown) {
  ASSERT_TRUE(discover(kTheirs));
  EXPECT_TRUE(discover(kTheirs, true));
  EXPECT_EQ(far_.pings, 2);
  EXPECT_EQ(far_.pushes, 2);
  EXPECT_EQ(state(kTheirs), kGood | kPeerMultiRail);
}

TEST_F(DiscoveryTest, DiscoveringAnInvalidNidFails) {
  EXPECT_EQ(discover(Nid::any()).error(), Errc::kNotFound);
}

TEST_F(DiscoveryTest, StatusesArriveAndADownCostsHealth) {
  ASSERT_TRUE(discover(kTheirs));
  far_.say({kTheirs, kSecond}, 0x1e, 1);
  ASSERT_TRUE(discover(kTheirs));
  const PeerNi* second = node_.coordinator.peers().find(kSecond);
  EXPECT_EQ(second->status.get(), kNiDown);
  EXPECT_EQ(second->health.get(), 900);
  ASSERT_TRUE(discover(kTheirs));
  EXPECT_EQ(second->health.get(), 900) << "the change costs, not the state";
  far_.say({kTheirs, kSecond});
  ASSERT_TRUE(discover(kTheirs));
  ASSERT_TRUE(discover(kTheirs));
  EXPECT_EQ(second->health.get(), kHealthMax) << "never heard from: like a new peer";
}

// Events between the states.

TEST_F(DiscoveryTest, ADeletedPeerMakesWaitingMessagesLookAgain) {
  far_.answers = false;
  TestParcel parcel;
  node_.send(parcel, kTheirs);
  settle();
  EXPECT_EQ(node_.operations.mds(), 3U);
  ASSERT_TRUE(node_.coordinator.delete_peer(kTheirs, Nid::any()));
  settle();
  EXPECT_TRUE(parcel.over && parcel.outcome);
  EXPECT_EQ(node_.operations.mds(), 2U);
  EXPECT_EQ(node_.peer(kTheirs), nullptr);
}

TEST_F(DiscoveryTest, MorePeersThanSlotsTakeTurns) {
  std::vector<std::unique_ptr<RawPeer>> peers;
  std::vector<std::unique_ptr<TestParcel>> parcels;
  for (std::uint32_t i = 0; i < 50; ++i) {
    const Nid each = Nid::of(NetType::kTcp, 0, 0x0a010000 + i);
    peers.push_back(std::make_unique<RawPeer>(network_, std::vector{each}));
    parcels.push_back(std::make_unique<TestParcel>());
    node_.send(*parcels.back(), each);
  }
  network_.delay_max = std::chrono::milliseconds(10);
  settle(std::chrono::seconds(10));
  for (const auto& parcel : parcels)
    EXPECT_TRUE(parcel->over && parcel->outcome);
  EXPECT_GT(node_.count(Id::kStarved), 0U);
  EXPECT_EQ(node_.count(Id::kQueuedMax), 50U);
}

// small_limits(): 8 peers may have 8 interfaces, and 4 more.
TEST_F(DiscoveryTest, DiscoveryEndsWithoutTheNidsThatDoNotFit) {
  std::vector<std::unique_ptr<RawPeer>> peers;
  std::vector<Nid> first;
  for (std::uint32_t peer = 0; peer < 13; ++peer) {
    std::vector<Nid> nids;
    for (std::uint32_t i = 0; i < 9; ++i)
      nids.push_back(Nid::of(NetType::kTcp, 0, 0x0a010000 + 16 * peer + i));
    first.push_back(nids.front());
    peers.push_back(std::make_unique<RawPeer>(network_, nids));
    EXPECT_TRUE(discover(nids.front()));
    EXPECT_TRUE(is_up_to_date(state(nids.front())));
  }
  EXPECT_EQ(node_.nids_of(first[11]).size(), 9U);
  EXPECT_EQ(node_.nids_of(first[12]).size(), 8U);
  EXPECT_EQ(node_.count(Id::kNidsNoRoom), 1U);
  EXPECT_GT(peers.back()->pushes, 0) << "it is still notified of us";
}

TEST_F(DiscoveryTest, DiscoveredNidsLeaveTheLastPlacesFree) {
  auto limits = small_limits();
  limits.peers.peer_nis = 64;
  TestNode node(network_, {nid("10.0.0.5@tcp")}, limits);
  std::vector<Nid> nids;
  for (std::uint32_t i = 0; i < 40; ++i)
    nids.push_back(Nid::of(NetType::kTcp, 0, 0x0a010000 + i));
  RawPeer rich(network_, nids);
  for (std::uint32_t n = 0; n < 30; ++n)
    node.make_peer(Nid::of(NetType::kTcp, 0, 0x0a020000 + n));
  TestParcel parcel;
  node.send(parcel, nids.front());
  run(network_, {&node}, std::chrono::seconds(1));
  EXPECT_TRUE(parcel.over && parcel.outcome);
  EXPECT_EQ(node.nids_of(nids.front()).size(), 64U - 4 - 30);
  node.make_peer(kThird);
  EXPECT_NE(node.peer(kThird), nullptr);
}

TEST_F(DiscoveryTest, APrimaryNidBeingRemovedIsAddedLater) {
  node_.make_peer(kTheirs);
  node_.homes_answer = false;
  ASSERT_TRUE(node_.coordinator.delete_peer(kTheirs, Nid::any()));
  EXPECT_TRUE(discover(kSecond)) << "with the available resources";
  EXPECT_EQ(node_.nids_of(kSecond), std::vector{kSecond});
  node_.homes_answer = true;
  node_.release_held();
  settle();
  EXPECT_EQ(node_.nids_of(kSecond), (std::vector{kTheirs, kSecond}));
}

TEST_F(DiscoveryTest, PingsOverARemovedNetworkAreRepeated) {
  node_.add(nid("10.0.1.1@tcp1"));
  RawPeer both(network_, {kThird, nid("10.0.0.7@tcp")});
  ASSERT_TRUE(discover(kThird));
  both.answers = false;
  TestParcel parcel;
  Discovery::make_stale(PeerDirectory::peer_of(record_of(*node_.coordinator.peers().find(kThird))),
                        true);
  node_.send(parcel, kThird);
  settle(std::chrono::milliseconds(100));
  both.answers = true;
  const int pings = both.pings;
  node_.remove(nid("10.0.1.1@tcp1"));
  settle();
  EXPECT_EQ(both.pings, pings + 1);
  EXPECT_TRUE(parcel.over && parcel.outcome);
  EXPECT_EQ(node_.nids_of(kThird).size(), 2U) << "its other one is reached by a router, if at all";
  EXPECT_TRUE(is_up_to_date(state(nid("10.0.0.7@tcp"))));
}

TEST_F(DiscoveryTest, ADescriptorThatCannotBeHadFailsMessages) {
  node_.operations.mds_max = 2;
  settle();
  TestParcel parcel;
  node_.send(parcel, kTheirs);
  settle();
  ASSERT_TRUE(parcel.over);
  EXPECT_EQ(parcel.outcome.error(), Errc::kNoMemory);
}

TEST_F(DiscoveryTest, ShutdownEndsWaitsAndReturnsDescriptors) {
  far_.answers = false;
  TestParcel parcel;
  TestDiscover request;
  request.nid = kSecond;
  node_.send(parcel, kTheirs);
  node_.coordinator.discover(request, false);
  settle();
  node_.coordinator.shut_down();
  settle();
  EXPECT_EQ(parcel.outcome.error(), Errc::kShutdown);
  EXPECT_EQ(request.result.error(), Errc::kShutdown);
  EXPECT_TRUE(node_.coordinator.quiet());
  EXPECT_EQ(node_.operations.mds(), 0U);
}

}  // namespace
}  // namespace plnet::lnet::discovery_test
