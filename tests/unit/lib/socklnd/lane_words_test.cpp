// SPDX-License-Identifier: BSD-3-Clause
// Notices between a home and another shard when a connection cannot be made there.
#include "tests/unit/lib/socklnd/scripted_streams.hpp"

namespace plnet::socklnd::lane_words_test {
namespace {

using Id = SockLndCounters::Id;

Tunables two_of_each() {
  Tunables tunables;
  tunables.conns_per_peer = 2;
  return tunables;
}

class LaneWords : public ::testing::Test {
 protected:
  LaneWords() { exchange.set_doorbells(std::array<Doorbell*, 2>{&bell, &bell}); }
  ~LaneWords() override {
    home.lnd->shut_down();
    other.lnd->shut_down();
    for (unsigned i = 0; i < 8; ++i)
      turn();
    EXPECT_EQ(exchange.end(0)->lent_to(1), 0U);
  }
  // Turns both. Earlier notices are handled first.
  void turn() {
    for (const unsigned shard : {0U, 1U}) {
      ScriptedLnd& side = shard == 0 ? home : other;
      exchange.end(shard)->collect([&](const LaneNote& note) { side.lnd->on_lane_note(note); });
      side.turn();
      side.driver.report_closed();
    }
  }
  // The peer accepts the latest outgoing connection.
  void accept(ScriptedLnd& side, ConnectionType type) {
    const auto index = static_cast<std::uint32_t>(side.driver.streams.size() - 1);
    side.driver.connected(index);
    turn();
    side.driver.say(index, side.reply(type));
    turn();
  }
  void dial_at_home() {
    home.core->put(home.peer, 100, false);
    turn();
    for (const auto type :
         {ConnectionType::kControl, ConnectionType::kBulkIn, ConnectionType::kBulkOut})
      accept(home, type);
    EXPECT_EQ(home.driver.connects, 3U) << "the next one is the other shard's";
  }
  void arrive(ConnectionType type) {
    Arrival arrival{.local = home.ours, .peer = {home.peer}, .type = type};
    arrival.hello = {.source = home.peer, .source_incarnation = 7};
    home.lnd->accept(arrival);
    turn();
    turn();
  }
  [[nodiscard]] unsigned open(ConnectionType type) const {
    return home.lnd->peer({home.peer})->open[static_cast<std::size_t>(type)];
  }

  const std::array<std::uint16_t, 2> cpts{};
  LaneExchange exchange{cpts};
  SilentDoorbell bell;
  ScriptedLnd home{two_of_each(), Protocol::kV3, 100, exchange.end(0)};
  ScriptedLnd other{two_of_each(), Protocol::kV3, 100, exchange.end(1)};
};

TEST_F(LaneWords, ASearchForAPortGoesOnInTheNextTurn) {
  other.driver.refuse_connect = Errc::kAgain;
  dial_at_home();
  for (unsigned i = 0; i < 10; ++i)
    turn();
  EXPECT_GE(other.driver.connects, 9U);
  other.driver.refuse_connect.reset();
  turn();
  turn();
  ASSERT_EQ(other.driver.streams.size(), 1U);
  accept(other, ConnectionType::kBulkIn);
  EXPECT_EQ(open(ConnectionType::kBulkIn), 2U);
  EXPECT_EQ(home.lnd->count(Id::kAttemptFailed) + other.lnd->count(Id::kAttemptFailed), 0U);
  EXPECT_EQ(home.lnd->peer({home.peer})->port_searches, 0U);
}

TEST_F(LaneWords, ASearchForAPortEndsAndIsTakenUpAgainLater) {
  other.driver.refuse_connect = Errc::kAgain;
  dial_at_home();
  for (unsigned i = 0; i < 2 * Peer::kPortSearchesMax; ++i)
    turn();
  EXPECT_EQ(other.driver.connects, Peer::kPortSearchesMax);
  EXPECT_EQ(home.lnd->count(Id::kAttemptFailed), 1U);
  EXPECT_EQ(open(ConnectionType::kBulkIn), 1U) << "existing settings stay";
  home.turn(std::chrono::seconds(2));
  turn();
  EXPECT_EQ(other.driver.connects, Peer::kPortSearchesMax + 1);
}

TEST_F(LaneWords, ConnectionsThatCannotBeAdoptedAreDiscardedAlone) {
  arrive(ConnectionType::kControl);
  arrive(ConnectionType::kBulkIn);
  ASSERT_EQ(home.driver.streams.size(), 2U);
  other.driver.refuse_adopt = Errc::kNoMemory;
  arrive(ConnectionType::kBulkIn);
  turn();
  EXPECT_EQ(other.driver.discarded, 1U);
  EXPECT_EQ(other.lnd->count(Id::kRefusedAdopt), 1U);
  EXPECT_EQ(open(ConnectionType::kBulkIn), 1U);
  EXPECT_EQ(home.lnd->count(Id::kOpen), 2U);
  EXPECT_EQ(exchange.end(0)->lent_to(1), 0U);
  other.driver.refuse_adopt.reset();
  arrive(ConnectionType::kBulkIn);
  EXPECT_EQ(open(ConnectionType::kBulkIn), 2U);
  ASSERT_EQ(other.driver.streams.size(), 1U);
  EXPECT_EQ(other.driver.at(0).written.size(), hello_bytes(Protocol::kV3));
}

// The home cannot know about events on the connection's shard.
TEST_F(LaneWords, AnEndAndAWelcomeMayCross) {
  dial_at_home();
  turn();
  other.driver.connected(0);
  turn();
  other.driver.say(0, other.reply(ConnectionType::kBulkIn));
  other.turn();
  EXPECT_TRUE(other.driver.at(0).paused) << "until the home has judged";
  other.driver.end(0, Errc::kReset);
  for (unsigned i = 0; i < 4; ++i)
    turn();
  EXPECT_EQ(open(ConnectionType::kBulkIn), 1U);
  EXPECT_EQ(other.lnd->count(Id::kOpen), 0U);
  EXPECT_EQ(home.lnd->count(Id::kOpen), 3U) << "it had no effect";
}

}  // namespace
}  // namespace plnet::socklnd::lane_words_test
