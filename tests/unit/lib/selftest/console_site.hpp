// SPDX-License-Identifier: BSD-3-Clause
// Test nodes and a sender of console requests, over mock networks.
#pragma once

#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "lib/lnet/wire/process_id_codec.hpp"
#include "lib/selftest/node.hpp"
#include "tests/unit/lib/selftest/rpc_site.hpp"

namespace plnet::selftest {

inline constexpr std::uint32_t kUnits = 32;

// A node of one shard with all parts.
class Host final : public LnetCounterSource {
 public:
  Host(Nodes& nodes, unsigned number, std::size_t units = kUnits,
       Duration rpc_timeout = kRpcTimeout)
      : shard_(nodes.shard(number)),
        shared(nodes.memory()),
        server(shard_, shared.ended, shared.source, served, {.rpcs = 16, .buffers = 16, .sinks = 2},
               nodes.memory()),
        servers_{&served},
        node(shard_, shared, counted, servers_, *this,
             {.framework = {.rpc_timeout = rpc_timeout,
                            .rpcs = 4,
                            .buffers = 4,
                            .sessions = 3,
                            .batches = 4,
                            .tests = 8,
                            .units = units,
                            .sink_bytes = 4U << 20},
              .unix_seconds = 1'700'000'000 + number,
              .start = nodes.now()},
             nodes.memory()) {}

  [[nodiscard]] LnetCounters read() const override {
    LnetCounters sum;
    add_to(sum, shard_.core().statistics);
    return sum;
  }

 private:
  lnet::Shard& shard_;

 public:
  SelftestShared shared;
  RpcStatistics served;
  RpcStatistics counted;
  TestServer server;

 private:
  std::array<const RpcStatistics*, 1> servers_;

 public:
  SelftestNode node;
};

// Node 0 is the console, the others are test nodes.
class ConsoleSite : public RpcUser {
 public:
  explicit ConsoleSite(Wire wire, unsigned count = 2, std::size_t units = kUnits,
                       Duration rpc_timeout = kRpcTimeout)
      : nodes(wire, count + 1, 40U << 20) {
    list = nodes.memory().split(kListPageBytes);
    requester =
        std::make_unique<Requester>(nodes.shard(0), timers, ids, statistics, 8, nodes.memory());
    for (unsigned i = 1; i <= count; ++i) {
      hosts.push_back(std::make_unique<Host>(nodes, i, units, rpc_timeout));
      hosts.back()->server.open();
      hosts.back()->node.open();
    }
  }

  void rpc_done(ClientRpc& rpc, Result<void> outcome) override {
    over = true;
    if (outcome) {
      std::visit(
          [&](const auto& empty) {
            using T = std::remove_cvref_t<decltype(empty)>;
            if (T::kType == rpc.reply_header().header.type) answer = rpc.reply<T>();
          },
          empty_reply);
      features_told = rpc.reply_header().header.features;
    }
    requester->give(rpc);
  }

  void turn(Duration step = std::chrono::microseconds(1)) {
    nodes.turn(step);
    timers.advance(nodes.now());
    requester->poll();
    for (const auto& host : hosts) {
      host->server.poll(nodes.now());
      host->node.poll(nodes.now());
    }
  }
  void settle(unsigned turns = 300) {
    for (unsigned i = 0; i < turns; ++i)
      turn();
  }
  void pass(Duration time) {
    for (Duration passed{}; passed < time; passed += std::chrono::milliseconds(500))
      turn(std::chrono::milliseconds(500));
    settle();
  }

  // The reply, if it comes before the request times out.
  template <class Reply, class Request>
  std::optional<Reply> call(unsigned host, Service service, const Request& request,
                            BulkUse bulk = BulkUse::kNone) {
    over = false;
    answer.reset();
    empty_reply = Reply{};
    ClientRpc& rpc = *requester->take(*this, nullptr);
    const Fragment memory{list.at, list_bytes};
    requester->start(rpc,
                     {.target = nodes.id(host),
                      .service = service,
                      .features = features,
                      .bulk = bulk,
                      .bulk_memory = memory},
                     request, nodes.now());
    for (unsigned turns = 0; turns < 500 && !over; ++turns)
      turn();
    while (!over)
      turn(std::chrono::seconds(1));
    if (!answer) return std::nullopt;
    return std::get<Reply>(*answer);
  }

