// SPDX-License-Identifier: BSD-3-Clause
// Dead connections are closed: the interface stays down, the peer's TCP does not answer, or a
// payload is too slow.
#include <algorithm>

#include <gtest/gtest.h>

#include "tests/unit/lib/socklnd/scripted_streams.hpp"

namespace plnet::socklnd::lnd_outage_test {
namespace {

using std::chrono::seconds;
using Id = SockLndCounters::Id;

class PatientLnd : public ScriptedLnd {
 public:
  PatientLnd(unsigned drop_percent, const LndPatience& patience)
      : ScriptedLnd({}, Protocol::kV3, drop_percent, nullptr, patience) {}
};

constexpr LndPatience kShort{.down_grace = seconds(1), .silence_max = seconds(5)};

// A message that waits on a connection with a full socket, behind one in progress.
std::uint32_t fill(PatientLnd& node) {
  const std::uint32_t stream = node.arrive(ConnectionType::kBulkOut);
  (void)node.arrive(ConnectionType::kControl);
  node.driver.at(stream).room = 1000;
  node.core->put(node.peer, 5000, false);
  node.core->put(node.peer, 5000, false);
  node.turn();
  return stream;
}

TEST(SocklndOutage, AnInterfaceThatStaysDownLosesItsConnections) {
  PatientLnd node(100, kShort);
  (void)fill(node);
  node.lnd->set_usable(false);
  node.turn();
  EXPECT_LE(node.lnd->next_deadline(), node.now + seconds(1));
  node.pass(std::chrono::milliseconds(750));
  EXPECT_TRUE(node.core->completions().empty()) << "it may be back at once";
  node.pass(seconds(1));
  EXPECT_EQ(node.lnd->count(Id::kClosedNiDown), 2U);
  EXPECT_EQ(node.lnd->count(Id::kOpen), 0U);
  const auto& ended = node.core->completions();
  ASSERT_EQ(ended.size(), 2U);
  EXPECT_EQ(ended[0].health, Health::kLocalError);
  EXPECT_FALSE(ended[0].unsent);
  EXPECT_EQ(ended[1].health, Health::kLocalDropped);
  EXPECT_TRUE(ended[1].unsent);
  node.core->put(node.peer, 10, false);
  node.pass(seconds(1));
  ASSERT_EQ(ended.size(), 3U) << "nor does it wait for a connection";
  EXPECT_TRUE(ended[2].unsent);
  EXPECT_EQ(node.driver.connects, 0U);
  EXPECT_EQ(std::ranges::count(node.core->notices(), lnet::PeerNotice::kDown), 0)
      << "it has no meaning for the peer";
  node.lnd->set_usable(true);
  node.core->put(node.peer, 10, false);
  node.turn();
  EXPECT_EQ(node.driver.connects, 1U);
}

TEST(SocklndOutage, AnInterfaceThatReturnsInTimeKeepsItsConnections) {
  for (const LndPatience& patience : {kShort, LndPatience{}}) {
    PatientLnd node(100, patience);
    const std::uint32_t stream = fill(node);
    node.lnd->set_usable(false);
    node.pass(patience.down_grace == Duration{} ? seconds(10) : Duration(seconds(1)) / 2);
    node.lnd->set_usable(true);
    node.pass(seconds(3));
    EXPECT_EQ(node.lnd->count(Id::kOpen), 2U);
    node.driver.give_room(stream, SIZE_MAX);
    node.turn();
    EXPECT_EQ(node.core->tally().sent, 2U);
  }
}

TEST(SocklndOutage, AnAttemptEndsWithTheInterfaceWithoutBlamingThePeer) {
  PatientLnd node(100, kShort);
  node.core->put(node.peer, 10, false);
  node.turn();
  ASSERT_EQ(node.driver.connects, 1U);
  node.lnd->set_usable(false);
  node.pass(seconds(3));
  ASSERT_EQ(node.core->completions().size(), 1U);
  EXPECT_EQ(node.core->completions()[0].health, Health::kLocalDropped);
  EXPECT_TRUE(node.core->completions()[0].unsent);
  EXPECT_TRUE(node.core->notices().empty());
  EXPECT_TRUE(node.core->troubles().empty());
}

TEST(SocklndOutage, ASilentAttemptIsReportedBeforeItsTimeout) {
  PatientLnd node(100, {});
  node.core->put(node.peer, 10, false);
  node.turn();
  ASSERT_EQ(node.driver.connects, 1U);
  node.pass(seconds(9));
  EXPECT_TRUE(node.core->troubles().empty());
  node.pass(seconds(5));
  ASSERT_FALSE(node.core->troubles().empty());
  EXPECT_EQ(node.core->troubles().front(), Errc::kTimedOut);
  EXPECT_TRUE(node.core->completions().empty()) << "the attempt goes on";
  node.pass(seconds(60));
  EXPECT_FALSE(node.core->completions().empty());
}

// The peer is killed while one more connection is made. The backoff of that attempt would let the
// next messages fail without an attempt, and nothing would tell why.
TEST(SocklndOutage, ABackoffOfOneMoreConnectionEndsWithTheLastOfTheOthers) {
  PatientLnd node(100, {});
  node.core->put(node.peer, 10, false);
  node.turn();
  ASSERT_EQ(node.driver.connects, 1U);
  node.driver.connected(0);
  node.driver.refuse_connect = Errc::kReset;
  (void)node.driver.say(0, node.reply(ConnectionType::kControl));
  node.turn();
  ASSERT_EQ(node.driver.connects, 2U) << "one more for another type";
  EXPECT_EQ(node.lnd->count(Id::kOpen), 1U);
  node.driver.refuse_connect = Errc::kRefused;
  node.driver.end(0, Errc::kClosed);
  node.turn();
  EXPECT_TRUE(node.core->troubles().empty()) << "no attempt was made since";
  node.core->put(node.peer, 10, false);
  node.turn();
  EXPECT_EQ(node.driver.connects, 3U);
  EXPECT_EQ(node.core->troubles(), std::vector{Errc::kRefused});
}

// The same, but the attempt ends with the last connection or after it.
TEST(SocklndOutage, AnAttemptThatIsResetAsTheLastConnectionEndsLeavesNoBackoff) {
  for (const bool same_turn : {true, false}) {
    PatientLnd node(100, {});
    node.core->put(node.peer, 10, false);
    node.turn();
    node.driver.connected(0);
    (void)node.driver.say(0, node.reply(ConnectionType::kControl));
    node.turn();
    ASSERT_EQ(node.driver.connects, 2U);
    node.driver.connected(1);
    node.driver.end(0, Errc::kClosed);
    if (!same_turn) node.turn();
    node.driver.end(1, Errc::kReset);
    node.turn();
    EXPECT_TRUE(node.core->troubles().empty()) << "a reset has told no cause";
    node.driver.refuse_connect = Errc::kRefused;
    node.core->put(node.peer, 10, false);
    node.turn();
    EXPECT_EQ(node.driver.connects, 3U);
    EXPECT_EQ(node.core->troubles(), std::vector{Errc::kRefused});
  }
}

TEST(SocklndSilence, APeerWithoutTcpAnswersIsDetectedSoon) {
  PatientLnd node(100, kShort);
  const std::uint32_t stream = fill(node);
  node.pass(seconds(15));  // and settled
  EXPECT_EQ(node.lnd->count(Id::kOpen), 2U);
  node.driver.give_room(stream, 1000);
  node.driver.at(stream).progress = {.unacknowledged_bytes = 900, .unanswered = 4};
  node.pass(seconds(3));
  EXPECT_EQ(node.lnd->count(Id::kOpen), 2U);
  node.pass(seconds(5));
  EXPECT_EQ(node.lnd->count(Id::kClosedSilent), 1U);
  EXPECT_EQ(node.lnd->count(Id::kOpen), 0U);
  const auto& ended = node.core->completions();
  ASSERT_EQ(ended.size(), 2U);
  EXPECT_EQ(ended[0].health, Health::kNetworkTimeout);
  EXPECT_TRUE(ended[1].unsent);
  EXPECT_EQ(node.core->troubles(), std::vector{Errc::kTimedOut});
  (void)node.arrive(ConnectionType::kControl);
  node.turn();
  EXPECT_EQ(node.core->notices().back(), lnet::PeerNotice::kAlive) << "it is back";
}

TEST(SocklndSilence, APeerThatDoesNotReadResponses) {
  PatientLnd node(100, kShort);
  const std::uint32_t stream = fill(node);
  node.driver.at(stream).progress = {.unacknowledged_bytes = 900, .unanswered = 1};
  node.pass(seconds(45));
  EXPECT_EQ(node.lnd->count(Id::kOpen), 2U);
  node.pass(seconds(20));
  EXPECT_EQ(node.lnd->count(Id::kClosedTxStuck), 1U) << "for as long as the timeout says";
}

TEST(SocklndSilence, APeerThatReportsItselfDownHasLessTime) {
  PatientLnd node(100, kShort);
  const std::uint32_t stream = fill(node);
  Relaxed<std::uint32_t> status{lnet::kNiUp};
  node.core->link(node.peer).status = &status;
  node.driver.at(stream).progress = {.unacknowledged_bytes = 900, .unanswered = 2};
  node.pass(seconds(3));
  EXPECT_EQ(node.lnd->count(Id::kOpen), 2U);
  status.set(lnet::kNiDown);
  node.pass(seconds(2));
  EXPECT_EQ(node.lnd->count(Id::kClosedSilent), 1U);
  node.core->link(node.peer).status = nullptr;
}

// A payload of 9000 bytes at some rate, until it is complete or its connection is closed.
void drip(PatientLnd& node, std::size_t bytes_a_second) {
  const std::uint32_t stream = node.arrive(ConnectionType::kBulkIn);
  const Bytes whole = node.message(0, 9000);
  std::size_t said = 200;
  (void)node.driver.say(stream, std::span(whole).first(said));
  while (said < whole.size() && node.lnd->count(Id::kOpen) > 0) {
    node.pass(seconds(1));
    if (node.lnd->count(Id::kOpen) == 0) return;
    const std::size_t more = std::min(bytes_a_second, whole.size() - said);
    (void)node.driver.say(stream, std::span(whole).subspan(said, more));
    said += more;
  }
  node.pass(seconds(1));
}

TEST(SocklndPace, APayloadThatDripsLosesItsConnection) {
  PatientLnd node(0, {.payload_rate_min = 200});
  const Instant began = node.now;
  drip(node, 100);
  EXPECT_EQ(node.lnd->count(Id::kClosedSlow), 1U);
  EXPECT_EQ(node.lnd->count(Id::kOpen), 0U);
  EXPECT_EQ(node.core->tally().puts, 0U);
  EXPECT_LE(node.now - began, seconds(30));
}

TEST(SocklndPace, FastPayloadsAndNodesWithoutALimitSucceed) {
  for (const std::uint32_t least : {0U, 200U}) {
    PatientLnd node(0, {.payload_rate_min = least});
    drip(node, 300);
    EXPECT_EQ(node.lnd->count(Id::kOpen), 1U);
    EXPECT_EQ(node.core->tally().puts, 1U);
  }
}

}  // namespace
}  // namespace plnet::socklnd::lnd_outage_test
