// SPDX-License-Identifier: BSD-3-Clause
#include "node/admin/lnet_routing.hpp"

#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/node/admin/small_node.hpp"

namespace plnet::node::lnet_routing_test {
namespace {

constexpr Duration kForever = std::chrono::hours(1);

std::vector<LnetStep> steps_between(bool now, bool wanted, bool at_once = true) {
  lnet::NodeConfig before;
  lnet::NodeConfig after;
  before.routing = now;
  after.routing = wanted;
  std::vector<LnetStep> steps;
  add_routing_steps(before, after, at_once, steps);
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

// A node with memory for router buffers.
class SmallRouter : public ::testing::Test {
 protected:
  void SetUp() override {
    const lnet::BufferCounts most{{1, 1, 1}};
    bytes_.resize(lnet::RouterMemory::bytes(most));
    const auto arena = small_.arenas.add({.base = bytes_.data(), .size = bytes_.size()});
    ASSERT_TRUE(arena);
    small_.setup.router_memory = {{.at = {.arena = *arena, .offset = 0}, .most = most}};
    node_ = std::make_unique<lnet::Node>(small_.setup);
  }

  Outcome<LnetDesk::Progress> go(bool now, bool wanted, bool at_once) {
    return steps_between(now, wanted, at_once).front().act(*node_);
  }
  [[nodiscard]] lnet::RoutingState state() {
    return node_->coordinator().standing().report(node_->shard(0).core().now).state;
  }

  SmallNode small_{1, 8};
  std::vector<std::byte> bytes_;
  std::unique_ptr<lnet::Node> node_;
};

TEST_F(SmallRouter, BeginsAndEndsAtOnceAtItsStart) {
  ASSERT_TRUE(go(false, true, true));
  EXPECT_EQ(state(), lnet::RoutingState::kEnabled);
  EXPECT_TRUE(node_->parameters().routes());
  ASSERT_TRUE(go(true, false, true));
  EXPECT_FALSE(node_->parameters().routes());
}

TEST_F(SmallRouter, GivesPeersTheirTimeWhileItRuns) {
  ASSERT_TRUE(go(false, true, false));
  EXPECT_EQ(state(), lnet::RoutingState::kStarting);
  ASSERT_TRUE(go(true, false, false));
  EXPECT_EQ(state(), lnet::RoutingState::kStopping);
  EXPECT_TRUE(node_->parameters().routes());
  ASSERT_TRUE(go(false, true, false)) << "a stop can be cancelled";
  EXPECT_EQ(state(), lnet::RoutingState::kEnabled);
}

TEST_F(SmallRouter, IsTurnedOnAgainWhenItIsDrained) {
  ASSERT_TRUE(go(false, true, true));
  ASSERT_TRUE(node_->coordinator().standing().drain(node_->shard(0).core().now, kForever));
  EXPECT_EQ(state(), lnet::RoutingState::kStopping);
  ASSERT_TRUE(routing_step(true, false).act(*node_));
  EXPECT_EQ(state(), lnet::RoutingState::kEnabled);
}

TEST(LnetRouting, UnchangedSettingsDoNothing) {
  EXPECT_TRUE(steps_between(true, true).empty());
  EXPECT_TRUE(steps_between(false, false).empty());
}

}  // namespace
}  // namespace plnet::node::lnet_routing_test
