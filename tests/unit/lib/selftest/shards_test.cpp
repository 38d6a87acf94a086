// SPDX-License-Identifier: BSD-3-Clause
// Test servers on two shards of a node: requests find a buffer on either shard, and the end of a
// session reaches both.
#include <algorithm>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "lib/selftest/test_server.hpp"
#include "tests/unit/lib/selftest/rpc_site.hpp"

namespace plnet::selftest::shards_test {
namespace {

constexpr unsigned kShards = 2;
constexpr std::uint32_t kBulk = 65'536;

class ShardsTest : public testing::TestWithParam<Wire>, public RpcUser {
 protected:
  ShardsTest() {
    for (unsigned i = 0; i < kShards; ++i) {
      ids.push_back(std::make_unique<RpcIds>(5, static_cast<lnet::ShardId>(i), kShards));
      requesters.push_back(std::make_unique<Requester>(nodes.shard(0, i), timers, *ids[i],
                                                       statistics, 16, nodes.memory()));
      servers.push_back(std::make_unique<TestServer>(
          nodes.shard(1, i), ended, source, served[i],
          TestServerSetup{.rpcs = 4, .buffers = 16, .sinks = 1}, nodes.memory()));
    }
    bulk = nodes.memory().split(kBulk);
  }
  void rpc_done(ClientRpc& rpc, Result<void> outcome) override {
    outcomes.push_back(outcome);
    if (outcome) statuses.push_back(rpc.reply<BrwReply>().status);
    static_cast<Requester*>(rpc.context)->give(rpc);
  }
  void start(unsigned shard, BulkOperation operation) {
    const bool read = operation == BulkOperation::kRead;
    ClientRpc* const rpc = requesters[shard]->take(*this, requesters[shard].get());
    ASSERT_NE(rpc, nullptr);
    requesters[shard]->start(
        *rpc,
        {.target = nodes.id(1),
         .service = Service::kBrw,
         .bulk = read ? BulkUse::kSink : BulkUse::kSource,
         .bulk_memory = read ? bulk.fragment() : source.first(kBulk)},
        BrwRequest{.operation = operation, .length = kBulk, .check = Check::kFull}, nodes.now());
  }
  void settle(unsigned turns = 400) {
    for (unsigned i = 0; i < turns; ++i) {
      nodes.turn();
      timers.advance(nodes.now());
      for (const auto& requester : requesters)
        requester->poll();
      for (const auto& server : servers)
        server->poll(nodes.now());
    }
  }
  [[nodiscard]] std::uint64_t count(RpcCount id) const {
    return servers[0]->statistics().get(id) + servers[1]->statistics().get(id);
  }
  void expect_closed() {
    for (const auto& server : servers)
      server->close();
    settle();
    for (unsigned i = 0; i < kShards; ++i) {
      EXPECT_TRUE(servers[i]->closed());
      EXPECT_TRUE(requesters[i]->idle());
      EXPECT_EQ(nodes.descriptors(0, i), 0U);
      EXPECT_EQ(nodes.descriptors(1, i), 0U);
    }
  }

  Nodes nodes{GetParam(), 2, 16U << 20, kShards};
  TimerWheel timers{nodes.now(), std::chrono::milliseconds(100)};
  RpcStatistics statistics;
  EndedSessions ended;
  SourceData source{nodes.memory()};
  WorkMemory bulk;
  std::vector<std::unique_ptr<RpcIds>> ids;
  std::vector<std::unique_ptr<Requester>> requesters;
  std::array<RpcStatistics, kShards> served;
  std::vector<std::unique_ptr<TestServer>> servers;
  std::vector<Result<void>> outcomes;
  std::vector<Status> statuses;
};

TEST_P(ShardsTest, AnyShardServesAny) {
  for (const unsigned open : {0U, 1U, 2U}) {  // the first, the second, both
    outcomes.clear();
    statuses.clear();
    if (open != 1) servers[0]->open();
    if (open != 0) servers[1]->open();
    for (unsigned i = 0; i < 16; ++i)
      start(i % kShards, i % 4 < 2 ? BulkOperation::kRead : BulkOperation::kWrite);
    settle();
    ASSERT_EQ(outcomes.size(), 16U);
    EXPECT_TRUE(std::ranges::all_of(outcomes, [](const auto& one) { return one.has_value(); }));
    EXPECT_EQ(std::ranges::count(statuses, Status::kOk), 16);
    expect_closed();
  }
  EXPECT_EQ(count(RpcCount::kReceived), 48U);
  EXPECT_EQ(count(RpcCount::kBulkGot), 24U * kBulk);
  EXPECT_EQ(count(RpcCount::kBulkPut), 24U * kBulk);
  EXPECT_GE(servers[0]->statistics().get(RpcCount::kReceived), 16U);
  EXPECT_GE(servers[1]->statistics().get(RpcCount::kReceived), 16U);
}

TEST_P(ShardsTest, TheEndOfASessionReachesAll) {
  for (const auto& server : servers)
    server->open();
  for (unsigned i = 0; i < 12; ++i)
    start(i % kShards, BulkOperation::kWrite);
  while (count(RpcCount::kReceived) < 8)
    settle(1);
  ended.count.fetch_add(1);
  settle();
  EXPECT_GT(count(RpcCount::kDropped), 0U);
  for (unsigned i = 0; i < 160; ++i) {
    nodes.turn(std::chrono::seconds(1));
    settle(2);
  }
  EXPECT_EQ(outcomes.size(), 12U);
  expect_closed();
}

INSTANTIATE_TEST_SUITE_P(Wires, ShardsTest, testing::Values(Wire::kStream, Wire::kRdma),
                         [](const auto& wire) {
                           return wire.param == Wire::kStream ? "stream" : "rdma";
                         });

}  // namespace
}  // namespace plnet::selftest::shards_test
