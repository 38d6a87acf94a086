// SPDX-License-Identifier: BSD-3-Clause
// Tests, batches and queries to nodes, and refused commands.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/lib/selftest/console/commands_fixture.hpp"

namespace plnet::selftest::console_batches_test {
namespace {

using Names = std::vector<std::string>;

// --- Tests and batches ---

TEST_F(CommandsTest, Batches) {
  (void)begin();
  EXPECT_TRUE(console->add_batch("b").has_value());
  EXPECT_EQ(refusal_of(console->add_batch("b")), Refusal::kExists);
  EXPECT_EQ(refusal_of(console->add_batch("batch")), Refusal::kExists);
  EXPECT_EQ(refusal_of(console->add_batch(std::string(32, 'b'))), Refusal::kNameTooLong);
  EXPECT_EQ(console->list_batches().value(), (Names{"batch", "b"}));
  const auto info = console->batch_info("b");
  EXPECT_EQ(info->id, 2U);
  EXPECT_EQ(info->state, BatchState::kIdle);
  EXPECT_EQ(info->tests, 0U);
  EXPECT_EQ(refusal_of(console->batch_info("c")), Refusal::kNotFound);
  EXPECT_EQ(refusal_of(console->run("c", 0, nobody())), Refusal::kNotFound);
  EXPECT_EQ(refusal_of(console->stop("c", false, nobody())), Refusal::kNotFound);
  EXPECT_EQ(refusal_of(console->query("c", 0, false, 5, nobody())), Refusal::kNotFound);
  EXPECT_EQ(refusal_of(console->query("b", 1, false, 5, nobody())), Refusal::kNotFound);
  EXPECT_EQ(refusal_of(console->test_info("b", 0)), Refusal::kNotFound);
  EXPECT_EQ(refusal_of(console->batch_nodes("b", 1, true)), Refusal::kNotFound);
}

TEST_F(CommandsTest, TestsThatCannotBe) {
  two_groups();
  EXPECT_TRUE(console->add_group("empty").has_value());
  const auto refused = [&](auto&& change) {
    AddTest test = brw();
    change(test);
    return refusal_of(console->add_test(test, nobody()));
  };
  EXPECT_EQ(refused([](AddTest& test) { test.loop = 0; }), Refusal::kInvalid);
  EXPECT_EQ(refused([](AddTest& test) { test.concurrency = 0; }), Refusal::kInvalid);
  EXPECT_EQ(refused([](AddTest& test) { test.test = BrwTest{.length = 12}; }), Refusal::kInvalid);
  EXPECT_EQ(refused([](AddTest& test) { test.distribute = 0; }), Refusal::kInvalid);
  EXPECT_EQ(refused([](AddTest& test) { test.span = 3; }), Refusal::kInvalid) << "two servers";
  EXPECT_EQ(refused([](AddTest& test) { test.batch = "none"; }), Refusal::kNotFound);
  EXPECT_EQ(refused([](AddTest& test) { test.from = "none"; }), Refusal::kNotFound);
  EXPECT_EQ(refused([](AddTest& test) { test.to = "none"; }), Refusal::kNotFound);
  EXPECT_EQ(refused([](AddTest& test) { test.to = "empty"; }), Refusal::kInvalid);
  crowd.node(4).session = {};
  (void)ping(WholeSession{});
  EXPECT_EQ(refused([](AddTest&) {}), Refusal::kNodeInactive);
  crowd.node(3).session = {};
  (void)ping(WholeSession{});
  EXPECT_EQ(refused([](AddTest&) {}), Refusal::kInvalid) << "no active node at all";
  for (unsigned node = 1; node <= 4; ++node)
    EXPECT_EQ(crowd.node(node).count(MessageType::kTestRequest), 0U);
  EXPECT_EQ(console->batch_info("batch")->tests, 0U);
  EXPECT_TRUE(console->clean_group("clients", 1).has_value()) << "no test uses it";
}

TEST_F(CommandsTest, ServersWithLargeAddresses) {
  (void)begin();
  (void)add("clients", 1, 1);
  lnet::ProcessId large = Crowd::id(2);
  large.nid.size = lnet::Nid::kLargeSize;
  large.nid.address_be[15] = 1;
  EXPECT_TRUE(console->add_group("servers").has_value());
  const std::vector<lnet::ProcessId> ids{large};
  EXPECT_EQ(of([&](WhenDone done) {
              return console->add_nodes("servers", ids, std::move(done));
            }).succeeded(),
            1U);
  EXPECT_EQ(refusal_of(console->add_test(brw(), nobody())), Refusal::kInvalid);
}

TEST_F(CommandsTest, ABatchRuns) {
  two_groups();
  EXPECT_EQ(add_test(brw()).kind, TransactionKind::kAddClients);
  EXPECT_EQ(refusal_of(console->del_group("clients", nobody())), Refusal::kBusy);
  EXPECT_EQ(refusal_of(console->clean_group("servers", 1)), Refusal::kBusy);
  auto info = console->batch_info("batch");
  EXPECT_EQ(info->tests, 1U);
  EXPECT_EQ(info->clients, StateCounts{.active = 2});
  EXPECT_EQ(info->servers, StateCounts{.active = 2});
  const auto test = console->test_info("batch", 1);
  EXPECT_EQ(test->service, Service::kBrw);
  EXPECT_EQ(test->loop, -1);
  EXPECT_EQ(test->concurrency, 1U);
  EXPECT_EQ(console->batch_nodes("batch", 1, true)->front().id, Crowd::id(3));
  EXPECT_EQ(run().succeeded(), 2U);
  EXPECT_EQ(console->batch_info("batch")->state, BatchState::kRunning);
  EXPECT_EQ(refusal_of(console->add_test(brw(), nobody())), Refusal::kInvalid) << "it is running";
  auto asked = query(0);
  EXPECT_EQ(asked.kind, TransactionKind::kQueryClients);
  EXPECT_EQ(asked.running, 2U);
  EXPECT_EQ(std::get<QuerySeen>(asked.nodes[0].seen).active, 1U);
  EXPECT_EQ(stop().succeeded(), 2U);
  asked = query(0);
  EXPECT_EQ(asked.running, 0U);
  EXPECT_EQ(asked.idle, 2U);
  EXPECT_EQ(console->batch_info("batch")->state, BatchState::kIdle);
  EXPECT_EQ(add_test(brw()).succeeded(), 2U);
  // A batch that ends by itself becomes idle with the next query.
  (void)run();
  crowd.node(1).active = crowd.node(2).active = 0;
  (void)query(1);
  EXPECT_EQ(console->batch_info("batch")->state, BatchState::kRunning) << "that was but one test";
  (void)query(0);
  EXPECT_EQ(console->batch_info("batch")->state, BatchState::kIdle);
}

TEST_F(CommandsTest, ClientsAreNotAskedAfterARefusalOfServers) {
  two_groups();
  crowd.node(4).instead = [this](const Message&) {
    return bytes_of(1, TestReply{Status::kNoMemory, crowd.node(4).session});
  };
  auto result = add_test(brw());
  EXPECT_EQ(result.kind, TransactionKind::kAddServers);
  EXPECT_EQ(result.refused, 1U);
  EXPECT_EQ(result.framework_errno, ENOMEM);
  EXPECT_EQ(crowd.node(1).count(MessageType::kTestRequest), 0U);
  const auto info = console->batch_info("batch");
  EXPECT_EQ(info->tests, 1U) << "so that users can look at it";
  EXPECT_EQ(info->clients.total(), 0U);
  EXPECT_EQ(info->servers.total(), 2U);
  EXPECT_EQ(run().total(), 0U);
  EXPECT_EQ(console->batch_info("batch")->state, BatchState::kIdle);
  crowd.node(4).silent = true;
  result = add_test(brw());
  EXPECT_EQ(result.kind, TransactionKind::kAddServers);
  EXPECT_EQ(result.rpcs_failed, 1U);
  EXPECT_EQ(state("servers", 1), NodeState::kDown);
}

TEST_F(CommandsTest, ABatchIsChangedByOneCommandAtATime) {
  two_groups();
  (void)add_test(brw());
  crowd.node(1).silent = true;
  Told told;
  const auto first = console->run("batch", 0, told.listen());
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(refusal_of(console->run("batch", 0, nobody())), Refusal::kNotPermitted);
  EXPECT_EQ(refusal_of(console->stop("batch", true, nobody())), Refusal::kNotPermitted);
  EXPECT_EQ(refusal_of(console->add_test(brw(), nobody())), Refusal::kNotPermitted);
  EXPECT_EQ(errno_of(Refusal::kNotPermitted), EPERM);
  EXPECT_TRUE(console->query("batch", 0, false, 3, nobody()).has_value());
  settle();
  console->cancel(*first);
  settle();
  ASSERT_EQ(told.times(), 1U);
  EXPECT_EQ(told.result().ended_errno, EINTR);
  EXPECT_EQ(told.result().nodes[0].rpc_errno, EINTR);
  EXPECT_EQ(state("clients", 0), NodeState::kActive);
  EXPECT_EQ(console->batch_info("batch")->state, BatchState::kRunning) << "on the other";
  console->cancel(*first);
  EXPECT_EQ(stop().rpcs_failed, 1U);
}

TEST_F(CommandsTest, RunNeedsEveryClientAndStopOnlyAsksActiveOnes) {
  two_groups();
  (void)add_test(brw());
  (void)run();
  crowd.node(1).session = {};
  (void)ping(OfGroup{"clients"});
  EXPECT_EQ(refusal_of(console->run("batch", 0, nobody())), Refusal::kNodeInactive);
  const auto result = stop();
  EXPECT_EQ(result.total(), 1U);
  EXPECT_EQ(result.nodes[0].id, Crowd::id(2));
  EXPECT_EQ(query(0).refused, 1U) << "the other has no session";
}

// Nodes number the tests that they received, including those as a server.
TEST_F(CommandsTest, TestsByTheNumberThatEachNodeKnows) {
  (void)begin();
  (void)add("a", 1, 1);
  (void)add("b", 2, 2);
  (void)add("both", 1, 2);
  const auto between = [&](const char* from, const char* to) {
    AddTest test = brw();
    test.from = from;
    test.to = to;
    EXPECT_EQ(add_test(test).refused, 0U);
  };
  between("a", "b");     // 1: client. 2: server
  between("b", "a");     // 1: server. 2: client
  between("both", "a");  // 1: server, client. 2: client
  const auto asked = [&](std::uint32_t test, unsigned node) {
    (void)query(test);
    return std::get<BatchRequest>(crowd.node(node).heard.back().body).test;
  };
  EXPECT_EQ(asked(1, 1), 1U);
  EXPECT_EQ(asked(2, 2), 2U);
  EXPECT_EQ(asked(3, 1), 4U);
  EXPECT_EQ(asked(3, 2), 3U);
}

// A node that refused a test does not count it, and is not asked about another test in its place.
TEST_F(CommandsTest, TestsThatANodeHasRefusedHaveNoNumberThere) {
  two_groups();
  const auto refuses = [this](unsigned node, bool shall) {
    crowd.node(node).instead = nullptr;
    if (!shall) return;
    crowd.node(node).instead = [this, node](const Message&) {
      return bytes_of(1, TestReply{Status::kNoMemory, crowd.node(node).session});
    };
  };
  refuses(2, true);
  EXPECT_EQ(add_test(brw()).refused, 1U);
  refuses(2, false);
  refuses(4, true);  // a server: no client receives that test
  EXPECT_EQ(add_test(brw()).kind, TransactionKind::kAddServers);
  refuses(4, false);
  EXPECT_EQ(add_test(brw()).succeeded(), 2U);
  const auto asked = [&](std::uint32_t test, unsigned node) {
    (void)query(test);
    return std::get<BatchRequest>(crowd.node(node).heard.back().body).test;
  };
  EXPECT_EQ(asked(1, 1), 1U);
  EXPECT_EQ(asked(1, 2), kNoPart);
  EXPECT_EQ(asked(2, 1), kNoPart) << "0 would be the whole batch";
  EXPECT_EQ(asked(3, 1), 2U);
  EXPECT_EQ(asked(3, 2), 1U);
}

TEST_F(CommandsTest, MoreTestsThanASessionHolds) {
  (void)begin();
  (void)add("clients", 1, 1);
  (void)add("servers", 2, 2);
  for (std::size_t i = 0; i < kConsoleTestsMax; ++i)
    ASSERT_EQ(add_test(brw()).succeeded(), 1U);
  EXPECT_EQ(refusal_of(console->add_test(brw(), nobody())), Refusal::kTooMany);
}

TEST_F(CommandsTest, MoreCommandsThanAtATime) {
  (void)begin();
  (void)add("g", 1, 1);
  crowd.node(1).silent = true;
  for (std::size_t i = 0; i < kConsoleTransactionsMax; ++i)
    ASSERT_TRUE(console->ping(WholeSession{}, 30, nobody()).has_value());
  EXPECT_EQ(refusal_of(console->ping(WholeSession{}, 30, nobody())), Refusal::kTooMany);
  EXPECT_EQ(refusal_of(console->stat(OfGroup{"g"}, 30, nobody())), Refusal::kTooMany);
  EXPECT_EQ(refusal_of(console->refresh_group("g", nobody())), Refusal::kTooMany);
  EXPECT_EQ(refusal_of(console->query("batch", 0, false, 5, nobody())), Refusal::kTooMany);
  EXPECT_EQ(refusal_of(console->run("batch", 0, nobody())), Refusal::kTooMany);
  EXPECT_EQ(end().rpcs_failed, 1U) << "ending always works";
  expect_clean();
}

// --- Queries ---

TEST_F(CommandsTest, Pings) {
  two_groups();
  (void)add_test(brw());
  crowd.node(2).session = {.nid = 5, .stamp = 6};
  crowd.node(3).session = {};
  auto result = ping(WholeSession{});
  EXPECT_EQ(result.total(), 4U);
  EXPECT_EQ(result.active, 2U);
  EXPECT_EQ(result.busy, 1U);
  EXPECT_EQ(result.unknown, 1U);
  EXPECT_EQ(result.refused, 0U);
  EXPECT_EQ(result.nodes[1].state, NodeState::kBusy);
  EXPECT_EQ(text_of(std::get<PingSeen>(result.nodes[0].seen).session_name), "bulk");
  EXPECT_EQ(result.nodes[0].session, console->session()->id);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(result.nodes[2].seen));
  EXPECT_EQ(ping(OfGroup{"servers"}).total(), 2U);
  EXPECT_EQ(ping(OfBatch{"batch", false}).nodes[0].id, Crowd::id(1));
  EXPECT_EQ(ping(OfBatch{"batch", true}).nodes[0].id, Crowd::id(3));
  // Nodes outside of groups, each once.
  result = ping(OfNodes{Crowd::id(8), Crowd::id(1), Crowd::id(8)});
  EXPECT_EQ(result.total(), 2U);
  EXPECT_EQ(result.nodes[0].state, NodeState::kUnknown);
  EXPECT_EQ(console->session()->nodes, 4U);
  EXPECT_EQ(refusal_of(console->ping(OfGroup{"none"}, 5, nobody())), Refusal::kNotFound);
  EXPECT_EQ(refusal_of(console->ping(OfBatch{"none"}, 5, nobody())), Refusal::kNotFound);
  EXPECT_EQ(refusal_of(console->ping(OfNodes{}, 5, nobody())), Refusal::kInvalid);
  EXPECT_EQ(refusal_of(console->ping(OfNodes{{.nid = lnet::Nid::any()}}, 5, nobody())),
            Refusal::kInvalid);
}

TEST_F(CommandsTest, Statistics) {
  two_groups();
  crowd.node(2).session = {};
  const auto stat = [&](const StatTarget& target) {
    return of([&](WhenDone done) { return console->stat(target, 5, std::move(done)); });
  };
  auto result = stat(OfGroup{"clients"});
  EXPECT_EQ(result.succeeded(), 1U);
  EXPECT_EQ(result.refused, 1U);
  EXPECT_EQ(result.framework_errno, ESRCH);
  EXPECT_EQ(std::get<StatSeen>(result.nodes[0].seen).framework.brw_errors, 3U);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(result.nodes[1].seen));
  EXPECT_LE(result.nodes[0].when, now());
  EXPECT_GT(result.nodes[0].when, now() - std::chrono::seconds(1));
  result = stat(OfNodes{Crowd::id(3), Crowd::id(1)});
  EXPECT_EQ(result.total(), 2U);
  EXPECT_EQ(result.nodes[0].id, Crowd::id(3));
  EXPECT_EQ(refusal_of(console->stat(OfNodes{Crowd::id(8)}, 5, nobody())), Refusal::kNotFound);
  EXPECT_EQ(refusal_of(console->stat(OfGroup{"none"}, 5, nobody())), Refusal::kNotFound);
}

}  // namespace
}  // namespace plnet::selftest::console_batches_test
