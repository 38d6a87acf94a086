// SPDX-License-Identifier: BSD-3-Clause
#include "lib/base/duplex.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <vector>

#include <gtest/gtest.h>

#include "lib/base/random.hpp"

namespace plnet::duplex_test {
namespace {

TEST(Duplex, RoundsUpAndFillsUpInEachDirection) {
  Duplex<int> channel(5);
  ASSERT_EQ(channel.there().capacity(), 8U);
  ASSERT_EQ(channel.back().capacity(), 8U);
  std::array<int, 8> things{};
  for (int& thing : things) {
    EXPECT_TRUE(channel.there().push(&thing));
    EXPECT_EQ(channel.back().size(), 0U) << "the other direction is not affected";
  }
  EXPECT_FALSE(channel.there().push(&things[0]));
  EXPECT_EQ(channel.there().size(), 8U);
  EXPECT_TRUE(channel.back().empty());
  int* out = nullptr;
  EXPECT_FALSE(channel.back().pop(out));
  for (const int& thing : things) {
    EXPECT_FALSE(channel.there().empty());
    ASSERT_TRUE(channel.there().pop(out));
    EXPECT_EQ(out, &thing);
  }
  EXPECT_TRUE(channel.there().empty());
  EXPECT_FALSE(channel.there().pop(out));
}

TEST(Duplex, CapacitiesBelowALineWrapTooAndNullIsAnObjectLikeAnyOther) {
  for (const std::size_t capacity : {1U, 2U, 4U}) {
    SCOPED_TRACE(capacity);
    Duplex<int> channel(capacity);
    ASSERT_EQ(channel.there().capacity(), capacity);
    int thing = 0;
    for (int lap = 0; lap < 5; ++lap) {
      for (std::size_t i = 0; i < capacity; ++i)
        ASSERT_TRUE(channel.there().push(i % 2 == 0 ? nullptr : &thing));
      ASSERT_FALSE(channel.there().push(&thing));
      int* out = &thing;
      for (std::size_t i = 0; i < capacity; ++i) {
        ASSERT_TRUE(channel.there().pop(out));
        ASSERT_EQ(out, i % 2 == 0 ? nullptr : &thing);
      }
      ASSERT_FALSE(channel.there().pop(out));
      ASSERT_TRUE(channel.there().empty());
    }
  }
}

TEST(Duplex, BurstsTakeAPrefix) {
  Duplex<int> channel(8);
  std::array<int, 10> things{};
  std::array<int*, 10> burst{};
  for (std::size_t i = 0; i < burst.size(); ++i)
    burst[i] = &things[i];
  EXPECT_EQ(channel.back().push_burst({}), 0U);
  EXPECT_EQ(channel.back().push_burst(burst), 8U);
  EXPECT_EQ(channel.back().push_burst(burst), 0U);
  std::array<int*, 3> few{};
  EXPECT_EQ(channel.back().pop_burst(few), 3U);
  EXPECT_EQ(few[2], &things[2]);
  EXPECT_EQ(channel.back().push_burst(burst), 3U);
  std::array<int*, 16> all{};
  EXPECT_EQ(channel.back().pop_burst(all), 8U);
  EXPECT_EQ(all[0], &things[3]);
  EXPECT_EQ(all[5], &things[0]);
  EXPECT_EQ(all[7], &things[2]);
}

// Both lanes at once, in and out of step, by single calls and bursts, compared with two queues.
TEST(Duplex, RandomTrafficBothWaysKeepsOrderOverManyWraps) {
  constexpr std::size_t kCapacity = 16;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Duplex<int> channel(kCapacity);
    std::array<DuplexLane<int>*, 2> lanes{&channel.there(), &channel.back()};
    std::array<std::deque<int*>, 2> models;
    std::vector<int> things(64);
    for (int step = 0; step < 5000; ++step) {
      const std::size_t which = random.below(2);
      DuplexLane<int>& lane = *lanes[which];
      std::deque<int*>& model = models[which];
      std::array<int*, 24> burst{};
      const std::size_t length = random.below(burst.size() + 1);
      const bool one = random.chance(0.3);
      if (random.chance(0.5)) {
        for (auto& each : burst)
          each = &things[random.below(things.size())];
        const std::size_t offered = one ? 1 : length;
        const std::size_t sent = one ? static_cast<std::size_t>(lane.push(burst[0]))
                                     : lane.push_burst(std::span(burst).first(length));
        ASSERT_EQ(sent, std::min(offered, kCapacity - model.size()));
        model.insert(model.end(), burst.begin(), burst.begin() + static_cast<long>(sent));
      } else {
        const std::size_t asked = one ? 1 : length;
        const std::size_t got = one ? static_cast<std::size_t>(lane.pop(burst[0]))
                                    : lane.pop_burst(std::span(burst).first(length));
        ASSERT_EQ(got, std::min(asked, model.size()));
        for (std::size_t i = 0; i < got; ++i) {
          ASSERT_EQ(burst[i], model.front());
          model.pop_front();
        }
      }
      ASSERT_EQ(lane.size(), model.size());
      ASSERT_EQ(lane.empty(), model.empty());
    }
  }
}

TEST(DuplexDeathTest, ADuplexOfNothing) {
  EXPECT_DEATH(Duplex<int>(0), "at least one");
}

}  // namespace
}  // namespace plnet::duplex_test
