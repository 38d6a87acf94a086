// SPDX-License-Identifier: BSD-3-Clause
#include "lib/socklnd/lane_exchange.hpp"

#include <gtest/gtest.h>

namespace plnet::socklnd {
namespace {

class LaneExchanges : public ::testing::Test {
 protected:
  LaneExchanges() {
    for (SilentDoorbell& bell : bells)
      pointers.push_back(&bell);
    exchange.set_doorbells(pointers);
  }
  LaneEnd& end(unsigned shard) { return *exchange.end(shard); }
  std::vector<LaneNote> heard(unsigned shard) {
    std::vector<LaneNote> notes;
    while (end(shard).collect([&](const LaneNote& note) { notes.push_back(note); }) > 0) {
    }
    return notes;
  }

  const std::vector<std::uint16_t> cpts{0, 0, 0, 1, 2, 2};
  std::array<SilentDoorbell, 6> bells;
  std::vector<Doorbell*> pointers;
  LaneExchange exchange{cpts};
};

TEST_F(LaneExchanges, JoinTheShardsOfACptAndNoOthers) {
  EXPECT_EQ(exchange.end(3), nullptr) << "alone";
  const auto others = [&](unsigned shard) {
    const auto all = end(shard).others();
    return std::vector<lnet::ShardId>(all.begin(), all.end());
  };
  EXPECT_EQ(others(0), (std::vector<lnet::ShardId>{1, 2}));
  EXPECT_EQ(others(1), (std::vector<lnet::ShardId>{2, 0})) << "the next one first";
  EXPECT_EQ(others(2), (std::vector<lnet::ShardId>{0, 1}));
  EXPECT_EQ(others(4), (std::vector<lnet::ShardId>{5}));
}

TEST_F(LaneExchanges, LendAFixedNumberOfLanesAndHoldAllNotices) {
  std::vector<Lane*> lanes;
  while (Lane* const lane = end(0).take(1))
    lanes.push_back(lane);
  EXPECT_EQ(lanes.size(), kLanesMax);
  EXPECT_EQ(end(0).lent_to(1), kLanesMax);
  EXPECT_EQ(end(0).lent_to(2), 0U);
  for (Lane* const lane : lanes) {
    end(0).say(*lane, LaneWord::kDial);
    end(0).say(*lane, LaneWord::kOpen);
    end(0).say(*lane, LaneWord::kClose, Errc::kReset);
  }
  EXPECT_FALSE(end(1).empty());
  EXPECT_TRUE(end(2).empty());
  const auto words = heard(1);
  ASSERT_EQ(words.size(), 3 * kLanesMax);
  EXPECT_EQ(words.front().word, LaneWord::kDial);
  EXPECT_EQ(words.back().word, LaneWord::kClose);
  EXPECT_EQ(words.back().cause, Errc::kReset);
  for (Lane* const lane : lanes)
    end(1).report_gone(*lane, Errc::kTimedOut);
  const auto ends = heard(0);
  ASSERT_EQ(ends.size(), kLanesMax);
  for (const LaneNote& note : ends) {
    EXPECT_EQ(note.heard, 3U);
    end(0).give(*note.lane);
  }
  EXPECT_EQ(end(0).lent_to(1), 0U);
}

TEST_F(LaneExchanges, ALaneEndsWhenAllNoticesWereRead) {
  Lane& lane = *end(4).take(5);
  end(4).say(lane, LaneWord::kDial);
  ASSERT_EQ(heard(5).size(), 1U);
  end(4).say(lane, LaneWord::kClose);
  end(5).report_gone(lane, Errc::kRefused);  // the reports cross
  const auto early = heard(4);
  ASSERT_EQ(early.size(), 1U);
  EXPECT_LT(early[0].heard, lane.said);
  const auto late = heard(5);
  ASSERT_EQ(late.size(), 1U);
  end(5).answer_without_interface(late[0]);
  const auto last = heard(4);
  ASSERT_EQ(last.size(), 1U);
  EXPECT_EQ(last[0].word, LaneWord::kClosed);
  EXPECT_EQ(last[0].heard, lane.said);
  end(4).answer_without_interface(last[0]);
  EXPECT_EQ(end(4).lent_to(5), 0U) << "unrequested credits are returned as well";
}

}  // namespace
}  // namespace plnet::socklnd
