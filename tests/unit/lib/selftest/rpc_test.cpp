// SPDX-License-Identifier: BSD-3-Clause
// RPCs between two nodes, from the call that begins one to the last event of its last descriptor.
#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/lib/selftest/rpc_site.hpp"

namespace plnet::selftest {
namespace {

using std::chrono::seconds;

constexpr std::uint32_t kBulk = 100'000;
constexpr std::size_t kBuffers = 4;
constexpr std::size_t kServerRpcs = 3;

// What becomes of requests.
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
    server.responder.poll();
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
  // Nothing is left behind but the buffers that wait for requests.
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

TEST_P(RpcTest, WhoRefusesMovesNoData) {
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
  requester.abort(one, Errc::kCancelled);  // nothing has left yet
  settle();
  requester.abort(other, Errc::kShutdown);
  requester.abort(other, Errc::kCancelled);
  settle();
  ASSERT_EQ(outcomes.size(), 2U);
  EXPECT_EQ(outcomes[0].error(), Errc::kCancelled);
  EXPECT_EQ(outcomes[1].error(), Errc::kShutdown);
  // What the server does now finds nobody.
  for (ServerRpc* const rpc : std::exchange(server.held, {}))
    server.responder.drop(*rpc);
  settle();
  expect_clean();
}

TEST_P(RpcTest, AServerThatGivesUpAnswersNobody) {
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

TEST_P(RpcTest, WhoIsNotThereIsReported) {
  ping(1, 7);
  settle();
  pass(seconds(200));
  ASSERT_EQ(outcomes.size(), 1U);
  EXPECT_FALSE(outcomes[0].has_value());
  expect_clean();
}

TEST_P(RpcTest, NobodyInParticularCannotBeAsked) {
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

// --- Strangers ---

TEST_P(RpcTest, WhatIsNoRequestIsDropped) {
  server.responder.open();
  RawPeer stranger(nodes, 0);
  const auto bits = static_cast<std::uint64_t>(Service::kPing);
  const auto send = [&](std::uint32_t length = kMessageBytes) {
    stranger.put(nodes.id(1), kTestPortal, bits, length);
    settle();
  };
  encode(0, PingRequest{}, stranger.out());
  send(159);
  encode(0, BrwRequest{}, stranger.out());
  send();
  encode(Header{.magic = 5, .type = MessageType::kPingRequest}, PingRequest{}, stranger.out());
  send();
  EXPECT_EQ(server.requests, 0U);
  EXPECT_EQ(server.statistics.get(RpcCount::kReceived), 3U);
  EXPECT_EQ(server.statistics.get(RpcCount::kDropped), 3U);
  EXPECT_EQ(server.statistics.get(RpcCount::kMalformed), 3U);
  EXPECT_EQ(server.responder.posted_buffers(), 2 * kBuffers);
  expect_clean();
}

TEST_P(RpcTest, AnotherVersionIsToldSo) {
  server.responder.open();
  RawPeer stranger(nodes, 0);
  stranger.listen(kRdmaPortal, 77, nodes.id(1));
  encode(Header{.version = 2, .type = MessageType::kPingRequest}, PingRequest{.reply_id = 77},
         stranger.out());
  stranger.put(nodes.id(1), kTestPortal, static_cast<std::uint64_t>(Service::kPing));
  settle();
  EXPECT_EQ(server.requests, 0U);
  ASSERT_EQ(stranger.heard(), 1U);
  const auto reply = decode_message(stranger.in());
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(std::get<PingReply>(reply->body).status, Status::kProtocol);
  expect_clean();
}

TEST_P(RpcTest, ARequestOfTheOtherByteOrderIsUnderstood) {
  server.responder.open();
  RawPeer stranger(nodes, 0);
  stranger.listen(kRdmaPortal, 0x6553f1000000000b, nodes.id(1));
  encode(0, PingRequest{.reply_id = 0x6553f1000000000b, .sequence = 41}, stranger.out());
  for (const auto& [at, length] : {std::pair{0, 4}, {4, 4}, {8, 4}, {24, 8}, {32, 4}, {36, 4}})
    std::reverse(stranger.out().begin() + at, stranger.out().begin() + at + length);
  stranger.put(nodes.id(1), kTestPortal, static_cast<std::uint64_t>(Service::kPing));
  settle();
  ASSERT_EQ(stranger.heard(), 1U);
  const auto reply = decode_message(stranger.in());
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(std::get<PingReply>(reply->body).sequence, 41U);
}

TEST_P(RpcTest, AReplyToSomethingElseIsAnError) {
  for (const bool short_one : {false, true}) {
    RawPeer liar(nodes, 1);
    liar.listen(kTestPortal, static_cast<std::uint64_t>(Service::kPing));
    ping(1);
    settle();
    ASSERT_EQ(liar.heard(), 1U);
    const auto request = decode_message(liar.in());
    ASSERT_TRUE(request.has_value());
    const std::uint64_t reply_id = std::get<PingRequest>(request->body).reply_id;
    if (short_one) {
      encode(0, PingReply{}, liar.out());
    } else {
      encode(0, BrwReply{}, liar.out());
    }
    liar.put(nodes.id(0), kRdmaPortal, reply_id, short_one ? 36 : kMessageBytes);
    settle();
  }
  ASSERT_EQ(outcomes.size(), 2U);
  EXPECT_EQ(outcomes[0].error(), Errc::kMalformed);
  EXPECT_EQ(outcomes[1].error(), Errc::kMalformed);
  EXPECT_EQ(nodes.descriptors(0), 0U);
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
}  // namespace plnet::selftest
