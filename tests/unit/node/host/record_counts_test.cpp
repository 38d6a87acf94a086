// SPDX-License-Identifier: BSD-3-Clause
#include "node/host/record_counts.hpp"

#include <utility>

#include <gtest/gtest.h>

#include "node/host/router_memory.hpp"

namespace plnet::node::record_counts_test {
namespace {

lnet::NodeConfig router(const lnet::BuffersConfig& buffers = {}) {
  lnet::NodeConfig config;
  config.routing = true;
  config.buffers = buffers;
  return config;
}

TEST(RecordCounts, ANodeOfItsOwnHasThoseOfItsShards) {
  for (const auto& [shards, each] : {std::pair{1U, 4096U}, {8U, 2048U}, {1000U, 256U}}) {
    const RecordCounts counts = record_counts({}, {}, shards);
    EXPECT_EQ(counts.own, each);
    EXPECT_EQ(counts.messages, each);
    EXPECT_EQ(counts.receives, each);
  }
}

// One next hop that accepts nothing holds half of the buffers, with a record of each kind for each.
TEST(RecordCounts, ARouterHasOneOfEachKindForAllThatItsBuffersCanHold) {
  for (const unsigned shards : {1U, 3U, 64U}) {
    for (const lnet::BuffersConfig& buffers :
         {lnet::BuffersConfig{}, lnet::BuffersConfig{100, 50'000, 7}}) {
      const RecordCounts counts = record_counts({.peers = 1000}, router(buffers), shards);
      const std::size_t forwards = forwards_of_shard(buffers, shards);
      EXPECT_EQ(counts.messages, counts.own + forwards);
      const std::size_t peers = shards == 64 ? 32 : shards == 3 ? 667 : 1000;
      EXPECT_EQ(counts.receives, counts.own + forwards + peers);
    }
  }
}

TEST(RecordCounts, AConfiguredCountIsUsedAsIs) {
  const RecordCounts counts = record_counts({.messages = 100, .receives = 200}, router({}), 2);
  EXPECT_EQ(counts.own, 100U);
  EXPECT_EQ(counts.messages, 100U);
  EXPECT_EQ(counts.receives, 200U);
  EXPECT_EQ(record_counts({.messages = 1}, router({}), 2).messages, 64U) << "fewer are no use";
}

}  // namespace
}  // namespace plnet::node::record_counts_test
