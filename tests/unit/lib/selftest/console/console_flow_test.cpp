// SPDX-License-Identifier: BSD-3-Clause
// The requests of a console from the beginning of a session to its end, byte for byte.
#include <cstring>
#include <string>

#include <gtest/gtest.h>

#include "tests/unit/lib/lnet/vectors.hpp"
#include "tests/unit/lib/selftest/console/crowd_site.hpp"

namespace plnet::selftest::console_flow_test {
namespace {

namespace vectors = lnet::vectors;

// The vector with this request's ids, since the console chooses them.
std::string golden(const std::string& name, const MessageBytes& ours) {
  static const vectors::Json all = vectors::load("selftest");
  for (const auto& vector : all) {
    if (vectors::name(vector) != "srpc_msg." + name) continue;
    vectors::Bytes bytes = vectors::from_hex(vectors::hex(vector));
    const bool bulk = name.starts_with("TEST_REQ") && bytes[76] != std::byte{0};
    std::memcpy(bytes.data() + kHeaderBytes, ours.data() + kHeaderBytes, bulk ? 16 : 8);
    return vectors::to_hex(bytes);
  }
  ADD_FAILURE() << "no vector " << name;
  return {};
}

class ConsoleFlowTest : public testing::Test, public CrowdSite {
 protected:
  // The last request that a node received.
  void expect_heard(unsigned node, const std::string& name) {
    ASSERT_FALSE(crowd.node(node).heard_bytes.empty()) << name;
    const MessageBytes& last = crowd.node(node).heard_bytes.back();
    EXPECT_EQ(vectors::to_hex(last), golden(name, last)) << name;
  }
  void begin_with_groups() {
    EXPECT_EQ(begin().total(), 0U);
    EXPECT_EQ(add("clients", 1, 1).succeeded(), 1U);
    EXPECT_EQ(add("servers", 2, 2).succeeded(), 1U);
    EXPECT_TRUE(console->add_batch("rw").has_value());
  }
};

// The example session of the protocol.
TEST_F(ConsoleFlowTest, ASessionFromItsBeginningToItsEnd) {
  begin_with_groups();
  expect_heard(1, "MAKE_SESSION_REQ/real/bulk-force0");
  expect_heard(2, "MAKE_SESSION_REQ/real/bulk-force0");
  AddTest test = brw();
  test.batch = "rw";
  test.concurrency = 8;
  test.test = BrwTest{.check = Check::kSimple, .length = 1U << 20};
  EXPECT_EQ(add_test(test).succeeded(), 1U);
  expect_heard(2, "TEST_REQ.bulk_v1/real/brw-server");
  expect_heard(1, "TEST_REQ.bulk_v1/real/brw-client");
  EXPECT_EQ(crowd.node(1).lists, (std::vector<std::vector<lnet::ProcessId>>{{Crowd::id(2)}}));
  const auto run = of([&](WhenDone done) { return console->run("rw", 0, std::move(done)); });
  EXPECT_EQ(run.succeeded(), 1U);
  expect_heard(1, "BATCH_REQ/real/run");
  const StatTarget servers = OfGroup{"servers"};
  (void)of([&](WhenDone done) { return console->stat(servers, 5, std::move(done)); });
  expect_heard(2, "STAT_REQ/real/stat");
  const auto stop = of([&](WhenDone done) { return console->stop("rw", true, std::move(done)); });
  EXPECT_EQ(stop.succeeded(), 1U);
  expect_heard(1, "BATCH_REQ/real/stop-force");
  const auto query =
      of([&](WhenDone done) { return console->query("rw", 0, false, 5, std::move(done)); });
  EXPECT_EQ(query.idle, 1U);
  expect_heard(1, "BATCH_REQ/real/query-batch");
  (void)ping(OfGroup{"clients"});
  expect_heard(1, "DEBUG_REQ/real/debug");
  EXPECT_EQ(end().succeeded(), 2U);
  expect_heard(1, "REMOVE_SESSION_REQ/real/end");
  expect_heard(2, "REMOVE_SESSION_REQ/real/end");
  EXPECT_EQ(refusal_of(console->show_session()), Refusal::kNoSession);
  // No other requests, and the server's part of the test before the client's.
  EXPECT_EQ(crowd.node(1).heard.size(), 7U);
  EXPECT_EQ(crowd.node(2).heard.size(), 4U);
  expect_clean();
}

TEST_F(ConsoleFlowTest, OtherTests) {
  begin_with_groups();
  AddTest test = brw();
  test.batch = "rw";
  test.concurrency = 8;
  test.test = PingTest{};
  EXPECT_EQ(add_test(test).succeeded(), 1U);
  expect_heard(1, "TEST_REQ.ping/real/ping-client");
}

TEST_F(ConsoleFlowTest, FourServersAndALoop) {
  EXPECT_EQ(begin().total(), 0U);
  EXPECT_EQ(add("clients", 1, 1).succeeded(), 1U);
  EXPECT_EQ(add("servers", 2, 5).succeeded(), 4U);
  EXPECT_TRUE(console->add_batch("rw").has_value());
  AddTest test = brw();
  test.batch = "rw";
  test.concurrency = 8;
  test.loop = 100;
  test.span = 4;
  test.test = BrwTest{.operation = BulkOperation::kWrite, .check = Check::kFull};
  EXPECT_EQ(add_test(test).succeeded(), 1U);
  expect_heard(1, "TEST_REQ.bulk_v1/real/brw-client-write-full");
}

TEST_F(ConsoleFlowTest, NodesOfOld) {
  for (const unsigned node : {1U, 2U})
    crowd.node(node).features_known = 0;
  begin_with_groups();
  EXPECT_EQ(console->session()->features, 0U);
  AddTest test = brw();
  test.batch = "rw";
  test.concurrency = 8;
  test.test = BrwTest{.operation = BulkOperation::kWrite, .length = 1U << 20};
  EXPECT_EQ(add_test(test).succeeded(), 1U);
  expect_heard(1, "TEST_REQ.bulk_v0/real/brw-client-v0");
  EXPECT_EQ(crowd.node(1).list_bytes, std::vector<std::uint32_t>{kListPageBytes});
}

TEST_F(ConsoleFlowTest, ByForce) {
  NewSession session = plain_session();
  session.name = std::string(31, 'n');
  session.force = true;
  (void)begin(session);
  (void)add("clients", 1, 1);
  expect_heard(1, "MAKE_SESSION_REQ/real/name31-force1");
}

}  // namespace
}  // namespace plnet::selftest::console_flow_test
