// SPDX-License-Identifier: BSD-3-Clause
// A console and our test nodes over mock networks: tests that really run, nodes that end and
// restart.
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "lib/selftest/console/console.hpp"
#include "tests/unit/lib/selftest/console/crowd_site.hpp"
#include "tests/unit/lib/selftest/console_site.hpp"

namespace plnet::selftest::console_nodes_test {
namespace {

using std::chrono::seconds;

constexpr unsigned kHosts = 4;

// Node 0 is the console's; it is a test node as well.
class ConsoleNodesTest : public testing::TestWithParam<Wire> {
 protected:
  ConsoleNodesTest() {
    for (unsigned i = 0; i < kHosts; ++i)
      start(i);
    console.open();
    (void)of([&](WhenDone done) {
      return console.new_session({.name = "bulk", .nid = nodes.nid(0)}, std::move(done));
    });
  }

  void start(unsigned number) {
    hosts[number] = std::make_unique<Host>(nodes, number);
    hosts[number]->server.open();
    hosts[number]->node.open();
  }
  void turn(Duration step = std::chrono::microseconds(1)) {
    nodes.turn(step);
    for (unsigned i = 0; i < kHosts; ++i) {
      if (hosts[i] == nullptr || frozen[i]) continue;
      hosts[i]->server.poll(nodes.now());
      hosts[i]->node.poll(nodes.now());
    }
    if (!console_stands_still) console.poll(nodes.now());
  }
  void settle(unsigned turns = 400) {
    for (unsigned i = 0; i < turns; ++i)
      turn();
  }
  void pass(Duration time) {
    const Instant until = nodes.now() + time;
    while (nodes.now() < until) {
      turn(std::chrono::milliseconds(500));
      settle(20);
    }
    settle();
  }
  template <class Ask>
  TransactionResult of(const Ask& ask) {
    Told told;
    const Answer<TransactionId> begun = ask(told.listen());
    EXPECT_TRUE(begun.has_value()) << (begun ? "" : begun.error().why);
    if (!begun) return {};
    for (unsigned i = 0; i < 2000 && told.times() == 0; ++i)
      turn();
    for (unsigned i = 0; i < 1000 && told.times() == 0; ++i) {
      turn(std::chrono::milliseconds(100));
      settle(10);
    }
    EXPECT_EQ(told.times(), 1U);
    return told.result();
  }
  TransactionResult add(const char* group, const std::vector<unsigned>& numbers) {
    EXPECT_TRUE(console.add_group(group).has_value());
    std::vector<lnet::ProcessId> ids;
    for (const unsigned number : numbers)
      ids.push_back(nodes.id(number));
    return of([&](WhenDone done) { return console.add_nodes(group, ids, std::move(done)); });
  }
  TransactionResult add_test(const AddTest& test) {
    return of([&](WhenDone done) { return console.add_test(test, std::move(done)); });
  }
  TransactionResult run() {
    return of([&](WhenDone done) { return console.run("batch", 0, std::move(done)); });
  }
  TransactionResult query(std::uint32_t test = 0) {
    return of(
        [&](WhenDone done) { return console.query("batch", test, false, 5, std::move(done)); });
  }
  TransactionResult stat(const char* group) {
    const StatTarget target = OfGroup{group};
    return of([&](WhenDone done) { return console.stat(target, 5, std::move(done)); });
  }
  TransactionResult ping() {
    return of([&](WhenDone done) { return console.ping(WholeSession{}, 6, std::move(done)); });
  }
  TransactionResult end() {
    return of([&](WhenDone done) { return console.end_session(std::move(done)); });
  }
  // Like `lst stop`.
  void stop(bool force = false) {
    (void)of([&](WhenDone done) { return console.stop("batch", force, std::move(done)); });
    for (int i = 0; i < 100 && query().running != 0; ++i)
      settle();
    EXPECT_EQ(console.batch_info("batch")->state, BatchState::kIdle);
  }
  [[nodiscard]] bool has_session(unsigned number) {
    return hosts[number]->node.framework().session() != nullptr;
  }
  void expect_clean() {
    settle();
    console.close();
    for (const auto& host : hosts) {
      host->server.close();
      host->node.close();
    }
    settle(2000);
    EXPECT_TRUE(console.closed());
    for (unsigned i = 0; i < kHosts; ++i)
      EXPECT_EQ(nodes.descriptors(i), 0U);
  }

  static constexpr ConsoleSetup kSetup{.rpcs = 16, .lists = 4, .join_buffers = 4};

