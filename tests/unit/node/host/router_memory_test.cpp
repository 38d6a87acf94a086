// SPDX-License-Identifier: BSD-3-Clause
#include "node/host/router_memory.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace plnet::node::router_memory_test {
namespace {

constexpr std::uint64_t kGib = 1U << 30U;

// A CPT with several shards on each of these NUMA nodes.
runtime::CptPlan plan_on(const std::vector<unsigned>& nodes, std::size_t shards) {
  runtime::CptPlan plan;
  for (const unsigned node : nodes) {
    auto& cpt = plan.cpts.emplace_back();
    cpt.shards.resize(shards);
    cpt.memory_node = node;
    plan.shard_count += shards;
  }
  return plan;
}

struct RouterMemoryOf : testing::Test {
  runtime::ArenaMemory memory;
  ArenaTable arenas;

  std::vector<lnet::RouterMemory> reserve(const runtime::CptPlan& plan,
                                          const lnet::BuffersConfig& buffers,
                                          std::uint64_t available) {
    lnet::NodeConfig config;
    config.routing = true;
    config.buffers = buffers;
    auto reserved = reserve_router_memory(memory, arenas, plan, config,
                                          [available](unsigned /*node*/) { return available; });
    EXPECT_TRUE(reserved) << reserved.error().what;
    return reserved.value_or(std::vector<lnet::RouterMemory>{});
  }
};

TEST_F(RouterMemoryOf, ShardsOfANumaNodeShareAQuarterToBeginWithAndAHalfToGrowInto) {
  const auto made = reserve(plan_on({0}, 2), {}, 16 * kGib);
  ASSERT_EQ(made.size(), 2U);
  EXPECT_EQ(made[0].budget.first_bytes, 2 * kGib);
  EXPECT_EQ(made[1].budget.most_bytes, 4 * kGib);
  EXPECT_EQ(made[0].budget.most, (lnet::BufferCounts{{2048, 16384, 2048}}));
}

TEST_F(RouterMemoryOf, DoesNotGrowWithoutKnownMemory) {
  const auto made = reserve(plan_on({0}, 1), {}, 0);
  ASSERT_EQ(made.size(), 1U);
  lnet::RouterBuffers buffers(made[0]);
  ASSERT_TRUE(buffers.resize(lnet::kBuffersDefault, lnet::automatic_pools({})));
  EXPECT_EQ(buffers.total(lnet::BufferClass::kLarge), 1024U) << "the kernel's";
  EXPECT_FALSE(buffers.grow({{false, true, true}}));
}

TEST_F(RouterMemoryOf, ASmallMachineBeginsWithLessUnlessTheNumbersAreSet) {
  const auto made = reserve(plan_on({0}, 1), {}, 2 * kGib);
  ASSERT_EQ(made.size(), 1U);
  lnet::RouterBuffers buffers(made[0]);
  ASSERT_TRUE(buffers.resize(lnet::kBuffersDefault, lnet::automatic_pools({})));
  EXPECT_LT(buffers.total(lnet::BufferClass::kLarge), 512U);
  EXPECT_GT(buffers.total(lnet::BufferClass::kLarge), 400U);
  ASSERT_TRUE(buffers.resize(lnet::kBuffersDefault));
  EXPECT_EQ(buffers.total(lnet::BufferClass::kLarge), 1024U);
}

TEST_F(RouterMemoryOf, ThereIsAPlaceAndARecordForAllThatTheyGrowTo) {
  for (const lnet::BuffersConfig& asked :
       {lnet::BuffersConfig{}, lnet::BuffersConfig{0, 100, 0}, lnet::BuffersConfig{7, 0, 9}}) {
    const auto made = reserve(plan_on({0}, 3), asked, 1024 * kGib);
    ASSERT_EQ(made.size(), 3U);
    lnet::RouterBuffers buffers(made[0]);
    const auto counts = router_buffers_of(asked);
    ASSERT_TRUE(buffers.resize(lnet::buffers_of_shard(counts, 3), lnet::automatic_pools(counts)));
    while (buffers.grow({{true, true, true}})) {
    }
    std::uint32_t sum = 0;
    for (const auto each : lnet::kAllBufferClasses)
      sum += buffers.total(each);
    EXPECT_EQ(sum, forwards_of_shard(asked, 3));
    EXPECT_EQ(buffers.total(lnet::BufferClass::kLarge), asked.large != 0 ? 3U : 4 * (1024U / 3));
  }
}

}  // namespace
}  // namespace plnet::node::router_memory_test
