// SPDX-License-Identifier: BSD-3-Clause
// Tests between nodes, as a console adds, runs, queries and stops them.
#include <tuple>

#include <gtest/gtest.h>

#include "tests/unit/lib/selftest/tests_fixture.hpp"

namespace plnet::selftest::tests_test {
namespace {

using std::chrono::seconds;

class BrwTest : public TestsTest,
                public testing::WithParamInterface<
                    std::tuple<Wire, BulkOperation, Check, std::uint32_t, std::uint32_t>> {
 protected:
  BrwTest() : TestsTest(std::get<0>(GetParam())) {}
};

TEST_P(BrwTest, RunsToItsEnd) {
  const auto [wire, operation, check, length, v] = GetParam();
  features = v;
  begin();
  TestRequest test = brw_test(operation, check, length);
  test.loop = 3;
  test.concurrency = 2;
  EXPECT_EQ(add_test(2, test), Status::kOk);
  EXPECT_EQ(add_client(1, test, {2}), Status::kOk);
  EXPECT_TRUE(run_to_its_end(1));
  expect_no_errors();
  const auto seen = stat(2);
  const bool read = operation == BulkOperation::kRead;
  EXPECT_EQ(read ? seen.rpc.bulk_put : seen.rpc.bulk_got, 6U * length);
  EXPECT_EQ(read ? seen.rpc.bulk_got : seen.rpc.bulk_put, 0U);
  EXPECT_EQ(hosts[1]->server.statistics().get(RpcCount::kReceived), 6U);
  end();
}

INSTANTIATE_TEST_SUITE_P(
    Bytes, BrwTest,
    testing::Combine(testing::Values(Wire::kStream, Wire::kRdma),
                     testing::Values(BulkOperation::kRead, BulkOperation::kWrite),
                     testing::Values(Check::kNone, Check::kSimple, Check::kFull),
                     testing::Values(8U, 4096U, 10'000U, 1U << 20), testing::Values(1U)));
INSTANTIATE_TEST_SUITE_P(Pages, BrwTest,
                         testing::Combine(testing::Values(Wire::kStream),
                                          testing::Values(BulkOperation::kRead,
                                                          BulkOperation::kWrite),
                                          testing::Values(Check::kFull),
                                          testing::Values(4096U, 1U << 20), testing::Values(0U)));

TEST_F(TestsTest, APingRunsUntilItIsStopped) {
  begin();
  TestRequest test = ping_test();
  test.loop = ~0U;
  test.concurrency = 4;
  EXPECT_EQ(add_client(1, test, {2, 1}), Status::kOk);  // another node, and itself
  EXPECT_EQ(batch(1, BatchOperation::kQuery).active, 0U);
  EXPECT_EQ(batch(1, BatchOperation::kRun).status, Status::kOk);
  settle();
  EXPECT_EQ(batch(1, BatchOperation::kQuery).active, 1U);
  EXPECT_EQ(batch(1, BatchOperation::kQuery, 1).active, 8U);
  EXPECT_EQ(batch(1, BatchOperation::kRun).status, Status::kOk) << "it runs already";
  EXPECT_EQ(stat(1).framework.active_batches, 1U);
  EXPECT_EQ(add_client(1, test, {2}), Status::kBusy);
  EXPECT_EQ(batch(1, BatchOperation::kStop).status, Status::kOk);
  settle();
  EXPECT_EQ(batch(1, BatchOperation::kQuery).active, 0U);
  EXPECT_EQ(batch(1, BatchOperation::kQuery, 1).active, 0U);
  EXPECT_EQ(batch(1, BatchOperation::kStop).status, Status::kOk) << "stopped already";
  EXPECT_GT(hosts[1]->server.statistics().get(RpcCount::kReceived), 100U);
  expect_no_errors();
  batch(1, BatchOperation::kRun);
  settle();
  EXPECT_EQ(batch(1, BatchOperation::kQuery).active, 1U) << "and runs again";
  batch(1, BatchOperation::kStop);
  settle();
  end();
}

TEST_F(TestsTest, QueriesReturnTheStateOfTheBatch) {
  begin();
  EXPECT_EQ(batch(1, BatchOperation::kRun).status, Status::kNotFound);
  EXPECT_EQ(add_test(1, ping_test()), Status::kOk);  // as a server
  EXPECT_EQ(batch(1, BatchOperation::kRun).status, Status::kOk);
  EXPECT_EQ(batch(1, BatchOperation::kQuery).active, 0U) << "servers do not run";
  EXPECT_EQ(batch(1, BatchOperation::kQuery, 1).status, Status::kOk);
  EXPECT_EQ(batch(1, BatchOperation::kQuery, 2).status, Status::kNotFound);
  EXPECT_EQ(batch(1, BatchOperation::kQuery, ~0U).status, Status::kInvalid);
  EXPECT_EQ(batch(1, static_cast<BatchOperation>(4)).status, Status::kIo) << "no reply";
  const SessionId mine = session;
  session.stamp = 5;
  EXPECT_EQ(batch(1, BatchOperation::kRun).status, Status::kNoSession);
  EXPECT_EQ(add_test(1, ping_test()), Status::kNotFound);
  session = mine;
  end();
}

TEST_F(TestsTest, AForcedStopDoesNotWaitForAnswers) {
  begin();
  hosts[1]->server.close();  // requests wait in its portal
  settle();
  TestRequest test = brw_test(BulkOperation::kWrite, Check::kNone, 4096);
  test.concurrency = 3;
  EXPECT_EQ(add_client(1, test, {2}), Status::kOk);
  batch(1, BatchOperation::kRun);
  settle();
  EXPECT_EQ(batch(1, BatchOperation::kQuery, 1).active, 3U);
  batch(1, BatchOperation::kStop);
  settle();
  EXPECT_EQ(batch(1, BatchOperation::kQuery, 1).active, 3U) << "messages in flight may end";
  batch(1, BatchOperation::kStop, 0, 1);
  settle();
  EXPECT_EQ(batch(1, BatchOperation::kQuery, 1).active, 0U);
  EXPECT_EQ(stat(1).framework.brw_errors, 0U) << "as requested";
  EXPECT_EQ(remove_session(1, session).status, Status::kOk);
  expect_clean(1);
}

TEST_F(TestsTest, ASilentServerIsAnErrorAfterItsTime) {
  begin();
  hosts[1]->server.close();
  settle();
  EXPECT_EQ(add_client(1, ping_test(), {2}), Status::kOk);
  batch(1, BatchOperation::kRun);
  pass(seconds(66));
  EXPECT_EQ(batch(1, BatchOperation::kQuery).active, 0U);
  const auto seen = stat(1);
  EXPECT_EQ(seen.framework.ping_errors, 1U);
  EXPECT_EQ(seen.rpc.expired, 1U);
}

// A request without an answer. 0: it waits for ever.
class RpcTimeout : public TestsTest, public testing::WithParamInterface<int> {
 protected:
  RpcTimeout() : TestsTest(Wire::kStream, kUnits, seconds(GetParam())) {}
};

TEST_P(RpcTimeout, IsThatOfTheSetting) {
  constexpr int kPatience = 130;
  begin();
  hosts[1]->server.close();
  settle();
  EXPECT_EQ(add_client(1, ping_test(), {2}), Status::kOk);
  batch(1, BatchOperation::kRun);
  int passed = 0;
  while (passed < kPatience && stat(1).rpc.expired == 0) {
    pass(seconds(1));
    ++passed;
  }
  const int expected = GetParam() == 0 ? kPatience : GetParam();
  EXPECT_GE(passed, expected);
  EXPECT_LE(passed, expected + 1);
  batch(1, BatchOperation::kStop, 0, 1);
}

INSTANTIATE_TEST_SUITE_P(Seconds, RpcTimeout, testing::Values(0, 3, 100));

TEST_F(TestsTest, ASessionThatGoesTakesItsTestsAlong) {
  begin();
  for (const auto operation : {BulkOperation::kRead, BulkOperation::kWrite}) {
    TestRequest test = brw_test(operation, Check::kFull, 100'000);
    test.loop = ~0U;
    test.concurrency = 4;
    EXPECT_EQ(add_client(1, test, {2}), Status::kOk);
  }
  batch(1, BatchOperation::kRun);
  settle();
  EXPECT_EQ(batch(1, BatchOperation::kQuery).active, 2U);
  EXPECT_EQ(remove_session(1, session).status, Status::kOk);
  EXPECT_EQ(remove_session(2, session).status, Status::kOk);
  pass(seconds(160));  // transfers that were in flight when the client vanished
  expect_clean(1);
  expect_clean(2);
}

TEST_F(TestsTest, ASessionThatExpiresDoesSo) {
  begin();
  TestRequest test = ping_test();
  test.loop = ~0U;
  EXPECT_EQ(add_client(1, test, {2}), Status::kOk);
  batch(1, BatchOperation::kRun);
  pass(seconds(102));
  EXPECT_EQ(hosts[0]->node.framework().session(), nullptr);
  const auto before = hosts[1]->server.statistics().get(RpcCount::kReceived);
  settle();
  EXPECT_EQ(hosts[1]->server.statistics().get(RpcCount::kReceived), before);
  expect_clean(1);
}

TEST_F(TestsTest, NoMoreThanThereIsRoomFor) {
  begin();
  TestRequest test = ping_test();
  test.concurrency = kUnits + 1;
  EXPECT_EQ(add_client(1, test, {2}), Status::kNoMemory);
  TestRequest large = brw_test(BulkOperation::kRead, Check::kNone, 1U << 20);
  large.concurrency = 5;
  EXPECT_EQ(add_client(1, large, {2}), Status::kNoMemory) << "4 MiB for sinks";
  large.concurrency = 4;
  EXPECT_EQ(add_client(1, large, {2}), Status::kOk);
  TestRequest server = ping_test();
  for (unsigned i = 1; i < 8; ++i)
    EXPECT_EQ(add_test(1, server), Status::kOk);
  EXPECT_EQ(add_test(1, server), Status::kNoMemory) << "as many tests";
  for (unsigned i = 0; i < 2; ++i) {
    EXPECT_EQ(remove_session(1, session).status, Status::kOk);
    settle();
    EXPECT_EQ(make_session(1, session).status, Status::kOk);
    test.concurrency = kUnits;
    EXPECT_EQ(add_client(1, test, {2}), Status::kOk) << "all is there again";
  }
  for (server.batch = 10; server.batch < 13; ++server.batch)
    EXPECT_EQ(add_test(1, server), Status::kOk);
  EXPECT_EQ(add_test(1, server), Status::kNoMemory) << "as many batches";
  end();
}

}  // namespace
}  // namespace plnet::selftest::tests_test
