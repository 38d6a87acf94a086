// SPDX-License-Identifier: BSD-3-Clause
#include "lib/socklnd/shard_inbox.hpp"

#include <array>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/lib/socklnd/scripted_streams.hpp"

namespace plnet::socklnd::shard_inbox_test {
namespace {

struct NoBell final : Doorbell {
  void wake() override {}
};

lnet::Nid nid_of(std::uint32_t number) {
  return lnet::Nid::of(lnet::NetType::kTcp, 0, 0x0a000001 + number);
}

// While an NI with messages in flight is replaced, two LNDs exist with the same NID.
class ShardInboxOfTwo : public ::testing::Test {
 protected:
  ShardInboxOfTwo() {
    PLNET_CHECK(arenas_.add({.base = bytes_.data(), .size = bytes_.size()}).has_value(), "room");
    streams_.set_driver(driver_);
    exchange_.set_doorbells(bells_);
    inbox_.set_doorbell(bell_);
  }
  std::unique_ptr<EnrolledLnd> lnd(std::uint64_t incarnation, mocks::FakeCore& core) {
    return std::make_unique<EnrolledLnd>(SockLndConfig{.nid = ours_,
                                                       .incarnation = incarnation,
                                                       .arenas = &arenas_,
                                                       .peers_max = 4,
                                                       .connections_max = 4},
                                         core, inbox_);
  }

  const lnet::Nid ours_ = nid_of(0);
  ArenaTable arenas_;
  std::vector<std::byte> bytes_ = std::vector<std::byte>(4096);
  StreamSwitch streams_ = StreamSwitch(16);
  ScriptedStreams driver_ = ScriptedStreams(streams_);
  ShardInbox inbox_ = ShardInbox(streams_, 4);
  NoBell bell_;
  const std::array<Doorbell*, 2> bells_{&bell_, &bell_};
  LaneExchange exchange_ = LaneExchange(std::vector<std::uint16_t>{0, 0});
  const mocks::FakeCoreConfig core_config_{.nid = ours_,
                                           .arenas = &arenas_,
                                           .memory = {0, 0},
                                           .memory_bytes = 1024,
                                           .payload_max = 100,
                                           .check_bytes = false};
  mocks::FakeCore former_core_ = mocks::FakeCore(core_config_);
  mocks::FakeCore core_ = mocks::FakeCore(core_config_);
};

TEST_F(ShardInboxOfTwo, ConnectionsGoToTheRemainingLnd) {
  auto former = lnd(1, former_core_);
  former->shut_down();
  auto stays = lnd(2, core_);
  EXPECT_EQ(inbox_.lnd(ours_), stays.get());
  EXPECT_EQ(inbox_.lnd(nid_of(1)), nullptr);
  driver_.refuse_adopt = Errc::kNoMemory;  // this only asks which LND would take it
  inbox_.bring({.local = ours_, .peer = {nid_of(1)}});
  EXPECT_EQ(inbox_.take_arrivals(4, 4), 1U);
  EXPECT_EQ(stays->count(SockLndCounters::Id::kRefusedAdopt), 1U);
  EXPECT_EQ(former->count(SockLndCounters::Id::kClosedShutdown), 0U);
  former.reset();
  EXPECT_EQ(inbox_.lnd(ours_), stays.get());
  stays.reset();
  EXPECT_EQ(inbox_.lnd(ours_), nullptr);
}

// A lane names its connections by their positions in one of the two.
TEST_F(ShardInboxOfTwo, WordsAboutLanesGoToTheOneThatHasThem) {
  LaneEnd& elsewhere = *exchange_.end(0);
  inbox_.set_lanes(exchange_.end(1));
  auto former = lnd(1, former_core_);
  const auto lane_of = [&](std::uint64_t incarnation, std::uint32_t peer) {
    Lane* const lane = elsewhere.take(1);
    lane->incarnation = incarnation;
    lane->arrival = {.hello = {.protocol = Protocol::kV3},
                     .local = ours_,
                     .peer = {nid_of(peer)},
                     .type = ConnectionType::kBulkOut};
    return lane;
  };
  Lane* const old_one = lane_of(1, 1);
  elsewhere.say(*old_one, LaneWord::kDial);
  EXPECT_EQ(inbox_.collect_lane_notes(), 1U);
  ASSERT_NE(former->peer({nid_of(1)}), nullptr);
  auto stays = lnd(2, core_);
  Lane* const new_one = lane_of(2, 2);
  elsewhere.say(*new_one, LaneWord::kDial);
  EXPECT_EQ(inbox_.collect_lane_notes(), 1U);
  ASSERT_NE(stays->peer({nid_of(2)}), nullptr);
  EXPECT_EQ(former->peer({nid_of(2)}), nullptr);
  ASSERT_EQ(driver_.streams.size(), 2U);
  EXPECT_EQ(old_one->at_lane, new_one->at_lane);  // hence the lane must go to the right one
  elsewhere.say(*old_one, LaneWord::kClose, Errc::kShutdown);
  EXPECT_EQ(inbox_.collect_lane_notes(), 1U);
  EXPECT_TRUE(driver_.at(0).closing);
  EXPECT_FALSE(driver_.at(1).closing);
  elsewhere.say(*new_one, LaneWord::kClose, Errc::kShutdown);
  EXPECT_EQ(inbox_.collect_lane_notes(), 1U);
  EXPECT_TRUE(driver_.at(1).closing);
  driver_.report_closed();
  unsigned gone = 0;
  (void)elsewhere.collect([&](const LaneNote& note) {
    gone += note.word == LaneWord::kClosed ? 1U : 0U;
    elsewhere.give(*note.lane);
  });
  EXPECT_EQ(gone, 2U);
  // An interface that does not exist here yet.
  elsewhere.say(*lane_of(3, 3), LaneWord::kDial);
  EXPECT_EQ(inbox_.collect_lane_notes(), 1U);
  EXPECT_EQ(driver_.streams.size(), 2U);
}

}  // namespace
}  // namespace plnet::socklnd::shard_inbox_test
