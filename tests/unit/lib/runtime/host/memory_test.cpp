// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/host/memory.hpp"

#include <array>
#include <cstring>
#include <span>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

namespace plnet::runtime {
namespace {

TEST(ArenaMemory, EveryByteIsThere) {
  ArenaTable table;
  ArenaMemory memory;
  const auto id = memory.add(table, {.bytes = 3'000'000, .numa_node = 0, .hugepages = false});
  ASSERT_TRUE(id) << id.error().what;
  const Arena& arena = table.arena(*id);
  EXPECT_GE(arena.size, 3'000'000U);
  EXPECT_EQ(arena.size % arena.page_size, 0U);
  EXPECT_EQ(arena.numa_node, 0);
  std::memset(arena.base, 0x5a, arena.size);
  EXPECT_EQ(memory.huge_pages(), 0U);
  EXPECT_EQ(memory.small_pages(), arena.size / arena.page_size);
  ASSERT_EQ(memory.lines().size(), 1U);
  EXPECT_NE(memory.lines()[0].find("node 0"), std::string::npos);
}

TEST(ArenaMemory, FallsBackToSmallPagesAndCountsThem) {
  ArenaTable table;
  ArenaMemory memory;
  const auto id = memory.add(table, {.bytes = ArenaMemory::kHugePage});
  ASSERT_TRUE(id) << id.error().what;
  const Arena& arena = table.arena(*id);
  const bool huge = arena.page_size == ArenaMemory::kHugePage;
  EXPECT_EQ(memory.huge_pages(), huge ? 1U : 0U);
  EXPECT_EQ(memory.small_pages(), huge ? 0U : arena.size / arena.page_size);
  EXPECT_EQ(memory.lines()[0].find("no hugepages") == std::string::npos, huge);
}

TEST(ArenaMemory, ReservedMemoryUsesPagesWhenTouched) {
  constexpr std::uint64_t kBytes = 1ULL << 30U;
  ArenaTable table;
  ArenaMemory memory;
  const auto id = memory.add(table, {.bytes = kBytes, .reserve_only = true});
  ASSERT_TRUE(id) << id.error().what;
  const Arena& arena = table.arena(*id);
  EXPECT_EQ(arena.size, kBytes);
  EXPECT_EQ(memory.small_pages() + memory.huge_pages(), 0U);
  const std::span touched(arena.base + kBytes / 2, 1);
  touched[0] = std::byte{1};
  std::array<unsigned char, 2> resident{};
  ASSERT_EQ(::mincore(arena.base + kBytes / 2, 2 * arena.page_size, resident.data()), 0);
  EXPECT_EQ(resident[0] & 1U, 1U);
  ASSERT_EQ(::mincore(arena.base, 2 * arena.page_size, resident.data()), 0);
  EXPECT_EQ((resident[0] | resident[1]) & 1U, 0U);
}

TEST(ArenaMemory, RefusesNonsenseInWords) {
  ArenaTable table;
  ArenaMemory memory;
  EXPECT_EQ(memory.add(table, {.bytes = 0}).error().code, Errc::kOutOfRange);
  EXPECT_EQ(memory.add(table, {.bytes = ~0ULL}).error().code, Errc::kOutOfRange);
  EXPECT_EQ(memory.add(table, {.bytes = 1, .numa_node = 5000}).error().code, Errc::kOutOfRange);
  const auto missing = memory.add(table, {.bytes = 4096, .numa_node = 999, .hugepages = false});
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().what.find("node 999"), std::string::npos);
  EXPECT_EQ(table.count(), 0U);
}

TEST(ArenaMemory, ALimitIsNamed) {
  ArenaTable table;
  ArenaMemory memory;
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_AS, &before), 0);
  const rlimit tight{.rlim_cur = 1ULL << 32U, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &tight), 0);
  const auto refused = memory.add(table, {.bytes = 1ULL << 33U, .hugepages = false});
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &before), 0);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kNoMemory);
  EXPECT_NE(refused.error().what.find("4194304 KiB (ulimit -v)"), std::string::npos)
      << refused.error().what;
}

TEST(ArenaMemory, TheTableIsBounded) {
  ArenaTable table;
  ArenaMemory memory;
  for (std::size_t i = 0; i < kArenasMax; ++i)
    ASSERT_TRUE(memory.add(table, {.bytes = 1, .hugepages = false}));
  EXPECT_FALSE(memory.add(table, {.bytes = 1, .hugepages = false}));
}

}  // namespace
}  // namespace plnet::runtime
