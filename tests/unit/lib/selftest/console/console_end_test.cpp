// SPDX-License-Identifier: BSD-3-Clause
// Sessions that end while their tests run: clients are stopped before nodes remove the session.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/lib/selftest/console/commands_fixture.hpp"

namespace plnet::selftest::console_end_test {
namespace {

using Steps = std::vector<std::string>;

class EndTest : public CommandsTest {
 protected:
  EndTest() {
    two_groups();
    EXPECT_EQ(add_test(brw()).succeeded(), 2U);
    EXPECT_EQ(run().succeeded(), 2U);
  }
  // The requests that a node received since its tests were started.
  Steps heard_by(unsigned node) {
    Steps steps;
    for (const Message& message : crowd.node(node).heard) {
      if (std::holds_alternative<RemoveSessionRequest>(message.body)) steps.emplace_back("forget");
      const auto* const batch = std::get_if<BatchRequest>(&message.body);
      if (batch == nullptr || batch->operation == BatchOperation::kRun) continue;
      if (batch->operation == BatchOperation::kQuery) steps.emplace_back("query");
      if (batch->operation == BatchOperation::kStop)
        steps.emplace_back(batch->argument == 0 ? "stop" : "force");
    }
    return steps;
  }
  // The node reports active tests for this many queries.
  void runs_on(unsigned node, unsigned queries) {
    PretendedNode& it = crowd.node(node);
    it.instead = [&it, queries](const Message& request) mutable -> std::optional<MessageBytes> {
      const auto* const batch = std::get_if<BatchRequest>(&request.body);
      if (batch == nullptr) {
        return bytes_of(kFeaturesKnown, RemoveSessionReply{});
      }
      BatchReply reply{.session = it.session};
      if (batch->operation == BatchOperation::kQuery && queries > 0) {
        --queries;
        reply.active = 1;
      }
      return bytes_of(kFeaturesKnown, reply);
    };
  }
};

TEST_F(EndTest, ClientsAreStoppedFirst) {
  EXPECT_EQ(end().succeeded(), 4U);
  EXPECT_EQ(heard_by(1), (Steps{"force", "query", "forget"}));
  EXPECT_EQ(heard_by(2), (Steps{"force", "query", "forget"}));
  EXPECT_EQ(heard_by(3), Steps{"forget"});
  expect_clean();
}

TEST_F(EndTest, EvenIfTheyWereStoppedButNotSeenToEnd) {
  EXPECT_EQ(stop().succeeded(), 2U);
  EXPECT_EQ(end().succeeded(), 4U);
  EXPECT_EQ(heard_by(1), (Steps{"stop", "force", "query", "forget"}));
}

TEST_F(EndTest, EndedNodesAreNotAsked) {
  EXPECT_EQ(stop().succeeded(), 2U);
  EXPECT_EQ(query(0).running, 0U);
  EXPECT_EQ(end().succeeded(), 4U);
  EXPECT_EQ(heard_by(1), (Steps{"stop", "query", "forget"}));
}

// A query is in flight to a slow node while the tests are run again.
TEST_F(EndTest, AnAnswerOfBeforeDoesNotSayThatNothingRuns) {
  EXPECT_EQ(stop().succeeded(), 2U);
  crowd.node(2).silent = true;
  Told asked;
  ASSERT_TRUE(console->query("batch", 0, false, 30, asked.listen()).has_value());
  settle();
  const MessageBytes question = crowd.node(2).heard_bytes.back();
  crowd.node(2).silent = false;
  EXPECT_EQ(run().succeeded(), 2U);
  crowd.answer_late(Crowd::id(2), question,
                    bytes_of(kFeaturesKnown, BatchReply{.session = crowd.node(2).session}));
  settle();
  ASSERT_EQ(asked.times(), 1U);
  EXPECT_EQ(asked.result().idle, 2U);
  EXPECT_EQ(console->batch_info("batch")->state, BatchState::kRunning);
  EXPECT_EQ(end().succeeded(), 4U);
  EXPECT_EQ(heard_by(2), (Steps{"stop", "query", "force", "query", "forget"}));
}

TEST_F(EndTest, TheyAreWaitedFor) {
  runs_on(2, 3);
  EXPECT_EQ(end().succeeded(), 4U);
  EXPECT_EQ(heard_by(2), (Steps{"force", "query", "query", "query", "query", "forget"}));
  expect_clean();
}

TEST_F(EndTest, TheWaitIsBounded) {
  runs_on(1, 1'000'000);
  const Instant begin = now();
  EXPECT_EQ(end().succeeded(), 4U);
  EXPECT_GE(now() - begin, kHaltTimeout);
  EXPECT_LT(now() - begin, 2 * kHaltTimeout);
  const Steps steps = heard_by(1);
  EXPECT_EQ(steps.back(), "forget");
  EXPECT_LT(steps.size(), 110U) << "with a pause between";
  expect_clean();
}

TEST_F(EndTest, SilentNodesDoNotDelayOthers) {
  crowd.node(1).silent = true;
  const auto result = end();
  EXPECT_EQ(result.succeeded(), 3U);
  EXPECT_EQ(result.rpcs_failed, 1U);
  EXPECT_EQ(heard_by(2), (Steps{"force", "query", "forget"}));
  expect_clean();
}

TEST_F(EndTest, AnotherSessionTakesItsPlace) {
  NewSession wanted = plain_session();
  wanted.force = true;
  (void)begin(wanted);
  EXPECT_EQ(heard_by(1), (Steps{"force", "query", "forget"}));
  EXPECT_TRUE(console->session().has_value());
  expect_clean();
}

TEST_F(EndTest, AConsoleThatGoesDoesNotWait) {
  runs_on(1, 1'000'000);
  Told over;
  ASSERT_TRUE(console->end_session(over.listen()).has_value());
  pass(std::chrono::seconds(1));
  EXPECT_EQ(over.times(), 0U);
  expect_clean();
  EXPECT_EQ(over.times(), 1U);
  const Steps steps = heard_by(2);
  ASSERT_GE(steps.size(), 2U);
  EXPECT_EQ(steps.back(), "query") << "no notification any more";
}

}  // namespace
}  // namespace plnet::selftest::console_end_test
