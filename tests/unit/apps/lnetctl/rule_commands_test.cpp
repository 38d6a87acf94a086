// SPDX-License-Identifier: BSD-3-Clause
// Access rules and the explanation of paths.
#include <gtest/gtest.h>

#include "tests/unit/apps/lnetctl/lnet_commands_fixture.hpp"

namespace plnet::apps::rule_commands_test {
namespace {

class RuleCommands : public LnetCommands {};

TEST_F(RuleCommands, AccessRulesAreAddedInOrder) {
  EXPECT_EQ(run("access add --action deny --for forward -s 10.0.0.[1-4]@tcp -d *@o2ib "
                "--from tcp --to o2ib"),
            0)
      << err;
  EXPECT_EQ(run("access add --action allow --idx 0"), 0) << err;
  ASSERT_EQ(lnet_.node.access.size(), 2U);
  EXPECT_EQ(lnet_.node.access[0], lnet::AccessRule{.action = lnet::AccessAction::kAllow});
  EXPECT_EQ(run("access show"), 0);
  EXPECT_EQ(out,
            "access:\n    - idx: 0\n      action: allow\n      for: all\n      matched: 7\n"
            "    - idx: 1\n      action: deny\n      for: forward\n"
            "      source: 10.0.0.[1-4]@tcp\n      dest: \"*@o2ib\"\n      from: tcp\n"
            "      to: o2ib\n      matched: 7\n      refused connections: 3\n"
            "      dropped messages: 4\n");
  EXPECT_EQ(run("access del --idx 1"), 0) << err;
  EXPECT_EQ(lnet_.node.access.size(), 1U);
  EXPECT_EQ(run("access del --all"), 0) << err;
  EXPECT_EQ(run("access show"), 0);
  EXPECT_EQ(out, "");
}

TEST_F(RuleCommands, AccessReportsErrors) {
  EXPECT_EQ(run("access add --source 10.0.0.1@tcp"), kMissingStatus);
  EXPECT_TRUE(err.contains("--action: expected one of allow, deny")) << err;
  EXPECT_EQ(run("access add --action permit"), kInvalidStatus);
  EXPECT_EQ(run("access add --action deny --for ping"), kInvalidStatus);
  EXPECT_TRUE(err.contains("--for: expected one of all, connect, forward")) << err;
  EXPECT_EQ(run("access add --action deny --source 10.0.0.1"), kInvalidStatus);
  EXPECT_EQ(run("access add --action deny --from nowhere"), kInvalidStatus);
  EXPECT_EQ(run("access add --action deny --source="), kInvalidStatus) << "not everyone";
  EXPECT_TRUE(err.contains("--source: nothing, expected a list; leave it out for all")) << err;
  EXPECT_EQ(run("access add --action deny --for forward --to="), kInvalidStatus);
  EXPECT_EQ(run("access del"), kMissingStatus);
  EXPECT_EQ(run("access del --idx 0 --all"), kMissingStatus);
  EXPECT_TRUE(lnet_.node.access.empty());
}

TEST_F(RuleCommands, ExplainShowsThePathAndTheRejectedOnes) {
  lnet::PathStep step{.ni = nid("10.0.0.1@tcp"),
                      .next_hop = nid("10.0.0.9@tcp"),
                      .destination = nid("10.1.0.5@o2ib"),
                      .route = lnet::RouteSetup{.net = lnet::parse_net("o2ib").value(),
                                                .gateway = nid("10.0.0.9@tcp")},
                      .ni_tx_credits = 256};
  step.place = {.cpt = 1, .shard = 3, .lane_shard = 2, .tx_credits = 7, .tx_credits_max = 8};
  lnet_.path = {.forwarded = true,
                .routing = false,
                .step = step,
                .alternatives = {{"route", "o2ib by 10.0.0.8@tcp", "the route is down", {}},
                                 {"NI", "10.0.0.2@tcp", "lower health", "10.0.0.1@tcp"}}};
  EXPECT_EQ(run("route explain 10.9.0.1@tcp 10.1.0.5@o2ib"), 0) << err;
  EXPECT_EQ(out,
            "path:\n    src: 10.9.0.1@tcp\n    dst: 10.1.0.5@o2ib\n    forwarded: True\n"
            "    verdict: \"requests and answers do not pass: routing is off: this node drops "
            "messages for others\"\n"
            "    reachable: False\n"
            "    why: \"routing is off: this node drops messages for others\"\n"
            "    answers reachable: False\n    ni: 10.0.0.1@tcp\n    next hop: 10.0.0.9@tcp\n"
            "    for: 10.1.0.5@o2ib\n    route:\n        net: o2ib\n"
            "        gateway: 10.0.0.9@tcp\n        hop: -1\n        priority: 0\n"
            "    ni tx credits: 256\n    cpt: 1\n    shard: 3\n    lane shard: 2\n"
            "    peer tx credits: 7\n    peer tx credits max: 8\n    peer queued bytes: 0\n"
            "    not taken:\n        - route: o2ib by 10.0.0.8@tcp\n"
            "          why not: the route is down\n        - NI: 10.0.0.2@tcp\n"
            "          why not: lower health\n          instead: 10.0.0.1@tcp\n");
  lnet_.path = {};
  EXPECT_EQ(run("route explain * 10.1.0.5@o2ib"), 0) << "a missing path is an answer";
  EXPECT_TRUE(out.contains("    reachable: False\n    why: no route to the peer\n")) << out;
  EXPECT_EQ(run("route explain 10.1.0.5@o2ib"), kInvalidStatus);
  EXPECT_EQ(run("route explain *@tcp 10.1.0.5@o2ib"), kInvalidStatus);
  EXPECT_EQ(run("route explain 10.1.0.5@o2ib *"), kInvalidStatus);
}

}  // namespace
}  // namespace plnet::apps::rule_commands_test
