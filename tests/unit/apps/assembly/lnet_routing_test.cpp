// SPDX-License-Identifier: BSD-3-Clause
#include "apps/assembly/lnet_routing.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/apps/assembly/small_node.hpp"

namespace plnet::apps {
namespace {

std::vector<LnetStep> steps_between(bool now, bool wanted) {
  lnet::NodeConfig before;
  lnet::NodeConfig after;
  before.routing = now;
  after.routing = wanted;
  std::vector<LnetStep> steps;
  add_routing_steps(before, after, steps);
  return steps;
}

TEST(LnetRouting, ANodeWithoutMemoryForItDoesNotBeginToRoute) {
  SmallNode small(1, 8);
  lnet::Node node(small.setup);
  const auto steps = steps_between(false, true);
  ASSERT_EQ(steps.size(), 1U);
  const auto done = steps[0].act(node);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Errc::kNoMemory);
  EXPECT_FALSE(node.parameters().routes());
}

TEST(LnetRouting, ANodeWithMemoryForItBeginsAndEnds) {
  SmallNode small(1, 8);
  const lnet::BufferCounts most{{1, 1, 1}};
  std::vector<std::byte> bytes(lnet::RouterMemory::bytes(most));
  const auto arena = small.arenas.add({.base = bytes.data(), .size = bytes.size()});
  ASSERT_TRUE(arena);
  small.setup.router_memory = {{.at = {.arena = *arena, .offset = 0}, .most = most}};
  lnet::Node node(small.setup);
  ASSERT_TRUE(steps_between(false, true).front().act(node));
  EXPECT_TRUE(node.parameters().routes());
  ASSERT_TRUE(steps_between(true, false).front().act(node));
  EXPECT_FALSE(node.parameters().routes());
}

TEST(LnetRouting, NothingIsDoneWhereNothingChanges) {
  EXPECT_TRUE(steps_between(true, true).empty());
  EXPECT_TRUE(steps_between(false, false).empty());
}

}  // namespace
}  // namespace plnet::apps
