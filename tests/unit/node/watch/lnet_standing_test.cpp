// SPDX-License-Identifier: BSD-3-Clause
#include "node/watch/lnet_standing.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "tests/mocks/fake_lnet_control.hpp"

namespace plnet::node::lnet_standing_test {
namespace {

class StuckPoller final : public lnet::FakeLnetControl {
 public:
  void routes(lnet::Reply<std::vector<lnet::RouteReport>> reply) override {
    late = std::move(reply);
  }
  lnet::Reply<std::vector<lnet::RouteReport>> late;
};

TEST(LnetStanding, AllPartsAreAsked) {
  ManualClock clock;
  const auto loop = runtime::EventLoop::create(clock).value();
  lnet::FakeLnetControl lnet;
  lnet.node.routing = true;
  lnet.node.access.resize(2);
  lnet.node.faults = {{.kind = lnet::FaultKind::kDrop}, {.kind = lnet::FaultKind::kDelay}};
  std::vector<LnetStanding> answers;
  ask_standing(lnet, *loop, [&](LnetStanding all) { answers.push_back(std::move(all)); });
  ASSERT_EQ(answers.size(), 1U);
  const LnetStanding& standing = answers[0];
  EXPECT_TRUE(standing.answered);
  EXPECT_FALSE(standing.down);
  EXPECT_EQ(standing.nets.size(), 1U);
  EXPECT_EQ(standing.routing.value().state, lnet::RoutingState::kEnabled);
  EXPECT_EQ(standing.access.size(), 2U);
  EXPECT_EQ(standing.drop_rules.size(), 1U);
  EXPECT_EQ(standing.delay_rules.size(), 1U);
}

TEST(LnetStanding, AnAnswerComesThoughAPollerIsStuck) {
  ManualClock clock;
  const auto loop = runtime::EventLoop::create(clock).value();
  StuckPoller lnet;
  std::vector<LnetStanding> answers;
  ask_standing(lnet, *loop, [&](LnetStanding all) { answers.push_back(std::move(all)); });
  (void)loop->run_once(Duration::zero());
  EXPECT_TRUE(answers.empty());
  clock.advance(std::chrono::seconds(3));
  (void)loop->run_once(Duration::zero());
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_FALSE(answers[0].answered);
  EXPECT_EQ(answers[0].nets.size(), 1U) << "of before";
  lnet.late(std::vector<lnet::RouteReport>(1));
  EXPECT_EQ(answers.size(), 1U) << "told once";
}

}  // namespace
}  // namespace plnet::node::lnet_standing_test