  MakeSessionReply make_session(unsigned host, SessionId id, bool force = false) {
    const auto reply = call<MakeSessionReply>(
        host, Service::kMakeSession,
        MakeSessionRequest{.session = id, .force = force ? 1U : 0U, .name = name_from("bulk")});
    EXPECT_TRUE(reply.has_value());
    return reply.value_or(MakeSessionReply{.status = Status::kIo});
  }
  RemoveSessionReply remove_session(unsigned host, SessionId id) {
    return call<RemoveSessionReply>(host, Service::kRemoveSession,
                                    RemoveSessionRequest{.session = id})
        .value_or(RemoveSessionReply{.status = Status::kIo});
  }
  StatReply stat(unsigned host) {
    return call<StatReply>(host, Service::kStat, StatRequest{.session = session})
        .value_or(StatReply{.status = Status::kIo});
  }
  BatchReply batch(unsigned host, BatchOperation operation, std::uint32_t test = 0,
                   std::uint32_t argument = 0) {
    return call<BatchReply>(host, Service::kBatch,
                            BatchRequest{.session = session,
                                         .batch = kBatchId,
                                         .operation = operation,
                                         .test = test,
                                         .argument = argument})
        .value_or(BatchReply{.status = Status::kIo});
  }
  [[nodiscard]] TestRequest brw_test(BulkOperation operation, Check check, std::uint32_t length) {
    TestRequest test{.session = session,
                     .batch = kBatchId,
                     .service = Service::kBrw,
                     .loop = 1,
                     .concurrency = 1,
                     .stop_on_error = 1};
    if (features == 0) {
      test.parameters = BulkParametersV0{static_cast<std::uint32_t>(operation), length / kPageBytes,
                                         static_cast<std::uint32_t>(check)};
    } else {
      test.parameters = BulkParametersV1{static_cast<std::uint16_t>(operation),
                                         static_cast<std::uint16_t>(check), length, 0};
    }
    return test;
  }
  [[nodiscard]] TestRequest ping_test() {
    return {.session = session,
            .batch = kBatchId,
            .service = Service::kPing,
            .loop = 1,
            .concurrency = 1,
            .stop_on_error = 1,
            .parameters = PingParameters{}};
  }
  // Adds a test with this node as its client and these nodes as servers.
  Status add_client(unsigned host, TestRequest test, const std::vector<unsigned>& servers) {
    for (std::uint32_t i = 0; i < servers.size(); ++i) {
      const auto entry = list.bytes.subspan(destination_offset(i)).first<lnet::kProcessIdBytes>();
      EXPECT_TRUE(lnet::encode_process_id(nodes.id(servers[i]), entry));
    }
    test.is_client = 1;
    test.destinations = static_cast<std::uint32_t>(servers.size());
    list_bytes = features == 0 ? kListPageBytes : test.destinations * kDestinationBytes;
    return call<TestReply>(host, Service::kTest, test, BulkUse::kSource)
        .value_or(TestReply{.status = Status::kIo})
        .status;
  }
  Status add_test(unsigned host, const TestRequest& test) {
    return call<TestReply>(host, Service::kTest, test)
        .value_or(TestReply{.status = Status::kIo})
        .status;
  }
  // Runs the batch until none of its tests is active.
  bool run_to_its_end(unsigned host) {
    EXPECT_EQ(batch(host, BatchOperation::kRun).status, Status::kOk);
    for (unsigned i = 0; i < 200; ++i) {
      if (batch(host, BatchOperation::kQuery).active == 0) return true;
      settle();
    }
    return false;
  }
  void expect_clean(unsigned host) {
    settle(2000);
    Host& one = *hosts[host - 1];
    EXPECT_EQ(one.node.framework().zombies(), 0U);
    one.server.close();
    one.node.close();
    settle(2000);
    EXPECT_TRUE(one.server.closed());
    EXPECT_TRUE(one.node.closed());
    EXPECT_EQ(nodes.descriptors(host), 0U);
  }

  static constexpr std::uint64_t kBatchId = 2;
  Nodes nodes;
  SessionId session{.nid = 0x0002'0000'c0a8'010a, .stamp = 1234};
  std::uint32_t features = kFeaturesKnown;
  WorkMemory list;
  std::uint32_t list_bytes = 0;
  TimerWheel timers{nodes.now(), std::chrono::milliseconds(100)};
  RpcIds ids{1'700'000'000, 0, 1};
  RpcStatistics statistics;
  std::unique_ptr<Requester> requester;
  std::vector<std::unique_ptr<Host>> hosts;
  bool over = false;
  Body empty_reply;
  std::optional<Body> answer;
  std::uint32_t features_told = 0;
};

}  // namespace plnet::selftest
