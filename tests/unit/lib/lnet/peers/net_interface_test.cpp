// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/peers/net_interface.hpp"

#include <gtest/gtest.h>

namespace plnet::lnet::net_interface_test {
namespace {

TEST(LaneShard, IsTheHomeIfThatServesTheInterface) {
  const ShardSet all(0b1111);
  for (ShardId home = 0; home < 4; ++home)
    EXPECT_EQ(lane_shard(all, home, 17, 4), home);
}

TEST(LaneShard, IsElseTheNextOneThatDoesFromTheNumberOfThePeerOn) {
  const ShardSet two(0b1010);
  EXPECT_EQ(lane_shard(two, 0, 0, 4), 1);
  EXPECT_EQ(lane_shard(two, 0, 1, 4), 1);
  EXPECT_EQ(lane_shard(two, 0, 2, 4), 3);
  EXPECT_EQ(lane_shard(two, 2, 7, 4), 3);
  EXPECT_EQ(lane_shard(ShardSet(0b0001), 2, 7, 4), 0) << "round the end";
}

}  // namespace
}  // namespace plnet::lnet::net_interface_test
