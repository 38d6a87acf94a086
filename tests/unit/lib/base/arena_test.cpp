// SPDX-License-Identifier: BSD-3-Clause
#include "lib/base/arena.hpp"

#include <array>

#include <gtest/gtest.h>

namespace plnet::arena_test {
namespace {

std::array<std::byte, 4096> first_memory;
std::array<std::byte, 8192> second_memory;

TEST(ArenaTable, NamesBytesAndFindsThemAgain) {
  ArenaTable table;
  ASSERT_EQ(table.add({.base = first_memory.data(), .size = first_memory.size()}), 0);
  ASSERT_EQ(table.add({.base = second_memory.data(), .size = second_memory.size()}), 1);
  EXPECT_EQ(table.count(), 2U);

  const Fragment fragment{.at = {.arena = 1, .offset = 100}, .length = 8092};
  const auto bytes = table.bytes(fragment);
  EXPECT_EQ(bytes.data(), second_memory.data() + 100);
  EXPECT_EQ(bytes.size(), 8092U);
  EXPECT_EQ(table.locate(bytes.data()), fragment.at);
  EXPECT_EQ(table.locate(first_memory.data() + 4095), (BufferAddress{0, 4095}));
}

TEST(ArenaTable, MemoryOutsideIsInNoArena) {
  ArenaTable table;
  ASSERT_TRUE(table.add({.base = first_memory.data(), .size = 1024}));
  EXPECT_EQ(table.locate(first_memory.data() + 1024).arena, kNoArena);
  EXPECT_EQ(table.locate(nullptr).arena, kNoArena);
}

TEST(ArenaTable, RefusesNothingAndTooMuch) {
  ArenaTable table;
  EXPECT_EQ(table.add({}).error(), Errc::kInvalid);
  EXPECT_EQ(table.add({.base = first_memory.data(), .size = 0}).error(), Errc::kInvalid);
  for (std::size_t i = 0; i < kArenasMax; ++i)
    ASSERT_TRUE(table.add({.base = first_memory.data(), .size = 1}));
  EXPECT_EQ(table.add({.base = first_memory.data(), .size = 1}).error(), Errc::kNoSpace);
}

TEST(ArenaTableDeathTest, AFragmentPastTheEndIsABug) {
  ArenaTable table;
  ASSERT_TRUE(table.add({.base = first_memory.data(), .size = 4096}));
  const auto touch = [&table](std::uint64_t offset, std::uint32_t length) {
    return table.bytes({.at = {.arena = 0, .offset = offset}, .length = length}).size();
  };
  EXPECT_EQ(touch(4096, 0), 0U);
  EXPECT_DEATH((void)touch(4096, 1), "past its arena");
  EXPECT_DEATH((void)touch(UINT64_MAX, 2), "past its arena");
  EXPECT_DEATH((void)table.arena(1), "no such arena");
}

}  // namespace
}  // namespace plnet::arena_test
