// SPDX-License-Identifier: BSD-3-Clause
#include "lib/base/random.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include <gtest/gtest.h>

namespace plnet::random_test {
namespace {

TEST(SplitMix64, KnownAnswers) {
  // The reference program (prng.di.unimi.it/splitmix64.c) with x = 1234567.
  SplitMix64 mixer(1234567);
  EXPECT_EQ(mixer.next(), 6457827717110365317U);
  EXPECT_EQ(mixer.next(), 3203168211198807973U);
  EXPECT_EQ(mixer.next(), 9817491932198370423U);
  EXPECT_EQ(mixer.next(), 4593380528125082431U);
  EXPECT_EQ(mixer.next(), 16408922859458223821U);
}

// A second implementation of the reference program (prng.di.unimi.it/xoshiro256starstar.c).
struct Reference {
  std::array<std::uint64_t, 4> s{};
  static std::uint64_t rotl(std::uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }
  std::uint64_t next() {
    const std::uint64_t result = rotl(s[1] * 5, 7) * 9;
    const std::uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 45);
    return result;
  }
};

TEST(Random, IsXoshiroSeededBySplitMix) {
  // The published first outputs for the state 1, 2, 3, 4.
  Reference known{{1, 2, 3, 4}};
  EXPECT_EQ(known.next(), 11520U);
  EXPECT_EQ(known.next(), 0U);
  EXPECT_EQ(known.next(), 1509978240U);
  EXPECT_EQ(known.next(), 1215971899390074240U);

  SplitMix64 mixer(99);
  Reference reference;
  for (auto& word : reference.s)
    word = mixer.next();
  Random random(99);
  for (int i = 0; i < 1000; ++i)
    ASSERT_EQ(random.next(), reference.next());
}

TEST(Random, BelowIsEven) {
  Random random(5);
  std::array<int, 7> seen{};
  for (int i = 0; i < 70000; ++i)
    ++seen[random.below(7)];
  for (const int count : seen)
    EXPECT_NEAR(count, 10000, 600);
  // The bound with the largest bias of a remainder: 3/4 of all values.
  const std::uint64_t bound = (UINT64_MAX / 4) * 3;
  int low = 0;
  for (int i = 0; i < 30000; ++i)
    low += random.below(bound) < bound / 3 ? 1 : 0;
  EXPECT_NEAR(low, 10000, 600);
}

TEST(Random, RangesReachBothEnds) {
  Random random(6);
  bool first = false;
  bool last = false;
  for (int i = 0; i < 1000; ++i) {
    const auto value = random.between(10, 12);
    ASSERT_GE(value, 10U);
    ASSERT_LE(value, 12U);
    first = first || value == 10;
    last = last || value == 12;
  }
  EXPECT_TRUE(first && last);
  EXPECT_EQ(random.below(1), 0U);
  (void)random.between(0, UINT64_MAX);
}

TEST(Random, ChanceAndExponential) {
  Random random(8);
  int hits = 0;
  double sum = 0;
  for (int i = 0; i < 100000; ++i) {
    hits += random.chance(0.3) ? 1 : 0;
    ASSERT_FALSE(random.chance(0));
    ASSERT_TRUE(random.chance(1));
    const double wait = random.exponential(20);
    ASSERT_GE(wait, 0);
    sum += wait;
  }
  EXPECT_NEAR(hits, 30000, 900);
  EXPECT_NEAR(sum / 100000, 20, 0.5);
}

TEST(Random, ShuffleKeepsAllAndEveryPlaceIsEquallyLikely) {
  Random random(9);
  std::array<int, 5> where_zero_went{};
  for (int round = 0; round < 50000; ++round) {
    std::array<int, 5> items{};
    std::iota(items.begin(), items.end(), 0);
    random.shuffle(std::span<int>(items));
    ++where_zero_went[static_cast<std::size_t>(std::ranges::find(items, 0) - items.begin())];
    std::ranges::sort(items);
    ASSERT_EQ(items, (std::array{0, 1, 2, 3, 4}));
  }
  for (const int count : where_zero_went)
    EXPECT_NEAR(count, 10000, 600);
}

TEST(Random, ForksDependOnSeedAndLabelOnly) {
  Random parent(10);
  Random early = parent.fork("link 1");
  (void)parent.next();
  Random late = parent.fork("link 1");
  Random other = parent.fork("link 2");
  Random other_seed = Random(11).fork("link 1");
  const std::uint64_t drawn = early.next();
  EXPECT_EQ(drawn, late.next());
  EXPECT_NE(drawn, other.next());
  EXPECT_NE(drawn, other_seed.next());
  EXPECT_NE(drawn, Random(10).next());
}

TEST(RandomDeathTest, EmptyRanges) {
  Random random(1);
  EXPECT_DEATH((void)random.below(0), "the bound is above 0");
  EXPECT_DEATH((void)random.between(2, 1), "the first value does not exceed the last");
}

}  // namespace
}  // namespace plnet::random_test
