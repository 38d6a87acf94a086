// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "lib/lnet/match/portal_directory.hpp"

namespace plnet::lnet::portals_concurrent_test {
namespace {

TEST(PortalDirectoryConcurrently, OneKindWinsEachPortalAndNoShardIsForgotten) {
  constexpr ShardId kShards = 4;
  PortalDirectory portals(kShards);
  std::array<std::array<bool, kPortalsMax>, kShards> won{};
  {
    std::vector<std::jthread> shards;
    shards.reserve(kShards);
    for (ShardId shard = 0; shard < kShards; ++shard) {
      shards.emplace_back([&, shard] {
        const PortalKind wanted = shard % 2 == 0 ? PortalKind::kUnique : PortalKind::kWildcard;
        for (PortalId portal = 0; portal < kPortalsMax; ++portal) {
          won[shard][portal] = portals.claim(portal, wanted).has_value();
          for (int i = 0; i < 3; ++i)
            portals.added(portal, shard);
          portals.removed(portal, shard);
        }
      });
    }
  }
  for (PortalId portal = 0; portal < kPortalsMax; ++portal) {
    EXPECT_EQ(won[0][portal], won[2][portal]);
    EXPECT_EQ(won[1][portal], won[3][portal]);
    EXPECT_NE(won[0][portal], won[1][portal]);
    EXPECT_EQ(portals.shards_with_entries(portal).count(), kShards);
    for (ShardId shard = 0; shard < kShards; ++shard)
      EXPECT_EQ(portals.entries(portal, shard), 2U);
  }
}

}  // namespace
}  // namespace plnet::lnet::portals_concurrent_test