  Nodes nodes{GetParam(), kHosts, std::size_t{64} << 20};
  Console console{nodes.shard(0), kSetup, nodes.memory()};
  std::array<std::unique_ptr<Host>, kHosts> hosts;
  std::array<bool, kHosts> frozen{};
  bool console_stands_still = false;
};

TEST_P(ConsoleNodesTest, TestsRunToTheirEnd) {
  EXPECT_EQ(add("clients", {1, 2}).succeeded(), 2U);
  EXPECT_EQ(add("servers", {0, 3}).succeeded(), 2U) << "itself among them";
  AddTest test{.batch = "batch", .from = "clients", .to = "servers", .loop = 10, .concurrency = 2};
  test.span = 2;
  for (const BulkOperation operation : {BulkOperation::kRead, BulkOperation::kWrite}) {
    test.test = BrwTest{.operation = operation, .check = Check::kFull, .length = 4104};
    EXPECT_EQ(add_test(test).succeeded(), 2U);
  }
  test.test = PingTest{};
  EXPECT_EQ(add_test(test).succeeded(), 2U);
  const auto before = stat("servers");
  EXPECT_EQ(run().succeeded(), 2U);
  for (int i = 0; i < 200 && query().running != 0; ++i)
    settle();
  EXPECT_EQ(query().idle, 2U);
  const auto after = stat("servers");
  ASSERT_EQ(after.succeeded(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    const auto& old = std::get<StatSeen>(before.nodes[i].seen);
    const auto& seen = std::get<StatSeen>(after.nodes[i].seen);
    EXPECT_EQ(seen.framework.brw_errors, 0U);
    EXPECT_EQ(seen.framework.ping_errors, 0U);
    // Two clients with a concurrency and a loop count each.
    EXPECT_EQ(seen.rpc.bulk_put - old.rpc.bulk_put, 2U * 2 * 10 * 4104);
    EXPECT_EQ(seen.rpc.bulk_got - old.rpc.bulk_got, 2U * 2 * 10 * 4104);
    EXPECT_GE(seen.rpc.received - old.rpc.received, 3U * 2 * 2 * 10);
    EXPECT_GT(after.nodes[i].when, before.nodes[i].when);
  }
  EXPECT_EQ(query(3).refused, 0U);
  EXPECT_EQ(end().succeeded(), 4U);
  for (unsigned i = 0; i < kHosts; ++i)
    EXPECT_FALSE(has_session(i));
  expect_clean();
}

TEST_P(ConsoleNodesTest, UntilItIsStopped) {
  EXPECT_EQ(add("clients", {1}).succeeded(), 1U);
  EXPECT_EQ(add("servers", {2, 3}).succeeded(), 2U);
  AddTest test{.batch = "batch", .from = "clients", .to = "servers", .test = PingTest{}};
  test.span = 2;
  test.concurrency = 3;
  EXPECT_EQ(add_test(test).succeeded(), 1U);
  for (const bool force : {false, true}) {
    EXPECT_EQ(run().succeeded(), 1U);
    settle();
    EXPECT_EQ(query().running, 1U);
    EXPECT_EQ(std::get<QuerySeen>(query(1).nodes[0].seen).active, 6U) << "units of the test";
    EXPECT_EQ(console.batch_info("batch")->state, BatchState::kRunning);
    stop(force);
  }
  EXPECT_EQ(std::get<QuerySeen>(query(1).nodes[0].seen).active, 0U);
  EXPECT_EQ(end().succeeded(), 3U);
  expect_clean();
}

TEST_P(ConsoleNodesTest, PingsKeepSessionsAliveAsLongAsTheConsoleLives) {
  EXPECT_EQ(add("g", {1, 2, 3}).succeeded(), 3U);
  pass(seconds(280));
  EXPECT_TRUE(has_session(1));
  EXPECT_EQ(ping().active, 3U);
  console_stands_still = true;  // killed
  pass(seconds(90));
  EXPECT_TRUE(has_session(1));
  pass(seconds(20));
  for (const unsigned node : {1U, 2U, 3U})
    EXPECT_FALSE(has_session(node));
}

TEST_P(ConsoleNodesTest, AnUnusedSessionEndsOnAllNodes) {
  EXPECT_EQ(add("g", {1, 2, 3}).succeeded(), 3U);
  pass(seconds(301));
  EXPECT_FALSE(console.session().has_value());
  for (const unsigned node : {1U, 2U, 3U})
    EXPECT_FALSE(has_session(node));
  expect_clean();
}

TEST_P(ConsoleNodesTest, ANodeThatBeginsAnewHasForgotten) {
  EXPECT_EQ(add("clients", {1}).succeeded(), 1U);
  EXPECT_EQ(add("servers", {2}).succeeded(), 1U);
  AddTest test{.batch = "batch", .from = "clients", .to = "servers", .test = PingTest{}};
  EXPECT_EQ(add_test(test).succeeded(), 1U);
  hosts[1]->server.close();
  hosts[1]->node.close();
  settle(2000);
  EXPECT_TRUE(hosts[1]->node.closed());
  start(1);
  const auto order = run();
  EXPECT_EQ(order.refused, 1U);
  EXPECT_EQ(order.framework_errno, ESRCH);
  EXPECT_EQ(order.nodes[0].state, NodeState::kUnknown);
  EXPECT_EQ(console.batch_info("batch")->state, BatchState::kIdle);
  EXPECT_EQ(ping().unknown, 1U);
  EXPECT_EQ(refusal_of(console.run("batch", 0, {})), Refusal::kNodeInactive);
  // Another session makes it usable again.
  const NewSession again{.name = "next", .force = true, .nid = nodes.nid(0)};
  (void)of([&](WhenDone done) { return console.new_session(again, std::move(done)); });
  EXPECT_EQ(add("clients", {1}).succeeded(), 1U);
  EXPECT_EQ(add("servers", {2}).succeeded(), 1U);
  EXPECT_EQ(add_test(test).succeeded(), 1U);
  EXPECT_EQ(run().succeeded(), 1U);
  stop();
  EXPECT_EQ(end().succeeded(), 2U);
  expect_clean();
}

TEST_P(ConsoleNodesTest, ANodeThatStandsStillIsDown) {
  EXPECT_EQ(add("clients", {1, 3}).succeeded(), 2U);
  EXPECT_EQ(add("servers", {2}).succeeded(), 1U);
  AddTest test{.batch = "batch", .from = "clients", .to = "servers", .test = PingTest{}};
  EXPECT_EQ(add_test(test).succeeded(), 2U);
  frozen[1] = true;
  const auto order = run();
  EXPECT_EQ(order.rpcs_failed, 1U);
  EXPECT_EQ(order.rpc_errno, ETIMEDOUT);
  EXPECT_EQ(order.nodes[0].state, NodeState::kDown);
  EXPECT_EQ(console.batch_info("batch")->state, BatchState::kRunning) << "on the other";
  frozen[1] = false;
  settle();
  EXPECT_EQ(ping().active, 3U);
  stop();
  EXPECT_EQ(end().succeeded(), 3U);
  expect_clean();
}

TEST_P(ConsoleNodesTest, TwoConsoles) {
  EXPECT_EQ(add("g", {1, 2}).succeeded(), 2U);
  Console second{nodes.shard(3), kSetup, nodes.memory()};
  second.open();
  const auto by_second = [&](auto&& ask) {
    Told told;
    EXPECT_TRUE(ask(told.listen()).has_value());
    for (unsigned i = 0; i < 2000 && told.times() == 0; ++i) {
      turn();
      second.poll(nodes.now());
    }
    EXPECT_EQ(told.times(), 1U);
    return told.result();
  };
  NewSession theirs{.name = "theirs", .nid = nodes.nid(3)};
  (void)by_second([&](WhenDone done) { return second.new_session(theirs, std::move(done)); });
  EXPECT_TRUE(second.add_group("g").has_value());
  const std::vector<lnet::ProcessId> ids{nodes.id(1)};
  auto result =
      by_second([&](WhenDone done) { return second.add_nodes("g", ids, std::move(done)); });
  EXPECT_EQ(result.framework_errno, EBUSY);
  EXPECT_EQ(result.nodes[0].state, NodeState::kBusy);
  theirs.force = true;
  (void)by_second([&](WhenDone done) { return second.new_session(theirs, std::move(done)); });
  EXPECT_TRUE(second.add_group("g").has_value());
  result = by_second([&](WhenDone done) { return second.add_nodes("g", ids, std::move(done)); });
  EXPECT_EQ(result.succeeded(), 1U);
  const auto seen = ping();
  EXPECT_EQ(seen.active, 1U);
  EXPECT_EQ(seen.busy, 1U);
  EXPECT_EQ(text_of(std::get<PingSeen>(seen.nodes[0].seen).session_name), "theirs");
  EXPECT_EQ(end().total(), 1U) << "the other is not ours any more";
  EXPECT_TRUE(has_session(1));
}

INSTANTIATE_TEST_SUITE_P(Wires, ConsoleNodesTest, testing::Values(Wire::kStream, Wire::kRdma));

}  // namespace
}  // namespace plnet::selftest::console_nodes_test
