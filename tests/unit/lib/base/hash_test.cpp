// SPDX-License-Identifier: BSD-3-Clause
#include "lib/base/hash.hpp"

#include <array>
#include <bit>
#include <set>

#include <gtest/gtest.h>

namespace plnet::hash_test {
namespace {

using Key = std::array<std::uint8_t, 20>;

TEST(KeyHash, EveryBitOfTheKeyFlipsAboutHalfOfTheResult) {
  const KeyHash<Key> hash;
  const Key base{};
  for (std::size_t bit = 0; bit < 160; ++bit) {
    Key flipped = base;
    flipped[bit / 8] = static_cast<std::uint8_t>(1U << (bit % 8));
    const int distance = std::popcount(hash(base) ^ hash(flipped));
    EXPECT_GT(distance, 10) << "bit " << bit;
    EXPECT_LT(distance, 54) << "bit " << bit;
  }
}

TEST(KeyHash, NeighbouringAddressesSpreadOverSmallTables) {
  const KeyHash<Key> hash;
  std::array<int, 256> low{};
  std::array<int, 256> high{};
  constexpr int kKeys = 25600;
  for (int i = 0; i < kKeys; ++i) {
    Key key{};
    key[18] = static_cast<std::uint8_t>(i >> 8);
    key[19] = static_cast<std::uint8_t>(i);
    ++low[hash(key) & 255];
    ++high[hash(key) >> 56];
  }
  // 100 are expected of each value; the bounds are 6 standard deviations.
  for (std::size_t i = 0; i < 256; ++i) {
    EXPECT_NEAR(low[i], 100, 60);
    EXPECT_NEAR(high[i], 100, 60);
  }
}

TEST(KeyHash, SeedsGiveDifferentFunctionsAndSizesDoNotMeet) {
  const Key key{1, 2, 3};
  EXPECT_NE((KeyHash<Key>{1}(key)), (KeyHash<Key>{2}(key)));
  EXPECT_EQ((KeyHash<Key>{1}(key)), (KeyHash<Key>{1}(key)));
  EXPECT_NE(KeyHash<std::uint32_t>{}(0), KeyHash<std::uint64_t>{}(0));
}

}  // namespace
}  // namespace plnet::hash_test
