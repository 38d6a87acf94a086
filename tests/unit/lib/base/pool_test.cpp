// SPDX-License-Identifier: BSD-3-Clause
#include "lib/base/pool.hpp"

#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "lib/base/random.hpp"

namespace plnet::pool_test {
namespace {

struct Thing {
  std::uint64_t id = 0;
  std::uint64_t more = 0;
};

TEST(Pool, LendsEachObjectOnceAndThenNone) {
  Pool<Thing> pool(5);
  std::set<Thing*> lent;
  for (int i = 0; i < 5; ++i)
    lent.insert(pool.take());
  EXPECT_EQ(lent.size(), 5U);
  EXPECT_FALSE(lent.contains(nullptr));
  EXPECT_EQ(pool.take(), nullptr);
  EXPECT_EQ(pool.free_count(), 0U);
  EXPECT_EQ(pool.capacity(), 5U);
}

TEST(Pool, LastInFirstOut) {
  Pool<Thing> pool(3);
  Thing* first = pool.take();
  Thing* second = pool.take();
  pool.give(first);
  pool.give(second);
  EXPECT_EQ(pool.take(), second);
  EXPECT_EQ(pool.take(), first);
}

TEST(Pool, IndicesAreDenseAndLeadBack) {
  Pool<Thing> pool(4);
  for (Pool<Thing>::Index i = 0; i < 4; ++i) {
    Thing* thing = pool.take();
    EXPECT_EQ(pool.index_of(thing), i);
    EXPECT_EQ(&pool.at(i), thing);
    EXPECT_TRUE(pool.is_lent(i));
  }
  pool.give(&pool.at(2));
  EXPECT_FALSE(pool.is_lent(2));
  EXPECT_FALSE(pool.is_lent(99));
}

template <std::size_t kBytes>
struct Sized {
  unsigned char bytes[kBytes];
};

// Checks every address in and around the pool: only the first byte of an object identifies it.
template <std::size_t kBytes>
void owns_its_objects_and_nothing_else() {
  constexpr std::size_t kCount = 7;
  Pool<Sized<kBytes>> pool(kCount);
  const auto first = reinterpret_cast<std::uintptr_t>(&pool.at(0));
  for (std::uintptr_t at = first - 3 * kBytes; at < first + (kCount + 3) * kBytes; ++at) {
    const bool inside = at >= first && at < first + kCount * kBytes;
    const bool expected = inside && (at - first) % kBytes == 0;
    const auto* const object = reinterpret_cast<const Sized<kBytes>*>(at);
    ASSERT_EQ(pool.owns(object), expected) << kBytes << " bytes, " << at - first << " in";
    if (!expected) continue;
    ASSERT_EQ(pool.index_of(object), (at - first) / kBytes);
  }
  EXPECT_FALSE(pool.owns(nullptr));
}

TEST(Pool, RecognizesExactlyItsOwnObjects) {
  owns_its_objects_and_nothing_else<1>();
  owns_its_objects_and_nothing_else<3>();
  owns_its_objects_and_nothing_else<24>();
  owns_its_objects_and_nothing_else<64>();
  owns_its_objects_and_nothing_else<192>();
  owns_its_objects_and_nothing_else<424>();
}

TEST(Pool, RemembersTheLowestTide) {
  Pool<Thing> pool(4);
  Thing* first = pool.take();
  Thing* second = pool.take();
  pool.give(first);
  pool.give(second);
  EXPECT_EQ(pool.low_water(), 2U);
  pool.reset_low_water();
  EXPECT_EQ(pool.low_water(), 4U);
}

TEST(Pool, RandomTakesAndGivesNeverLendTwice) {
  Pool<Thing> pool(50);
  std::vector<Thing*> lent;
  Random random(1);
  for (int i = 0; i < 20000; ++i) {
    if (random.chance(0.5)) {
      Thing* thing = pool.take();
      ASSERT_EQ(thing == nullptr, lent.size() == 50);
      if (thing == nullptr) continue;
      ASSERT_EQ(thing->id, 0U) << "lent twice";
      thing->id = 1;
      lent.push_back(thing);
    } else if (!lent.empty()) {
      std::swap(lent[random.below(lent.size())], lent.back());
      lent.back()->id = 0;
      pool.give(lent.back());
      lent.pop_back();
    }
    ASSERT_EQ(pool.free_count(), 50 - lent.size());
  }
}

TEST(PoolDeathTest, ForeignObjectsAreNotAccepted) {
  Pool<Thing> pool(2);
  Pool<Thing> other(2);
  Thing* thing = pool.take();
  EXPECT_DEATH(pool.give(other.take()), "not an object of this pool");
  EXPECT_DEATH(pool.give(nullptr), "not an object of this pool");
  auto* inside = reinterpret_cast<Thing*>(&thing->more);
  EXPECT_DEATH(pool.give(inside), "not an object of this pool");
  pool.give(thing);
  EXPECT_DEATH(pool.give(thing), "twice");
  EXPECT_DEATH((void)pool.at(2), "no such object");
  EXPECT_DEATH(Pool<Thing>(0), "a pool holds");
}

}  // namespace
}  // namespace plnet::pool_test
