// SPDX-License-Identifier: BSD-3-Clause
// Sessions, tests and their traffic allocate nothing after start, on a node that is its own
// console, client and server.
#include <array>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "lib/lnet/wire/process_id_codec.hpp"
#include "lib/selftest/node.hpp"
#include "tests/unit/drivers/counting_new.hpp"
#include "tests/unit/lib/selftest/lone_core.hpp"

namespace plnet::selftest::node_no_allocation_test {
namespace {

using testrig::heap_calls_of;
using testrig::HeapCalls;

const lnet::ProcessId kMyself{.nid = lnet::ShardCore::kLoopbackNid};

class LonelyNode final : public RpcUser, public LnetCounterSource {
 public:
  LonelyNode() {
    core.set_lazy(kTestPortal, true);
    core.set_lazy(kFrameworkPortal, true);
    list = memory.split(kListPageBytes);
    (void)lnet::encode_process_id(kMyself, list.bytes.first<lnet::kProcessIdBytes>());
    server.open();
    node.open();
  }

  void rpc_done(ClientRpc& rpc, Result<void> outcome) override {
    status = outcome ? rpc.reply<BrwReply>().status : Status::kIo;
    requester.give(rpc);
  }
  [[nodiscard]] LnetCounters read() const override { return {}; }

  template <class Request>
  Status call(Service service, Request request, BulkUse bulk = BulkUse::kNone) {
    request.session = session;
    status.reset();
    RpcSpec spec{.target = kMyself, .service = service, .bulk = bulk};
    spec.bulk_memory = {list.at, kDestinationBytes};
    requester.start(*requester.take(*this, nullptr), spec, request, now);
    while (!status)
      turn();
    return *status;
  }
  Status add(Service service, TestParameters parameters) {
    return call(Service::kTest,
                TestRequest{.batch = 1,
                            .service = service,
                            .loop = ~0U,
                            .concurrency = 2,
                            .is_client = 1,
                            .destinations = 1,
                            .parameters = parameters},
                BulkUse::kSource);
  }
  Status batch(BatchOperation operation) {
    return call(Service::kBatch, BatchRequest{.batch = 1, .operation = operation});
  }
  void turn() {
    now += std::chrono::microseconds(10);
    core.turn(now);
    timers.advance(now);
    requester.poll();
    server.poll(now);
    node.poll(now);
  }

  SessionId session{.nid = 1, .stamp = 1};
  std::optional<Status> status;
  Instant now{std::chrono::seconds(1)};
  LoneCore lone{8U << 20, 512};
  mocks::CoreNode& core = lone.node;
  WorkMemory& memory = lone.memory;
  WorkMemory list;
  TimerWheel timers{now, std::chrono::milliseconds(100)};
  RpcIds ids{1, 0, 1};
  RpcStatistics statistics;
  Requester requester{core.shard(0), timers, ids, statistics, 4, memory};
  SelftestShared shared{memory};
  RpcStatistics served;
  TestServer server{
      core.shard(0), shared.ended, shared.source, served, {.rpcs = 16, .buffers = 16, .sinks = 2},
      memory};
  RpcStatistics counted;
  std::array<const RpcStatistics*, 1> servers{&served};
  SelftestNode node{
      core.shard(0),
      shared,
      counted,
      servers,
      *this,
      {.framework =
           {.rpcs = 4, .buffers = 4, .batches = 4, .tests = 8, .units = 16, .sink_bytes = 1U << 20},
       .unix_seconds = 2,
       .start = now},
      memory};
};

TEST(SelftestNoAllocation, InALifeOfSessions) {
  LonelyNode one;
  const auto calls = heap_calls_of([&one] {
    for (int round = 0; round < 20; ++round) {
      ++one.session.stamp;
      EXPECT_EQ(one.call(Service::kMakeSession, MakeSessionRequest{}), Status::kOk);
      EXPECT_EQ(one.add(Service::kPing, PingParameters{}), Status::kOk);
      for (const std::uint16_t operation : {std::uint16_t{1}, std::uint16_t{2}})
        EXPECT_EQ(one.add(Service::kBrw, BulkParametersV1{operation, 3, 8192, 0}), Status::kOk);
      if (round % 4 == 1) {
        EXPECT_TRUE(one.node.set_pace({.rate = 50'000}));
      }
      EXPECT_EQ(one.batch(BatchOperation::kRun), Status::kOk);
      for (int i = 0; i < 500; ++i)
        one.turn();
      EXPECT_EQ(one.call(Service::kStat, StatRequest{}), Status::kOk);
      if (round % 2 == 0) {
        EXPECT_EQ(one.batch(BatchOperation::kStop), Status::kOk);
      }
      EXPECT_EQ(one.call(Service::kRemoveSession, RemoveSessionRequest{}), Status::kOk);
      for (int i = 0; i < 100; ++i)
        one.turn();
    }
  });
  EXPECT_EQ(calls, HeapCalls{});
  EXPECT_GT(one.server.statistics().get(RpcCount::kReceived), 10'000U);
  EXPECT_GT(one.server.statistics().get(RpcCount::kBulkGot), 1'000'000U);
  EXPECT_GT(one.server.statistics().get(RpcCount::kBulkPut), 1'000'000U);
}

}  // namespace
}  // namespace plnet::selftest::node_no_allocation_test
