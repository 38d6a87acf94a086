// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/cassini/list_entry.hpp"

#include <array>
#include <cstring>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "drivers/net/cassini/memory.hpp"
#include "lib/base/random.hpp"

namespace plnet::cassini::list_entry_test {
namespace {

TEST(CassiniListEntries, IdsComeRoundInTurnAndAreNeverZero) {
  ListEntries entries(3);
  EXPECT_EQ(entries.take(), 1U);
  EXPECT_EQ(entries.take(), 2U);
  entries.give(1);
  EXPECT_EQ(entries.take(), 3U) << "not the one that was just given back";
  EXPECT_EQ(entries.take(), 1U);
  EXPECT_EQ(entries.take(), 0U) << "all are taken";
  entries.give(2);
  EXPECT_EQ(entries.find(2), nullptr);
  EXPECT_EQ(entries.find(0), nullptr);
  EXPECT_EQ(entries.find(4), nullptr);
  EXPECT_NE(entries.find(1), nullptr);
}

TEST(CassiniListEntries, TagsAreFoundAfterAnyHistory) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    ListEntries entries(60);
    std::map<std::uint32_t, unsigned> known;
    for (unsigned step = 0; step < 5000; ++step) {
      const auto tag = static_cast<std::uint32_t>(random.below(100) * 0x10001);
      if (known.contains(tag)) {
        ASSERT_EQ(entries.by_tag(tag), known[tag]);
        if (random.below(2) == 0) continue;
        entries.remove_tag(known[tag]);
        entries.give(known[tag]);
        known.erase(tag);
        continue;
      }
      ASSERT_EQ(entries.by_tag(tag), 0U);
      const unsigned id = entries.take();
      ASSERT_EQ(id == 0, known.size() == 60);
      if (id == 0) continue;
      entries.find(id)->tag = tag;
      entries.add_tag(id);
      known[tag] = id;
    }
    EXPECT_EQ(entries.in_use(), known.size());
  }
}

TEST(CassiniMemory, OnePieceOrNone) {
  std::vector<std::byte> bytes(4096);
  ArenaTable arenas;
  const ArenaId known = arenas.add({.base = bytes.data(), .size = 2048}).value();
  const ArenaId unknown = arenas.add({.base = bytes.data() + 2048, .size = 2048}).value();
  ArenaMap map;
  map.set(known, {.handle = {}, .iova = 0x10000, .va = 0, .length = 2048, .lac = 3});
  const std::array<Fragment, 3> pieces{{{{known, 0}, 100}, {{known, 100}, 100}, {{known, 300}, 9}}};
  const auto at = map.contiguous({pieces, 50, 150});
  ASSERT_TRUE(at.has_value());
  EXPECT_EQ(at->iova, 0x10000U + 50);
  EXPECT_EQ(at->lac, 3U);
  EXPECT_FALSE(map.contiguous({pieces, 50, 151}).has_value()) << "a gap";
  const Fragment foreign{{unknown, 0}, 10};
  EXPECT_FALSE(map.contiguous({{&foreign, 1}, 0, 10}).has_value()) << "not registered";
  EXPECT_FALSE(map.find({kNoArena, 0}).has_value());
  EXPECT_FALSE(map.contiguous({}).has_value()) << "of nothing there is no address";
}

TEST(CassiniMemory, GatherAndScatterAreInverse) {
  std::vector<std::byte> bytes(4096);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>(i * 7);
  ArenaTable arenas;
  (void)arenas.add({.base = bytes.data(), .size = 4096}).value();
  const std::array<Fragment, 3> pieces{{{{0, 10}, 100}, {{0, 500}, 3}, {{0, 900}, 200}}};
  const lnet::Payload payload{pieces, 20, 200};
  std::vector<std::byte> flat(200);
  gather(arenas, payload, flat.data());
  EXPECT_EQ(flat[0], bytes[30]);
  EXPECT_EQ(flat[80], bytes[500]);
  const std::vector<std::byte> before = bytes;
  lnet::for_each_piece(payload, [&](const Fragment& piece) {
    std::memset(bytes.data() + piece.at.offset, 0, piece.length);
  });
  EXPECT_NE(bytes, before);
  scatter(arenas, flat, payload);
  EXPECT_EQ(bytes, before);
}

}  // namespace
}  // namespace plnet::cassini::list_entry_test
