// SPDX-License-Identifier: BSD-3-Clause
// After start RPCs allocate nothing and free nothing, for every outcome. The node talks to itself,
// since mock networks allocate. It is a test of its own because it replaces operator new.
#include <array>
#include <vector>

#include <gtest/gtest.h>

#include "lib/selftest/requester.hpp"
#include "lib/selftest/responder.hpp"
#include "tests/unit/drivers/counting_new.hpp"
#include "tests/unit/lib/selftest/lone_core.hpp"

namespace plnet::selftest::no_allocation_test {
namespace {

using testrig::heap_calls_of;
using testrig::HeapCalls;

constexpr std::uint32_t kBulk = 8192;
constexpr unsigned kRpcs = 16;
const lnet::Nid kLoopback = lnet::ShardCore::kLoopbackNid;

class Rig final : public RpcUser, public RequestHandler {
 public:
  Rig() {
    node.set_lazy(kTestPortal, true);
    // A GET whose client is gone times out after this.
    node.shared().parameters.transaction_timeout_s.set(1);
    responder.open();
  }

  void rpc_done(ClientRpc& rpc, Result<void> outcome) override {
    ++(outcome ? good : bad);
    requester.give(rpc);
  }
  void on_request(ServerRpc& rpc) override {
    if (++requests % 50 == 0) return responder.drop(rpc);
    if (rpc.service() == Service::kPing) return responder.reply(rpc, 0, PingReply{});
    const auto request = rpc.request<BrwRequest>();
    const Fragment data{bulk.at, request.length};
    if (request.operation == BulkOperation::kRead)
      return responder.push(rpc, request.bulk_id, data);
    responder.pull(rpc, request.bulk_id, data);
  }
  void on_bulk(ServerRpc& rpc) override { responder.reply(rpc, 0, BrwReply{}); }
  void on_end(ServerRpc& /*rpc*/) override {}

  void start(unsigned number) {
    ClientRpc* const rpc = requester.take(*this, nullptr);
    if (rpc == nullptr) return;
    RpcSpec spec{.target = {.nid = kLoopback}, .timeout = std::chrono::milliseconds(500)};
    if (number % 3 == 0) {
      requester.start(*rpc, spec, PingRequest{.sequence = number}, now);
    } else {
      const bool read = number % 3 == 1;
      spec.service = Service::kBrw;
      spec.bulk = read ? BulkUse::kSink : BulkUse::kSource;
      spec.bulk_memory = bulk.fragment();
      const auto operation = read ? BulkOperation::kRead : BulkOperation::kWrite;
      requester.start(*rpc, spec, BrwRequest{.operation = operation, .length = kBulk}, now);
    }
    if (number % 97 == 0) requester.abort(*rpc, Errc::kCancelled);
  }
  void turn() {
    node.turn(now += std::chrono::milliseconds(1));
    timers.advance(now);
    requester.poll();
    responder.poll(now);
  }

  unsigned good = 0;
  unsigned bad = 0;
  unsigned requests = 0;
  Instant now{std::chrono::seconds(1)};

 private:
  std::array<ServedService, 2> services() {
    return {ServedService{Service::kPing, this, 4}, ServedService{Service::kBrw, this, 4}};
  }

  LoneCore core{1U << 20, 256};
  mocks::CoreNode& node = core.node;
  WorkMemory& memory = core.memory;
  TimerWheel timers{now, std::chrono::milliseconds(100)};
  RpcIds ids{1, 0, 1};
  RpcStatistics statistics;
  WorkMemory bulk{memory.split(kBulk)};
  Requester requester{node.shard(0), timers, ids, statistics, kRpcs, memory};
  Responder responder{node.shard(0), statistics, {.services = services(), .rpcs = 4}, memory};
};

TEST(SelftestNoAllocation, OnThePathOfAnRpcWithAnyOutcome) {
  Rig rig;
  const auto calls = heap_calls_of([&rig] {
    for (unsigned i = 0; i < 20'000; ++i) {
      rig.start(i);
      rig.turn();
    }
    for (unsigned i = 0; i < 10'000; ++i)
      rig.turn();
  });
  EXPECT_EQ(calls, HeapCalls{});
  EXPECT_GT(rig.good, 10'000U);
  EXPECT_GT(rig.bad, 100U);
}

}  // namespace
}  // namespace plnet::selftest::no_allocation_test
