// SPDX-License-Identifier: BSD-3-Clause
// The shares of peers in a test server's RPCs and sinks: no peer takes the share of another.
#include "lib/selftest/peer_shares.hpp"

#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "lib/selftest/test_server.hpp"
#include "tests/unit/lib/selftest/rpc_site.hpp"

namespace plnet::selftest::peer_shares_test {
namespace {

struct Waiting : ListNode<> {};

lnet::Nid nid(unsigned number) {
  return lnet::Nid::of(lnet::NetType::kTcp, 0, number);
}

TEST(SelftestShares, APeerMayHaveMostAndOthersFindSome) {
  PeerShares<Waiting> shares(32, 8);
  unsigned held = 0;
  while (shares.take(nid(1)))
    ++held;
  EXPECT_EQ(held, 25U);
  for (unsigned peer = 2; peer < 5; ++peer)
    EXPECT_TRUE(shares.take(nid(peer)));
  EXPECT_FALSE(shares.any_waits());
}

TEST(SelftestShares, APeerMayHaveAllOfAFew) {
  for (std::size_t capacity = 1; capacity <= 4; ++capacity) {
    PeerShares<Waiting> shares(capacity, 8);
    for (std::size_t i = 0; i < capacity; ++i)
      EXPECT_TRUE(shares.take(nid(1))) << i << " of " << capacity;
  }
}

TEST(SelftestShares, ThePeerThatHoldsLeastIsNext) {
  PeerShares<Waiting> shares(8, 8);
  std::vector<Waiting> waiting(2);
  for (unsigned i = 0; i < 7; ++i)
    ASSERT_TRUE(shares.take(nid(1)));
  ASSERT_FALSE(shares.take(nid(1)));
  shares.wait(nid(1), waiting[0]);
  ASSERT_TRUE(shares.take(nid(2)));
  ASSERT_FALSE(shares.take(nid(3)));
  shares.wait(nid(3), waiting[1]);
  EXPECT_EQ(shares.next(), nullptr);
  EXPECT_EQ(shares.greediest(), nid(1));
  shares.give(nid(1));
  EXPECT_EQ(shares.next(), &waiting[1]);
  EXPECT_EQ(shares.next(), nullptr);
  EXPECT_EQ(shares.greediest(), std::nullopt) << "only the peer itself waits";
  waiting[0].unlink();
  EXPECT_EQ(shares.next(), nullptr);
  EXPECT_FALSE(shares.any_waits());
  for (unsigned i = 0; i < 6; ++i)
    shares.give(nid(1));
  shares.give(nid(2));
  shares.give(nid(3));
}

// Nodes 0 to 5 write and never serve their data, node 6 is a client, node 7 the server.
class SilentWriters : public testing::Test, public RpcUser {
 protected:
  static constexpr unsigned kSilent = 6;
  static constexpr unsigned kWrites = 20;
  static constexpr unsigned kClient = 6;
  static constexpr unsigned kServer = 7;

  void rpc_done(ClientRpc& rpc, Result<void> outcome) override {
    answered += outcome.has_value();
    requester.give(rpc);
  }
  void turn(Duration step) {
    nodes.turn(step);
    timers.advance(nodes.now());
    requester.poll();
    server.poll(nodes.now());
  }
  void pass(Duration time) {
    const Duration step = std::chrono::milliseconds(50);
    for (Duration passed{}; passed < time; passed += step) {
      turn(step);
      for (unsigned i = 0; i < 10; ++i)
        turn(std::chrono::microseconds(1));
    }
  }
  void write() {
    ClientRpc* const rpc = requester.take(*this, nullptr);
    ASSERT_NE(rpc, nullptr);
    requester.start(
        *rpc,
        {.target = nodes.id(kServer),
         .service = Service::kBrw,
         .bulk = BulkUse::kSource,
         .bulk_memory = source.first(4096)},
        BrwRequest{.operation = BulkOperation::kWrite, .length = 4096, .check = Check::kNone},
        nodes.now());
  }

  Nodes nodes{Wire::kStream, 8, 24U << 20};
  TimerWheel timers{nodes.now(), std::chrono::milliseconds(100)};
  RpcIds ids{1'700'000'000, 0, 1};
  RpcStatistics client_statistics;
  RpcStatistics statistics;
  EndedSessions ended;
  SourceData source{nodes.memory()};
  Requester requester{nodes.shard(kClient), timers, ids, client_statistics, 8, nodes.memory()};
  TestServer server{
      nodes.shard(kServer), ended, source, statistics, {.rpcs = 32, .buffers = 160, .sinks = 8},
      nodes.memory()};
  unsigned answered = 0;
};

TEST_F(SilentWriters, DoNotStopTheServiceForOthers) {
  server.open();
  std::vector<std::unique_ptr<RawPeer>> writers;
  for (unsigned node = 0; node < kSilent; ++node) {
    writers.push_back(std::make_unique<RawPeer>(nodes, node));
    encode(kFeaturesKnown,
           BrwRequest{.reply_id = 1,
                      .bulk_id = 2,
                      .operation = BulkOperation::kWrite,
                      .length = 4096,
                      .check = Check::kNone},
           writers.back()->out());
    for (unsigned i = 0; i < kWrites; ++i) {
      writers.back()->put(nodes.id(kServer), kTestPortal,
                          static_cast<std::uint64_t>(Service::kBrw));
      turn(std::chrono::microseconds(1));
    }
  }
  pass(std::chrono::seconds(1));
  for (unsigned i = 0; i < 4; ++i)
    write();
  pass(std::chrono::seconds(8));
  EXPECT_EQ(answered, 4U);
  for (unsigned i = 0; i < 100; ++i) {
    write();
    pass(std::chrono::milliseconds(100));
  }
  EXPECT_EQ(answered, 104U) << "at once";
  EXPECT_GT(statistics.get(RpcCount::kStalled), 0U);
  server.close();
  pass(std::chrono::seconds(100));
  EXPECT_TRUE(server.closed());
}

}  // namespace
}  // namespace plnet::selftest::peer_shares_test
