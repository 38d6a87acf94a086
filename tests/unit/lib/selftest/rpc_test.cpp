// SPDX-License-Identifier: BSD-3-Clause
// RPCs between two nodes, from the first call to the last event of the last descriptor.
#include <algorithm>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/lib/selftest/rpc_fixture.hpp"

namespace plnet::selftest::rpc_test {
namespace {

using std::chrono::seconds;

TEST_P(RpcTest, APingIsAnswered) {
  server.responder.open();
  read_sequence = true;
  ping(41);
  settle();
  ASSERT_EQ(outcomes.size(), 1U);
  EXPECT_TRUE(outcomes[0].has_value());
  EXPECT_EQ(sequence, 41U);
  EXPECT_EQ(server.requests, 1U);
  EXPECT_EQ(server.ends, 1U);
  EXPECT_EQ(server.responder.posted_buffers(), 2 * kBuffers);
  EXPECT_EQ(statistics.get(RpcCount::kSent), 1U);
  EXPECT_EQ(server.statistics.get(RpcCount::kReceived), 1U);
  EXPECT_EQ(server.statistics.get(RpcCount::kDropped), 0U);
  expect_clean();
}

TEST_P(RpcTest, BulkDataGoesBothWays) {
  server.responder.open();
  std::ranges::fill(server.bulk.bytes, std::byte{0x5a});
  brw(BulkOperation::kRead);
  settle();
  EXPECT_TRUE(std::ranges::equal(bulk.bytes, server.bulk.bytes));
  std::ranges::fill(bulk.bytes, std::byte{0xa5});
  brw(BulkOperation::kWrite);
  settle();
  EXPECT_TRUE(std::ranges::equal(bulk.bytes, server.bulk.bytes));
  EXPECT_EQ(outcomes, (std::vector<Result<void>>{{}, {}}));
  EXPECT_EQ(server.moved, 2 * kBulk);
  EXPECT_EQ(server.statistics.get(RpcCount::kBulkPut), kBulk);
  EXPECT_EQ(server.statistics.get(RpcCount::kBulkGot), kBulk);
  expect_clean();
}

TEST_P(RpcTest, ARefusalMovesNoData) {
  server.responder.open();
  server.serve = Serve::kRefuse;
  brw(BulkOperation::kRead);
  brw(BulkOperation::kWrite);
  settle();
  EXPECT_EQ(outcomes, (std::vector<Result<void>>{{}, {}}));
  EXPECT_EQ(status, Status::kInvalid);
  EXPECT_EQ(statistics.get(RpcCount::kErrors), 0U);
  expect_clean();
}

TEST_P(RpcTest, ARequestThatComesEarlyWaits) {
  ping(1);
  pass(seconds(5));
  EXPECT_TRUE(outcomes.empty());
  server.responder.open();
  settle();
  EXPECT_EQ(outcomes, (std::vector<Result<void>>{{}}));
  expect_clean();
}

TEST_P(RpcTest, MoreThanThereAreBuffersAndDescriptorsAllGetTheirTurn) {
  server.responder.open();
  server.serve = Serve::kHold;
  for (std::uint32_t i = 0; i < kRpcs; ++i)
    ping(i);
  settle();
  EXPECT_EQ(server.held.size(), kServerRpcs);
  EXPECT_EQ(server.statistics.get(RpcCount::kWaited), kBuffers);
  for (unsigned answered = 0; answered < kRpcs; ++answered) {
    ASSERT_FALSE(server.held.empty());
    ServerRpc& first = *server.held.front();
    server.held.erase(server.held.begin());
    server.answer(first);
    settle();
  }
  EXPECT_EQ(outcomes.size(), kRpcs);
  EXPECT_TRUE(std::ranges::all_of(outcomes, [](const auto& one) { return one.has_value(); }));
  EXPECT_EQ(server.requests, kRpcs);
  expect_clean();
}

TEST_P(RpcTest, SilenceEndsWithTheTimeout) {
  server.responder.open();
  server.serve = Serve::kDrop;
  ping(1);
  brw(BulkOperation::kRead);
  brw(BulkOperation::kWrite);
  pass(seconds(63));
  EXPECT_TRUE(outcomes.empty());
  EXPECT_EQ(server.statistics.get(RpcCount::kDropped), 3U);
  pass(seconds(2));
  ASSERT_EQ(outcomes.size(), 3U);
  for (const auto& outcome : outcomes)
    EXPECT_EQ(outcome.error(), Errc::kTimedOut);
  EXPECT_EQ(statistics.get(RpcCount::kExpired), 3U);
  expect_clean();
}

TEST_P(RpcTest, AbortedRpcsEndAtOnceAndOnce) {
  server.responder.open();
  server.serve = Serve::kHold;
  ClientRpc& one = ping(1);
  ClientRpc& other = brw(BulkOperation::kRead);
  requester.abort(one, Errc::kCancelled);  // nothing has been sent yet
  settle();
  requester.abort(other, Errc::kShutdown);
  requester.abort(other, Errc::kCancelled);
  settle();
  ASSERT_EQ(outcomes.size(), 2U);
  EXPECT_EQ(outcomes[0].error(), Errc::kCancelled);
  EXPECT_EQ(outcomes[1].error(), Errc::kShutdown);
  // The server's operations find no receiver.
  for (ServerRpc* const rpc : std::exchange(server.held, {}))
    server.responder.drop(*rpc);
  settle();
  expect_clean();
}

TEST_P(RpcTest, AServerThatGivesUpSendsNoAnswer) {
  server.responder.open();
  server.serve = Serve::kHold;
  ping(1);
  brw(BulkOperation::kWrite);
  settle();
  EXPECT_EQ(server.held.size(), 2U);
  server.responder.abort_all(Service::kPing);
  settle();
  ASSERT_EQ(server.held.size(), 1U);
  EXPECT_EQ(server.held[0]->service(), Service::kBrw);
  server.responder.abort_all(Service::kBrw);
  pass(seconds(70));
  EXPECT_EQ(outcomes.size(), 2U);
  EXPECT_EQ(server.ends, 2U);
  EXPECT_EQ(server.statistics.get(RpcCount::kDropped), 2U);
  expect_clean();
}

TEST_P(RpcTest, AServerThatAbortsWhileDataMovesLeavesNothingBehind) {
  server.responder.open();
  for (unsigned turns = 0; turns < 40; ++turns) {
    brw(turns % 2 == 0 ? BulkOperation::kRead : BulkOperation::kWrite);
    for (unsigned i = 0; i < turns; ++i)
      turn();
    server.responder.abort_all(Service::kBrw);
    settle();
  }
  pass(seconds(70));
  EXPECT_EQ(outcomes.size(), 40U);
  expect_clean();
}

TEST_P(RpcTest, AServerDoesNotWaitForDataThatItCouldNotAskFor) {
  server.responder.open();
  server.serve = Serve::kHold;
  brw(BulkOperation::kWrite);
  settle();
  ASSERT_EQ(server.held.size(), 1U);
  nodes.vanish(0);
  ServerRpc& rpc = *server.held.front();
  server.responder.pull(rpc, rpc.request<BrwRequest>().bulk_id, server.bulk.fragment());
  for (unsigned i = 0; i < 1000 && server.statistics.get(RpcCount::kErrors) == 0; ++i)
    turn(std::chrono::milliseconds(50));
  EXPECT_EQ(server.statistics.get(RpcCount::kErrors), 1U);
  pass(seconds(2));
  EXPECT_TRUE(server.responder.idle());
  EXPECT_EQ(server.statistics.get(RpcCount::kDropped), 1U);
  EXPECT_EQ(nodes.descriptors(1), server.responder.posted_buffers());
}

TEST_P(RpcTest, AbortedRpcsEndOnTheServerAsWell) {
  server.responder.open();
  server.serve = Serve::kHold;
  ping(1);
  settle();
  pass(seconds(30));
  brw(BulkOperation::kWrite);
  settle();
  EXPECT_EQ(server.held.size(), 2U);
  EXPECT_GT(server.responder.next_deadline(), nodes.now());
  pass(seconds(35));
  EXPECT_EQ(server.held.size(), 1U);
  EXPECT_EQ(server.held[0]->service(), Service::kBrw);
  pass(seconds(30));
  EXPECT_EQ(outcomes.size(), 2U);
  EXPECT_EQ(server.ends, 2U);
  EXPECT_EQ(server.statistics.get(RpcCount::kDropped), 2U);
  EXPECT_EQ(server.responder.next_deadline(), Instant::max());
  expect_clean();
}

TEST_P(RpcTest, AbsentServersAreReported) {
  ping(1, 7);
  settle();
  pass(seconds(200));
  ASSERT_EQ(outcomes.size(), 1U);
  EXPECT_FALSE(outcomes[0].has_value());
  expect_clean();
}

TEST_P(RpcTest, WildcardTargetsAreInvalid) {
  server.responder.open();
  const lnet::ProcessId one = nodes.id(1);
  for (const lnet::ProcessId& target :
       {lnet::ProcessId{lnet::Nid::any(), one.pid}, lnet::ProcessId{one.nid, lnet::kPidAny}}) {
    ClientRpc& rpc = *requester.take(*this, nullptr);
    requester.start(rpc, {.target = target}, PingRequest{}, nodes.now());
    settle();
    ASSERT_FALSE(outcomes.empty());
    EXPECT_EQ(outcomes.back().error(), Errc::kInvalid);
  }
  ping(1);
  settle();
  EXPECT_TRUE(outcomes.back().has_value()) << "others still can";
  expect_clean();
}

TEST_P(RpcTest, ClosedMeansNothingIsLaidOpen) {
  server.responder.open();
  server.serve = Serve::kHold;
  ping(1);
  settle();
  server.responder.close();
  settle();
  EXPECT_TRUE(server.responder.closed());
  EXPECT_EQ(nodes.descriptors(1), 0U);
  pass(seconds(70));
  EXPECT_EQ(outcomes.size(), 1U);
}

TEST_P(RpcTest, WithoutDescriptorsItFailsAndDoesNotLeak) {
  std::vector<lnet::MdHandle> taken;
  while (const auto md = nodes.shard(0).bind({}))
    taken.push_back(*md);
  for (unsigned free = 0; free < 3; ++free) {
    brw(BulkOperation::kRead);
    settle();
    (void)nodes.shard(0).unlink(taken.back());
    taken.pop_back();
  }
  ASSERT_EQ(outcomes.size(), 3U);
  for (const auto& outcome : outcomes)
    EXPECT_EQ(outcome.error(), Errc::kNoMemory);
  for (const auto& md : taken)
    (void)nodes.shard(0).unlink(md);
  expect_clean();
}

TEST(RpcIds, ShardsNeverUseTheSame) {
  RpcIds one(5, 0, 2);
  RpcIds other(5, 1, 2);
  EXPECT_EQ(one.next(), (std::uint64_t{5} << 48) + 2);
  EXPECT_EQ(other.next(), (std::uint64_t{5} << 48) + 3);
  EXPECT_EQ(one.next(), (std::uint64_t{5} << 48) + 4);
}

INSTANTIATE_TEST_SUITE_P(Wires, RpcTest, testing::Values(Wire::kStream, Wire::kRdma),
                         [](const auto& wire) {
                           return wire.param == Wire::kStream ? "stream" : "rdma";
                         });

}  // namespace
}  // namespace plnet::selftest::rpc_test
