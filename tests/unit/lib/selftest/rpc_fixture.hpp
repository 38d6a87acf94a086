// SPDX-License-Identifier: BSD-3-Clause
// A requester on one node and a responder on another whose reactions the test sets.
#pragma once

#include <array>
#include <chrono>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/lib/selftest/rpc_site.hpp"

namespace plnet::selftest {

inline constexpr std::uint32_t kBulk = 100'000;
inline constexpr std::size_t kBuffers = 4;
inline constexpr std::size_t kServerRpcs = 3;

// The responder's reaction to requests.
enum class Serve : std::uint8_t { kAnswer, kRefuse, kHold, kDrop };

class Server final : public RequestHandler {
 public:
  Server(Nodes& nodes, unsigned node, WorkMemory& memory)
      : bulk(memory.split(kBulk)),
        responder(nodes.shard(node), statistics, {.services = services(), .rpcs = kServerRpcs},
                  memory) {}

  void on_request(ServerRpc& rpc) override {
    ++requests;
    if (serve == Serve::kHold) return held.push_back(&rpc);
    if (serve == Serve::kDrop) return responder.drop(rpc);
    if (rpc.service() == Service::kPing) return answer(rpc);
    const auto request = rpc.request<BrwRequest>();
    if (serve == Serve::kRefuse)
      return responder.reply(rpc, kFeaturesKnown, BrwReply{Status::kInvalid});
    Fragment memory = bulk.fragment();
    memory.length = request.length;
    if (request.operation == BulkOperation::kRead)
      return responder.push(rpc, request.bulk_id, memory);
    responder.pull(rpc, request.bulk_id, memory);
  }
  void on_bulk(ServerRpc& rpc) override {
    moved += rpc.bulk_moved();
    responder.reply(rpc, kFeaturesKnown, BrwReply{});
  }
  void on_end(ServerRpc& rpc) override {
    ++ends;
    std::erase(held, &rpc);
  }
  void answer(ServerRpc& rpc) {
    const auto request = rpc.request<PingRequest>();
    responder.reply(rpc, rpc.header().header.features, PingReply{.sequence = request.sequence});
  }

  Serve serve = Serve::kAnswer;
  unsigned requests = 0;
  unsigned ends = 0;
  std::uint64_t moved = 0;
  std::vector<ServerRpc*> held;
  RpcStatistics statistics;
  WorkMemory bulk;
  Responder responder;

 private:
  std::array<ServedService, 2> services() {
    return {ServedService{Service::kPing, this, kBuffers},
            ServedService{Service::kBrw, this, kBuffers}};
  }
};

class RpcTest : public testing::TestWithParam<Wire>, public RpcUser {
 protected:
  static constexpr std::size_t kRpcs = 16;

  void rpc_done(ClientRpc& rpc, Result<void> outcome) override {
    outcomes.push_back(outcome);
    if (outcome && std::exchange(read_sequence, false)) sequence = rpc.reply<PingReply>().sequence;
    if (outcome) status = rpc.reply<BrwReply>().status;
    requester.give(rpc);
  }

  void turn(Duration step = std::chrono::microseconds(1)) {
    nodes.turn(step);
    timers.advance(nodes.now());
    requester.poll();
    server.responder.poll(nodes.now());
  }
  void settle() {
    for (unsigned i = 0; i < 300; ++i)
      turn();
  }
  void pass(Duration time) {
    for (Duration passed{}; passed < time; passed += std::chrono::milliseconds(250))
      turn(std::chrono::milliseconds(250));
    settle();
  }
  ClientRpc& ping(std::uint32_t number, unsigned target = 1) {
    ClientRpc& rpc = *requester.take(*this, nullptr);
    requester.start(rpc, {.target = nodes.id(target), .service = Service::kPing},
                    PingRequest{.sequence = number}, nodes.now());
    return rpc;
  }
  ClientRpc& brw(BulkOperation operation, std::uint32_t length = kBulk) {
    ClientRpc& rpc = *requester.take(*this, nullptr);
    const bool read = operation == BulkOperation::kRead;
    Fragment memory = bulk.fragment();
    memory.length = length;
    requester.start(rpc,
                    {.target = nodes.id(1),
                     .service = Service::kBrw,
                     .bulk = read ? BulkUse::kSink : BulkUse::kSource,
                     .bulk_memory = memory},
                    BrwRequest{.operation = operation, .length = length, .check = Check::kNone},
                    nodes.now());
    return rpc;
  }
  // Only the buffers for requests remain.
  void expect_clean() {
    EXPECT_TRUE(requester.idle());
    EXPECT_TRUE(server.responder.idle());
    EXPECT_EQ(nodes.descriptors(0), 0U);
    EXPECT_EQ(nodes.descriptors(1), server.responder.posted_buffers());
    EXPECT_EQ(timers.running(), 0U);
  }

  Nodes nodes{GetParam()};
  TimerWheel timers{nodes.now(), std::chrono::milliseconds(100)};
  RpcIds ids{1'700'000'000, 0, 1};
  RpcStatistics statistics;
  WorkMemory bulk{nodes.memory().split(kBulk)};
  Requester requester{nodes.shard(0), timers, ids, statistics, kRpcs, nodes.memory()};
  Server server{nodes, 1, nodes.memory()};
  std::vector<Result<void>> outcomes;
  bool read_sequence = false;
  std::uint32_t sequence = 0;
  Status status = Status::kOk;
};

}  // namespace plnet::selftest
