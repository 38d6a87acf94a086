// SPDX-License-Identifier: BSD-3-Clause
// Transactions over many nodes: timeouts, absent nodes, invalid answers.
#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/lib/selftest/console/crowd_site.hpp"

namespace plnet::selftest::console_transactions_test {
namespace {

using std::chrono::seconds;

class TransactionsTest : public testing::Test, public CrowdSite {
 protected:
  explicit TransactionsTest(ConsoleSetup setup = {.rpcs = 64, .lists = 8, .join_buffers = 4})
      : CrowdSite(setup) {}
  // The duration with nodes that do not answer.
  Duration time_of_ping(std::uint32_t timeout_s, TransactionResult& result) {
    const Instant before = now();
    result = ping(OfGroup{"g"}, timeout_s);
    return now() - before;
  }
};

TEST_F(TransactionsTest, AShortTimeCallsNoNodeDown) {
  (void)begin();
  (void)add("g", 1, 2);
  crowd.node(2).silent = true;
  TransactionResult result;
  for (const std::uint32_t timeout_s : {0U, 1U, 3U}) {
    const Duration took = time_of_ping(timeout_s, result);
    EXPECT_GE(took, seconds(3)) << "the shortest that there is";
    EXPECT_LE(took, seconds(4));
    EXPECT_EQ(result.ended_errno, EINTR);
    EXPECT_EQ(result.nodes[0].rpc_errno, 0);
    EXPECT_EQ(result.nodes[1].rpc_errno, EINTR);
    EXPECT_EQ(result.nodes[1].state, NodeState::kActive);
  }
  (void)time_of_ping(5, result);
  EXPECT_EQ(result.nodes[1].rpc_errno, EINTR);
  Duration took = time_of_ping(6, result);
  EXPECT_GE(took, seconds(6));
  EXPECT_EQ(result.ended_errno, ETIMEDOUT);
  EXPECT_EQ(result.nodes[1].rpc_errno, ETIMEDOUT);
  EXPECT_EQ(result.nodes[1].state, NodeState::kDown);
  EXPECT_EQ(result.nodes[0].state, NodeState::kActive);
  took = time_of_ping(0xffff'ffff, result);
  EXPECT_GE(took, seconds(30));
  EXPECT_LE(took, seconds(31));
  // It is active again with its next answer.
  crowd.node(2).silent = false;
  EXPECT_EQ(ping(OfGroup{"g"}).nodes[1].state, NodeState::kActive);
  expect_clean();
}

TEST_F(TransactionsTest, ANodeThatCannotBeReachedKeepsItsState) {
  (void)begin();
  (void)add("g", 1, 2);
  crowd.node(2).lost = true;
  const auto result = ping(OfGroup{"g"}, 30);
  EXPECT_EQ(result.ended_errno, 0) << "no message had to wait";
  EXPECT_EQ(result.rpcs_failed, 1U);
  EXPECT_EQ(result.nodes[1].rpc_errno, EHOSTUNREACH);
  EXPECT_EQ(result.nodes[1].state, NodeState::kActive);
}

// RPCs that the network does not release become ownerless when their transaction has ended.
TEST_F(TransactionsTest, RpcsMayOutliveTheirTransactionAndTheSession) {
  (void)begin();
  (void)add("g", 1, 4);
  for (unsigned node = 1; node <= 4; ++node)
    crowd.node(node).silent = true;
  crowd.hold_unlinks(true);
  EXPECT_EQ(ping(OfGroup{"g"}, 6).rpcs_failed, 4U);
  EXPECT_EQ(end().total(), 0U);
  EXPECT_FALSE(console->closed());
  (void)begin();
  EXPECT_EQ(add("g", 5, 5).succeeded(), 1U);
  crowd.hold_unlinks(false);
  settle();
  EXPECT_EQ(console->group_info("g")->nodes.total(), 1U);
  expect_clean();
}

class FewRpcsTest : public TransactionsTest {
 protected:
  FewRpcsTest() : TransactionsTest({.rpcs = 3, .lists = 2, .join_buffers = 1}) {}
};

TEST_F(FewRpcsTest, TheRestWaitsUntilOneIsBack) {
  (void)begin();
  EXPECT_EQ(add("g", 1, 40).succeeded(), 40U);
  AddTest test = brw();
  test.from = test.to = "g";
  EXPECT_EQ(add_test(test).succeeded(), 40U);
  EXPECT_LE(crowd.under_way_max(), 1U + 3 * 3);
  for (unsigned node = 1; node <= 40; ++node)
    EXPECT_EQ(crowd.node(node).lists.front().front(), Crowd::id(node));
  EXPECT_EQ(end().succeeded(), 40U);
  expect_clean();
}

TEST_F(FewRpcsTest, NodesThatWereNotAskedAreNotDown) {
  (void)begin();
  (void)add("g", 1, 5);
  for (unsigned node = 1; node <= 3; ++node)
    crowd.node(node).silent = true;
  crowd.hold_unlinks(true);
  auto result = ping(OfGroup{"g"}, 6);
  EXPECT_EQ(result.rpcs_failed, 5U);
  EXPECT_EQ(result.nodes[2].rpc_errno, ETIMEDOUT);
  EXPECT_EQ(result.nodes[3].rpc_errno, EINTR);
  EXPECT_EQ(result.nodes[3].state, NodeState::kActive);
  crowd.hold_unlinks(false);
  settle();
  result = ping(OfGroup{"g"}, 6);
  EXPECT_EQ(result.rpcs_failed, 5U);
  result = ping(OfNodes{Crowd::id(4), Crowd::id(5)}, 6);
  EXPECT_EQ(result.rpcs_failed, 0U);
  expect_clean();
}

// --- Features ---

TEST_F(TransactionsTest, TheFirstAnswerSetsTheFeatures) {
  (void)begin();
  crowd.node(2).features_known = 0;
  auto result = add("g", 1, 3);
  EXPECT_EQ(result.succeeded(), 2U);
  EXPECT_EQ(result.features, 1U);
  EXPECT_TRUE(result.nodes[1].refused);
  EXPECT_EQ(result.nodes[1].status, static_cast<std::uint32_t>(EPROTO));
  EXPECT_EQ(result.framework_errno, EPROTO);
  (void)end();
  (void)begin();
  EXPECT_EQ(add("old", 2, 2).features, 0U);
  EXPECT_EQ(console->session()->features, 0U);
  // New nodes follow the session's features from then on.
  EXPECT_EQ(add("new", 1, 1).succeeded(), 1U);
  EXPECT_EQ(crowd.node(1).session_features, 0U);
  EXPECT_EQ(crowd.node(1).heard.back().received.header.features, 0U);
}

TEST_F(TransactionsTest, AnOldSessionOnRequest) {
  NewSession session = plain_session();
  session.features = 0;
  (void)begin(session);
  EXPECT_EQ(add("g", 1, 2).succeeded(), 2U);
  EXPECT_EQ(console->session()->features, 0U);
}

TEST_F(TransactionsTest, UnknownFeatures) {
  (void)begin();
  crowd.node(1).instead = [this](const Message&) {
    return bytes_of(3, MakeSessionReply{.session = console->session()->id, .timeout_s = 10});
  };
  EXPECT_EQ(add("g", 1, 1).framework_errno, EPROTO);
  EXPECT_EQ(console->session()->features, 1U);
}

TEST_F(TransactionsTest, ANodeThatSpeaksOtherwise) {
  (void)begin();
  crowd.node(1).instead = [](const Message& request) -> std::optional<MessageBytes> {
    if (request.received.header.type != MessageType::kMakeSessionRequest) return std::nullopt;
    return bytes_of(1, MakeSessionReply{.status = Status::kProtocol});
  };
  const auto result = add("g", 1, 1);
  EXPECT_EQ(result.framework_errno, EPROTO);
  EXPECT_EQ(result.nodes[0].state, NodeState::kUnknown);
}

// --- Invalid answers ---

TEST_F(TransactionsTest, HostileAnswers) {
  (void)begin();
  (void)add("g", 1, 6);
  const auto garbage = [](std::size_t at, std::uint8_t value) {
    return [=](const Message&) {
      MessageBytes bytes = bytes_of(1, DebugReply{});
      bytes[at] = std::byte{value};
      return std::optional(bytes);
    };
  };
  crowd.node(1).instead = garbage(0, 1);  // magic
  crowd.node(2).instead = garbage(8, 9);  // type
  crowd.node(3).instead = garbage(4, 9);  // the version is not checked
  crowd.node(4).instead = [](const Message&) {
    MessageBytes bytes{};
    bytes.fill(std::byte{0xff});
    return std::optional(bytes);
  };
  crowd.node(5).instead = [this](const Message&) {
    DebugReply reply{.status = static_cast<Status>(0xffff'ffff), .timeout_s = 0xffff'ffff};
    reply.session = console->session()->id;
    reply.name.fill('x');
    return std::optional(bytes_of(0xffff'ffff, reply));
  };
  auto result = ping(OfGroup{"g"}, 6);
  EXPECT_EQ(result.nodes[0].rpc_errno, EBADMSG);
  EXPECT_EQ(result.nodes[1].rpc_errno, EBADMSG);
  EXPECT_EQ(result.nodes[2].rpc_errno, 0);
  EXPECT_EQ(result.nodes[3].rpc_errno, EBADMSG);
  EXPECT_EQ(result.nodes[4].status, 0xffff'ffffU);
  EXPECT_EQ(result.nodes[5].rpc_errno, 0);
  EXPECT_EQ(result.active, 2U);
  EXPECT_EQ(result.nodes[0].state, NodeState::kActive) << "that was no answer";
  // The same for all other requests.
  const auto nonsense = crowd.node(4).instead;
  for (unsigned node = 1; node <= 6; ++node)
    crowd.node(node).instead = nullptr;
  EXPECT_EQ(ping(OfGroup{"g"}).active, 6U);
  for (unsigned node = 1; node <= 6; ++node)
    crowd.node(node).instead = nonsense;
  AddTest test = brw();
  test.from = test.to = "g";
  EXPECT_EQ(add_test(test).rpcs_failed, 6U);
  EXPECT_EQ(
      of([&](WhenDone done) { return console->stat(OfGroup{"g"}, 6, std::move(done)); }).rpc_errno,
      EBADMSG);
  EXPECT_EQ(end().rpcs_failed, 6U);
  expect_clean();
}

TEST_F(TransactionsTest, ANameWithoutAnEnd) {
  (void)begin();
  (void)add("g", 1, 1);
  crowd.node(1).instead = [this](const Message&) {
    DebugReply reply{.session = console->session()->id};
    reply.name.fill('x');
    return std::optional(bytes_of(1, reply));
  };
  const auto result = ping(OfGroup{"g"});
  EXPECT_EQ(text_of(std::get<PingSeen>(result.nodes[0].seen).session_name), std::string(32, 'x'));
}

TEST_F(TransactionsTest, ANodeOfTheOtherByteOrder) {
  (void)begin();
  (void)add("g", 1, 1);
  crowd.node(1).instead = [](const Message&) {
    MessageBytes bytes{};
    const auto put = [&](std::size_t at, std::uint64_t value, unsigned size) {
      for (unsigned i = 0; i < size; ++i)
        bytes[at + i] = static_cast<std::byte>(value >> 8 * (size - 1 - i));
    };
    put(0, kMagic, 4);
    put(4, kVersion, 4);
    put(8, 11, 4);
    put(20, 1, 4);
    put(28, kConsoleNid, 8);
    put(36, static_cast<std::uint64_t>(kStamp), 8);
    put(44, 100, 4);
    return std::optional(bytes);
  };
  const auto result = ping(OfGroup{"g"});
  EXPECT_EQ(result.active, 1U);
  EXPECT_EQ(std::get<PingSeen>(result.nodes[0].seen).timeout_s, 100U);
}

// --- Many nodes ---

class ManyTest : public TransactionsTest {
 protected:
  ManyTest() : TransactionsTest({.rpcs = 1024, .lists = 128, .join_buffers = 1}) {}
};

TEST_F(ManyTest, AThousandNodes) {
  constexpr unsigned kClients = 500;
  constexpr unsigned kNodes = 1000;
  (void)begin();
  EXPECT_EQ(add("clients", 1, kClients).succeeded(), kClients);
  EXPECT_EQ(add("servers", kClients + 1, kNodes).succeeded(), kNodes - kClients);
  AddTest test = brw();
  test.distribute = 2;
  test.span = 4;
  test.concurrency = 8;
  EXPECT_EQ(add_test(test).succeeded(), kClients);
  EXPECT_EQ(
      of([&](WhenDone done) { return console->run("batch", 0, std::move(done)); }).succeeded(),
      kClients);
  for (unsigned node = 1; node <= kNodes; node += 10)
    crowd.node(node).silent = true;
  const auto stat =
      of([&](WhenDone done) { return console->stat(OfGroup{"clients"}, 6, std::move(done)); });
  EXPECT_EQ(stat.succeeded(), kClients - 50);
  EXPECT_EQ(stat.rpcs_failed, 50U);
  EXPECT_EQ(console->group_info("clients")->nodes.down, 50U);
  for (unsigned node = 1; node <= kNodes; node += 10)
    crowd.node(node).silent = false;
  EXPECT_EQ(ping(WholeSession{}).active, kNodes);
  // The console's own pings, some at a time.
  pass(seconds(70), std::chrono::milliseconds(50));
  for (unsigned node = 1; node <= kNodes; ++node)
    EXPECT_EQ(crowd.node(node).count(MessageType::kDebugRequest), 2U) << node;
  EXPECT_EQ(
      of([&](WhenDone done) { return console->stop("batch", false, std::move(done)); }).succeeded(),
      kClients);
  EXPECT_EQ(end().succeeded(), kNodes);
  expect_clean();
}

}  // namespace
}  // namespace plnet::selftest::console_transactions_test
