// SPDX-License-Identifier: BSD-3-Clause
#include "lib/base/qsbr_table.hpp"

#include <array>
#include <map>

#include <gtest/gtest.h>

#include "lib/base/random.hpp"

namespace plnet::qsbr_table_test {
namespace {

using Key = std::array<std::uint8_t, 20>;
using Table = QsbrTable<Key, std::uint64_t>;

Key key_of(std::uint64_t number) {
  Key key{};
  for (std::size_t i = 0; i < 8; ++i)
    key[19 - i] = static_cast<std::uint8_t>(number >> (8 * i));
  return key;
}

TEST(QsbrTable, InsertLookupReplaceErase) {
  Qsbr qsbr(1, 1);
  Table table(10, qsbr);
  EXPECT_EQ(table.lookup(key_of(1)), std::nullopt);
  ASSERT_TRUE(table.insert(key_of(1), 100));
  EXPECT_EQ(table.insert(key_of(1), 101).error(), Errc::kExists);
  EXPECT_EQ(table.lookup(key_of(1)), 100U);
  EXPECT_EQ(table.replace(key_of(1), 102), 100U);
  EXPECT_EQ(table.lookup(key_of(1)), 102U);
  EXPECT_EQ(table.replace(key_of(2), 1).error(), Errc::kNotFound);
  EXPECT_EQ(table.erase(key_of(1)), 102U);
  EXPECT_EQ(table.erase(key_of(1)).error(), Errc::kNotFound);
  EXPECT_EQ(table.lookup(key_of(1)), std::nullopt);
  EXPECT_EQ(table.size(), 0U);
}

TEST(QsbrTable, HoldsItsCapacityAndNotOneMore) {
  Qsbr qsbr(1, 1);
  Table table(100, qsbr);
  for (std::uint64_t i = 0; i < 100; ++i)
    ASSERT_TRUE(table.insert(key_of(i), i));
  EXPECT_EQ(table.insert(key_of(100), 100).error(), Errc::kNoSpace);
  for (std::uint64_t i = 0; i < 100; ++i)
    ASSERT_EQ(table.lookup(key_of(i)), i);
  std::uint64_t sum = 0;
  table.for_each([&sum](const Key&, std::uint64_t value) { sum += value; });
  EXPECT_EQ(sum, 99U * 100 / 2);
}

// A hash with one value for all keys: one run of slots and equal tags.
struct WorstHash {
  std::uint64_t operator()(const Key& /*key*/) const { return UINT64_MAX; }
};

TEST(QsbrTable, SurvivesTheWorstHash) {
  Qsbr qsbr(1, 1);
  QsbrTable<Key, std::uint64_t, WorstHash> table(16, qsbr);
  for (int round = 0; round < 20; ++round) {
    for (std::uint64_t i = 0; i < 16; ++i)
      ASSERT_TRUE(table.insert(key_of(i), i));
    for (std::uint64_t i = 0; i < 16; ++i)
      ASSERT_EQ(table.lookup(key_of(i)), i);
    EXPECT_EQ(table.lookup(key_of(99)), std::nullopt);
    for (std::uint64_t i = 0; i < 16; ++i)
      ASSERT_EQ(table.erase(key_of((i * 7) % 16)), (i * 7) % 16);
  }
}

TEST(QsbrTable, AgreesWithAnObviousMapUnderRandomOperations) {
  Qsbr qsbr(1, 1);
  const auto reader = qsbr.register_reader().value();
  qsbr.online(reader);
  Table table(200, qsbr);
  std::map<Key, std::uint64_t> model;
  Random random(42);
  for (int step = 0; step < 200000; ++step) {
    const Key key = key_of(random.below(400));
    const std::uint64_t value = random.next();
    switch (random.below(4)) {
      case 0: {
        const auto done = table.insert(key, value);
        if (model.contains(key)) {
          ASSERT_EQ(done.error(), Errc::kExists);
        } else if (model.size() == 200) {
          ASSERT_EQ(done.error(), Errc::kNoSpace);
        } else {
          ASSERT_TRUE(done) << name_of(done.error());
          model[key] = value;
        }
        break;
      }
      case 1: {
        const auto old = table.erase(key);
        ASSERT_EQ(old.has_value(), model.contains(key));
        if (old) {
          ASSERT_EQ(*old, model[key]);
        }
        model.erase(key);
        break;
      }
      case 2: {
        const auto old = table.replace(key, value);
        ASSERT_EQ(old.has_value(), model.contains(key));
        if (old) model[key] = value;
        break;
      }
      default: {
        const auto found = table.lookup(key);
        ASSERT_EQ(found.has_value(), model.contains(key));
        if (found) {
          ASSERT_EQ(*found, model[key]);
        }
      }
    }
    ASSERT_EQ(table.size(), model.size());
    if (step % 16 == 0) qsbr.quiescent(reader);
  }
}

TEST(QsbrTable, DoesNotRot) {
  Qsbr qsbr(1, 1);
  Table table(256, qsbr);
  // Always nearly full with changing keys: every slot becomes a tombstone repeatedly.
  for (std::uint64_t i = 0; i < 250; ++i)
    ASSERT_TRUE(table.insert(key_of(i), i));
  for (std::uint64_t i = 0; i < 20000; ++i) {
    ASSERT_EQ(table.erase(key_of(i)), i);
    ASSERT_TRUE(table.insert(key_of(i + 250), i + 250));
    ASSERT_LE(table.size() + table.tombstones(), 512U * 3 / 4 + 1);
  }
  EXPECT_GT(table.rebuilds(), 0U);
}

TEST(QsbrTable, EntriesComeBackOnlyAfterReadersWereQuiescent) {
  Qsbr qsbr(1, 1);
  const auto reader = qsbr.register_reader().value();
  qsbr.online(reader);
  Table table(4, qsbr);
  Result<void> done;
  std::uint64_t next = 0;
  while ((done = table.insert(key_of(next), next))) {
    ASSERT_TRUE(table.erase(key_of(next)));
    ASSERT_LT(++next, 100U);
  }
  EXPECT_EQ(done.error(), Errc::kAgain);
  EXPECT_EQ(next, 8U) << "as many may wait for readers as fit, and as many again";
  qsbr.quiescent(reader);
  EXPECT_TRUE(table.insert(key_of(next), next));
}

}  // namespace
}  // namespace plnet::qsbr_table_test
