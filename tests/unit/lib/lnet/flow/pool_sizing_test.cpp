// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/flow/pool_sizing.hpp"

#include <gtest/gtest.h>

namespace plnet::lnet::pool_sizing_test {
namespace {

constexpr PoolFlags kAll{{true, true, true}};
constexpr PoolFlags kNone{};
constexpr std::uint64_t kMib = 1U << 20U;
// Enough memory for everything.
constexpr PoolBudget kRich{
    .most_bytes = 1000 * kMib, .most = {{1000, 1000, 1000}}, .records = 10'000};

TEST(PoolSizing, IsTheKernelsNumbersUnlessAskedForOthers) {
  EXPECT_EQ(buffers_of_shard({}, 1), kBuffersDefault);
  EXPECT_EQ(buffers_of_shard({{0, 100, 3}}, 4), (BufferCounts{{512, 25, 1}}));
  EXPECT_EQ(buffers_of_shard({{1, 1, 1}}, 64), (BufferCounts{{1, 1, 1}})) << "never none";
  EXPECT_EQ(automatic_pools({{0, 100, 0}}), (PoolFlags{{true, false, true}}));
}

TEST(PoolSizing, BeginsWithTheKernelsNumbersWhereThereIsMemoryForThem) {
  EXPECT_EQ(first_sizes(kBuffersDefault, kAll, {}), kBuffersDefault);
  EXPECT_EQ(first_sizes(kBuffersDefault, kAll, {.first_bytes = bytes_of(kBuffersDefault)}),
            kBuffersDefault);
}

TEST(PoolSizing, BeginsWithLessInProportionWhereThereIsNot) {
  const PoolBudget half{.first_bytes = bytes_of(kBuffersDefault) / 2};
  EXPECT_EQ(first_sizes(kBuffersDefault, kAll, half), (BufferCounts{{2048, 8192, 512}}));
  EXPECT_EQ(first_sizes(kBuffersDefault, kAll, {.first_bytes = 0}), (BufferCounts{{2048, 1, 1}}));
}

TEST(PoolSizing, ConfiguredPoolsStayAndOthersShareTheRest) {
  const PoolBudget little{.first_bytes = 104 * kMib};
  const BufferCounts asked{{2048, 16384, 100}};
  EXPECT_EQ(first_sizes(asked, {{true, true, false}}, {.first_bytes = 132 * kMib}),
            (BufferCounts{{2048, 8192, 100}}));
  EXPECT_EQ(first_sizes(asked, {{true, true, false}}, little), (BufferCounts{{2048, 3328, 100}}))
      << "an eighth of all, however little is left";
  EXPECT_EQ(first_sizes(asked, kNone, {.first_bytes = 0}), asked);
  EXPECT_EQ(first_sizes(asked, {{true, true, false}}, {.first_bytes = 1}),
            (BufferCounts{{2048, 1, 100}}));
}

TEST(PoolSizing, AClassThatStarvesGetsAQuarterMore) {
  EXPECT_EQ(grown_sizes({{8, 8, 8}}, {{false, true, false}}, kAll, kRich),
            (BufferCounts{{8, 10, 8}}));
  EXPECT_EQ(grown_sizes({{1, 2, 100}}, kAll, kAll, kRich), (BufferCounts{{2, 3, 125}}))
      << "one at least";
  EXPECT_EQ(grown_sizes({{8, 8, 8}}, kNone, kAll, kRich), (BufferCounts{{8, 8, 8}}));
}

TEST(PoolSizing, ConfiguredPoolsNeverGrow) {
  EXPECT_EQ(grown_sizes({{8, 8, 8}}, kAll, kNone, kRich), (BufferCounts{{8, 8, 8}}));
  EXPECT_EQ(pool_bounds({{8, 8, 8}}, kNone, kRich)[BufferClass::kLarge], PoolBound::kSet);
}

TEST(PoolSizing, AsItIsNothingGrows) {
  EXPECT_EQ(grown_sizes({{8, 8, 8}}, kAll, kAll, {}), (BufferCounts{{8, 8, 8}}));
}

TEST(PoolSizing, AllClassesTogetherKeepToTheMemory) {
  const PoolBudget budget{.most_bytes = 101 * kMib, .most = kRich.most, .records = kRich.records};
  const BufferCounts now{{8, 256, 96}};  // 97 MiB
  EXPECT_EQ(grown_sizes(now, {{false, false, true}}, kAll, budget), (BufferCounts{{8, 256, 100}}));
  const BufferCounts full{{8, 256, 100}};
  EXPECT_EQ(grown_sizes(full, kAll, kAll, budget), (BufferCounts{{10, 256, 100}}))
      << "those without memory go on";
  const PoolBounds bounds = pool_bounds(full, kAll, budget);
  EXPECT_EQ(bounds[BufferClass::kTiny], PoolBound::kNone);
  EXPECT_EQ(bounds[BufferClass::kSmall], PoolBound::kMemory);
  EXPECT_EQ(bounds[BufferClass::kLarge], PoolBound::kMemory);
}

TEST(PoolSizing, TheClassThatStarvesGetsTheMemory) {
  const PoolBudget budget{.most_bytes = 64 * kMib, .most = {{9, 100'000, 100}}, .records = 100'000};
  BufferCounts small{{8, 8, 8}};
  BufferCounts large{{8, 8, 8}};
  for (int i = 0; i < 100; ++i) {
    small = grown_sizes(small, {{false, true, false}}, kAll, budget);
    large = grown_sizes(large, {{false, false, true}}, kAll, budget);
  }
  EXPECT_EQ(small, (BufferCounts{{8, 56 * 256, 8}}));
  EXPECT_EQ(large, (BufferCounts{{8, 8, 63}}));
}

TEST(PoolSizing, AClassKeepsToItsPlaceAndAllToTheRecords) {
  const PoolBudget budget{.most_bytes = 1000 * kMib, .most = {{9, 100, 100}}, .records = 120};
  EXPECT_EQ(grown_sizes({{8, 8, 8}}, kAll, kAll, budget)[BufferClass::kTiny], 9U);
  EXPECT_EQ(pool_bounds({{9, 8, 8}}, kAll, budget)[BufferClass::kTiny], PoolBound::kPlace);
  EXPECT_EQ(grown_sizes({{9, 80, 28}}, {{false, true, true}}, kAll, budget),
            (BufferCounts{{9, 83, 28}}));
  EXPECT_EQ(pool_bounds({{9, 83, 28}}, kAll, budget)[BufferClass::kLarge], PoolBound::kRecords);
  EXPECT_EQ(grown_sizes({{20, 200, 200}}, kAll, kAll, budget), (BufferCounts{{20, 200, 200}}))
      << "more than there should be: it stays";
}

}  // namespace
}  // namespace plnet::lnet::pool_sizing_test
