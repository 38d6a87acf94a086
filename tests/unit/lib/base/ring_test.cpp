// SPDX-License-Identifier: BSD-3-Clause
#include "lib/base/ring.hpp"

#include <array>
#include <deque>
#include <numeric>

#include <gtest/gtest.h>

#include "lib/base/random.hpp"

namespace plnet::ring_test {
namespace {

TEST(SpscRing, RoundsUpAndFillsUp) {
  SpscRing<int> ring(5);
  EXPECT_EQ(ring.capacity(), 8U);
  for (int i = 0; i < 8; ++i)
    ASSERT_TRUE(ring.push(i));
  EXPECT_FALSE(ring.push(8));
  EXPECT_EQ(ring.size(), 8U);
  for (int i = 0; i < 8; ++i) {
    int out = -1;
    ASSERT_TRUE(ring.pop(out));
    EXPECT_EQ(out, i);
  }
  int out = -1;
  EXPECT_FALSE(ring.pop(out));
  EXPECT_TRUE(ring.empty());
}

TEST(SpscRing, ARingOfOne) {
  SpscRing<const int*> ring(1);
  EXPECT_EQ(ring.capacity(), 1U);
  const int thing = 0;
  const int* out = nullptr;
  for (int lap = 0; lap < 5; ++lap) {
    EXPECT_FALSE(ring.pop(out));
    EXPECT_TRUE(ring.push(&thing));
    EXPECT_FALSE(ring.push(&thing));
    ASSERT_TRUE(ring.pop(out));
    EXPECT_EQ(out, &thing);
  }
}

TEST(SpscRing, BurstsTakeAPrefix) {
  SpscRing<int> ring(4);
  const std::array in{1, 2, 3, 4, 5, 6};
  EXPECT_EQ(ring.push_burst(in), 4U);
  EXPECT_EQ(ring.push_burst(in), 0U);
  std::array<int, 3> out{};
  EXPECT_EQ(ring.pop_burst(out), 3U);
  EXPECT_EQ(out, (std::array{1, 2, 3}));
  EXPECT_EQ(ring.push_burst(in), 3U);
  std::array<int, 8> rest{};
  EXPECT_EQ(ring.pop_burst(rest), 4U);
  EXPECT_EQ(rest[0], 4);
  EXPECT_EQ(rest[3], 3);
  EXPECT_EQ(ring.push_burst({}), 0U);
  EXPECT_EQ(ring.pop_burst({}), 0U);
}

TEST(SpscRing, RandomBurstsKeepOrderOverManyWraps) {
  SpscRing<int> ring(16);
  std::deque<int> model;
  Random random(3);
  int next = 0;
  for (int step = 0; step < 20000; ++step) {
    std::array<int, 24> burst{};
    const std::size_t length = random.below(burst.size() + 1);
    if (random.chance(0.5)) {
      std::iota(burst.begin(), burst.end(), next);
      const auto count = ring.push_burst(std::span<const int>(burst).first(length));
      ASSERT_EQ(count, std::min(length, 16 - model.size()));
      for (std::size_t i = 0; i < count; ++i)
        model.push_back(next++);
    } else {
      const auto count = ring.pop_burst(std::span<int>(burst).first(length));
      ASSERT_EQ(count, std::min(length, model.size()));
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_EQ(burst[i], model.front());
        model.pop_front();
      }
    }
    ASSERT_EQ(ring.size(), model.size());
  }
}

TEST(SpscRingDeathTest, ARingOfNothing) {
  EXPECT_DEATH(SpscRing<int>(0), "at least one");
}

}  // namespace
}  // namespace plnet::ring_test
