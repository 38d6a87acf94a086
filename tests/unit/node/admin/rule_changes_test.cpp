// SPDX-License-Identifier: BSD-3-Clause
// Fault and access rules of a configuration, applied and undone.
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "lib/lnet/names/nid_text.hpp"
#include "node/admin/access_changes.hpp"
#include "node/admin/fault_changes.hpp"
#include "tests/unit/node/admin/small_node.hpp"

namespace plnet::node::rule_changes_test {
namespace {

using lnet::FaultKind;
using lnet::FaultSpec;
using Progress = LnetDesk::Progress;

const ManualClock kStandsStill;
constexpr Duration kBound = std::chrono::seconds(1);

FaultSpec drop_to(const char* destination) {
  return complete(FaultSpec{.destination = lnet::parse_nid(destination).value(), .rate = 2})
      .value();
}

struct RuleChanges : testing::Test {
  SmallNode small{1, 8};
  std::unique_ptr<lnet::Node> node = std::make_unique<lnet::Node>(small.setup);
  lnet::NodeConfig now;

  // True: the change succeeded and is in force.
  bool change_to(const lnet::NodeConfig& wanted, bool fails_late = false) {
    std::vector<LnetStep> steps;
    plan_faults(now, wanted, steps);
    plan_access(now, wanted, steps);
    if (fails_late) {
      const auto fail = [](lnet::Node&) -> Outcome<Progress> {
        return failure(Errc::kNoMemory, "full");
      };
      steps.push_back({.act = fail, .undo = fail});
    }
    const auto done = carry_out(std::move(steps), kStandsStill, kBound)(*node);
    if (done) now = wanted;
    return done.has_value();
  }
  std::vector<FaultSpec> drops() {
    std::vector<FaultSpec> specs;
    for (const auto& report : node->coordinator().faults(FaultKind::kDrop))
      specs.push_back(report.spec);
    return specs;
  }
};

TEST_F(RuleChanges, FaultRulesComeAndGo) {
  lnet::NodeConfig wanted;
  wanted.faults = {drop_to("1.1.1.1@tcp"), drop_to("2.2.2.2@tcp")};
  ASSERT_TRUE(change_to(wanted));
  EXPECT_EQ(drops(), (std::vector{wanted.faults[1], wanted.faults[0]}))
      << "the newest is asked first";
  EXPECT_NE(node->shared().faults.load(), nullptr);
  wanted.faults.erase(wanted.faults.begin());
  ASSERT_TRUE(change_to(wanted));
  EXPECT_EQ(drops(), wanted.faults);
  wanted.faults.clear();
  ASSERT_TRUE(change_to(wanted));
  EXPECT_EQ(node->shared().faults.load(), nullptr);
}

TEST_F(RuleChanges, ALaterFailureRestoresTheFormerRules) {
  lnet::NodeConfig before;
  before.faults = {drop_to("1.1.1.1@tcp")};
  before.access = {lnet::AccessRule{.use = lnet::AccessUse::kConnect}};
  ASSERT_TRUE(change_to(before));
  lnet::NodeConfig wanted;
  wanted.faults = {drop_to("2.2.2.2@tcp")};
  EXPECT_FALSE(change_to(wanted, true));
  EXPECT_EQ(drops(), before.faults);
  ASSERT_EQ(node->coordinator().access().size(), 1U);
  EXPECT_EQ(node->coordinator().access()[0].rule, before.access[0]);
}

TEST_F(RuleChanges, AccessRulesArePublishedWhole) {
  lnet::NodeConfig wanted;
  wanted.access = {lnet::AccessRule{.action = lnet::AccessAction::kAllow}, lnet::AccessRule{}};
  ASSERT_TRUE(change_to(wanted));
  const lnet::AccessView* const view = node->shared().access.load();
  ASSERT_NE(view, nullptr);
  EXPECT_EQ(view->entries().size(), 2U);
  ASSERT_TRUE(change_to({}));
  EXPECT_EQ(node->shared().access.load(), nullptr);
}

}  // namespace
}  // namespace plnet::node::rule_changes_test
